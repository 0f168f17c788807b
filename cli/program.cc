// All subcommands together; errors become one sentence on stderr and an exit code.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <csignal>
#include <memory>
#include <new>
#include <vector>

#include "base/in_quotes.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/door.h"
#include "cli/table.h"
#include "machine/blas.h"
#include "machine/machine_limits.h"
#include "sharpmax/error.h"
#include "sharpmax/machine.h"

namespace sharpmax::cli {
namespace {

constexpr const char* kProgramFooter =
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
  return quoted_word(first);
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
  program.footer(kProgramFooter);
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

// CLI11's sentence about a value, in words of ours: "Could not convert: --gap = abc", "SHELL is required".
std::string about_value(const CLI::ParseError& error) {
  const std::string said = error.what();
  constexpr std::string_view kConvert = "Could not convert: ", kRequired = " is required";
  if (said.ends_with(kRequired)) return said.substr(0, said.size() - kRequired.size()) + " is missing";
  const std::size_t equals = said.find(" = ");
  if (!said.starts_with(kConvert) || equals == std::string::npos) return said;
  return fmt::format("{}: {} is not a number that it takes", said.substr(kConvert.size(), equals - kConvert.size()),
                     in_quotes(said.substr(equals + 3)));
}

// The command that the words name, from where its own words begin.
void check_all_values(const CLI::App& program, const std::vector<std::string>& words) {
  for (const CLI::App* command : commands_of(program))
    if (!words.empty() && command->get_name() == words.front()) return check_values(*command, words, 1);
  check_values(program, words, 0);
}

std::string compiler() {
#if defined(__clang__)
  return fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("gcc {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

// In the column of the others.
std::string blas_lines() {
  constexpr std::size_t kColumn = 19;
  std::string lines;
  for (const char c : wrapped(blas_description(), kScreenWidth - kColumn))
    lines += c == '\n' ? "\n" + std::string(kColumn, ' ') : std::string(1, c);
  return lines;
}

int tell_version(const VersionWish& wish) {
  CallFiles(wish.overwrite).writes("--json", wish.json, results_kind("sharpmax.version/1")).check();
  if (!wish.json.empty()) {
    deliver(wish.json, json_text(Json{{"schema", "sharpmax.version/1"},
                                      {"version", version()},
                                      {"compiler", compiler()},
                                      {"targets_compiled", compiled_targets()},
                                      {"targets_available", available_targets()},
                                      {"target", current_target()},
                                      {"blas", blas_description()},
                                      {"threads", default_threads()}}));
  }
  if (wish.json == "-") return kOk;
  std::string text = fmt::format("sharpmax {}\n", version());
  if (wish.verbose) {
    text += fmt::format("compiler           {}\n", compiler());
    text += fmt::format("targets compiled   {}\n", fmt::join(compiled_targets(), " "));
    text += fmt::format("targets available  {}\n", fmt::join(available_targets(), " "));
    text += fmt::format("target in use      {}\n", current_target());
    text += fmt::format("BLAS               {}\n", blas_lines());
    text += fmt::format("threads            {}\n", default_threads());
  }
  print(text);
  return kOk;
}

int run_program(Call& call) {
  const std::vector<std::string> typed = with_help_behind(call.words);
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
                              add_verb<TokenizeVerb>(program),
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
    if (chosen.empty() && !program.remaining().empty()) throw Usage(about_unknown_words(program));
    print(help_of(chosen.empty() ? program : *chosen[0]));
    return kOk;
  } catch (const CLI::CallForAllHelp&) {
    const auto chosen = program.get_subcommands();
    print(help_of(chosen.empty() ? program : *chosen[0], CLI::AppFormatMode::All));
    return kOk;
  } catch (const CLI::ExtrasError&) {
    throw Usage(about_unknown_words(program));
  } catch (const CLI::ParseError& error) {
    throw Usage(about_value(error));
  }
  for (const Command& command : commands) {
    if (command.words->parsed()) return command.run(call);
  }
  if (wish.version) return tell_version(wish);
  if (wish.verbose || !wish.json.empty()) throw Usage("--verbose and --json go with --version or a command");
  print(help_of(program));
  return kOk;
}

int run_or_complain(Call call) {
  try {
    return run_program(call);
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
    return complain(call.interrupt_sentence(), kInterrupted);
  } catch (const std::exception& error) {
    return complain(fmt::format("unexpected: {}", error.what()), kCheckFailed);
  }
}

}  // namespace

int program_main(int argc, char** argv) {
  handle_interrupts();
  std::signal(SIGPIPE, SIG_DFL);  // a reader that has seen enough ends us quietly
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of write, reported in words
  Call call;
  if (argc > 0) call = {.program = program_typed(argv[0]), .words = {argv + 1, argv + argc}, .told = {}};
  return run_or_complain(std::move(call));
}

}  // namespace sharpmax::cli
