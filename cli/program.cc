// All subcommands together; errors become one sentence on stderr and an exit code.
#include "cli/program.h"

#include <fmt/format.h>
#include <csignal>
#include <memory>
#include <new>
#include <vector>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/door.h"
#include "cli/help.h"
#include "cli/interrupt.h"
#include "cli/outputs.h"
#include "cli/table.h"
#include "sharpmax/error.h"

namespace sharpmax::cli {
namespace {

constexpr const char* kFooter =
    "See it, know where it happens, fix it:\n"
    "  sharpmax retrieve                        train a head; watch it fail or hold\n"
    "  sharpmax audit MODEL --text FILE         at which length heads go blunt\n"
    "  sharpmax audit MODEL --probe lookup      whether it still finds one key\n"
    "  sharpmax fix MODEL --text FILE           whether a normalizer helps\n"
    "\n"
    "sharpmax COMMAND --help has the options and examples of a command.\n"
    "Exit codes: 0 ok, 1 a check failed, 2 usage, 3 bad file, 4 limit,\n"
    "130 interrupted. NO_COLOR, SHARPMAX_TARGET and OMP_NUM_THREADS are respected.";

// `python -m sharpmax` has its own file as the first word.
std::string program_typed(const std::string& first) {
  if (first.ends_with("__main__.py")) return "python3 -m sharpmax";
  return quoted_words({&first, 1}).substr(1);
}

int complain(const std::string& sentence, int code) {
  narrate("sharpmax: " + sentence);
  return code;
}

std::string help_of(const CLI::App& words, CLI::AppFormatMode mode = CLI::AppFormatMode::Normal) {
  return words.help(words.get_parent() ? "sharpmax" : "", mode);
}

// `sharpmax help audit` is `sharpmax audit --help`.
std::vector<std::string> with_help_behind(std::vector<std::string> words) {
  if (words.empty() || words.front() != "help") return words;
  words.erase(words.begin());
  words.push_back("--help");
  return words;
}

int code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::bad_file:
    case ErrorCode::io:
      return kBadFile;
    case ErrorCode::limit:
    case ErrorCode::memory:
      return kLimit;
    case ErrorCode::bad_argument:
    case ErrorCode::unsupported:
      break;
  }
  return kUsage;
}

struct VersionWish {
  bool version = false, verbose = false, overwrite = false;
  std::string json;
};

void describe(CLI::App& program, VersionWish& wish) {
  program.formatter(std::make_shared<WrappingFormatter>());
  program.footer(kFooter);
  program.get_formatter()->label("SUBCOMMAND", "COMMAND");
  program.set_help_all_flag("--help-all", "Show every option of a command");
  program.add_flag("--version", wish.version, "Print the version");
  program.add_flag("--verbose", wish.verbose, "Add compiler, instruction sets, BLAS and threads to --version");
  program.add_option("--json", wish.json, "File for the version as JSON; - is standard output")
      ->option_text("FILE");
  program.add_flag("--overwrite", wish.overwrite, "Replace an existing file of another kind");
  mark_common(program, {"--version"});
  program.require_subcommand(0, 1);
}

// The command that the words name, from where its own words begin.
void check_all_values(const CLI::App& program, const std::vector<std::string>& words) {
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; }))
    if (!words.empty() && command->get_name() == words.front()) return check_values(*command, words, 1);
  check_values(program, words, 0);
}

int tell_version(const VersionWish& wish) {
  CallFiles(wish.overwrite).writes("--json", wish.json, results_kind("sharpmax.version/1")).check();
  return print_version(wish.verbose, wish.json);
}

int run_program(std::span<const std::string> words) {
  const std::vector<std::string> typed = with_help_behind({words.begin(), words.end()});
  command_line() = "sharpmax" + quoted_words(words);
  begin_call(typed);
  CLI::App program(
      "Sharp attention at any size: see where attention goes blunt as its input grows, know "
      "where it must, and fix it.",
      "sharpmax");
  VersionWish wish;
  describe(program, wish);
  const Command commands[] = {add_attend(program),
                              add_bench(program),
                              add_verb<RetrieveVerb>(program),
                              add_verb<FitVerb>(program),
                              add_verb<InspectVerb>(program),
                              add_verb<RunVerb>(program),
                              add_verb<PerplexityVerb>(program),
                              add_verb<AuditVerb>(program),
                              add_verb<BoundVerb>(program),
                              add_verb<FixVerb>(program),
                              add_verb<TrainVerb>(program),
                              add_verb<ReportVerb>(program),
                              add_completion(program)};

  for (const Command& command : commands) command.words->group("Commands");
  check_all_values(program, typed);
  try {
    std::vector<std::string> backwards(typed.rbegin(), typed.rend());  // as CLI11 takes them
    program.parse(std::move(backwards));
  } catch (const CLI::CallForHelp&) {
    const auto chosen = program.get_subcommands();
    print(help_of(chosen.empty() ? program : *chosen[0]));
    return kOk;
  } catch (const CLI::CallForAllHelp&) {
    const auto chosen = program.get_subcommands();
    print(help_of(chosen.empty() ? program : *chosen[0], CLI::AppFormatMode::All));
    return kOk;
  } catch (const CLI::ExtrasError&) {
    throw Usage(about_unknown_words(program));
  } catch (const CLI::ParseError& error) {
    throw Usage(error.what());
  }
  for (const Command& command : commands) {
    if (command.words->parsed()) return command.run();
  }
  if (wish.version) return tell_version(wish);
  if (wish.verbose || !wish.json.empty()) throw Usage("--verbose and --json go with --version or a command");
  print(help_of(program));
  return kOk;
}

int run_or_complain(std::span<const std::string> words) {
  try {
    return run_program(words);
  } catch (const Usage& usage) {
    return complain(usage.what(), kUsage);
  } catch (const RequestError& error) {
    return complain(error.spoken(Speech::command_line), code_of(error.code()));
  } catch (const Error& error) {
    return complain(error.what(), code_of(error.code()));
  } catch (const std::bad_alloc&) {
    return complain("not enough memory", kLimit);
  } catch (const Interrupted&) {
    end_open_line();
    return complain(interrupt_sentence(), kInterrupted);
  } catch (const std::exception& error) {
    return complain(fmt::format("unexpected: {}", error.what()), kCheckFailed);
  }
}

}  // namespace

int program_main(int argc, char** argv) {
  handle_interrupts();
  std::signal(SIGPIPE, SIG_DFL);  // a reader that has seen enough ends us quietly
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of write, told in words
  if (argc > 0) set_program(program_typed(argv[0]));
  return run_or_complain(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}

}  // namespace sharpmax::cli
