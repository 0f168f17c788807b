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
#include "sharpmax/error.h"

namespace sharpmax::cli {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  sharpmax attend --demo               what each normalizer does as n grows\n"
    "  sharpmax attend --list               the normalizers and their formulas\n"
    "  sharpmax attend --arrays qkv.npz --normalizer entropy_target:nats=0.5 -o o.npy\n"
    "  sharpmax retrieve                    train a small head; see it fail or hold\n"
    "  sharpmax fit HEAD.safetensors        adaptive temperature refitted to a head\n"
    "  sharpmax inspect MODEL               what is in a GGUF or safetensors model\n"
    "  sharpmax run MODEL --prompt TEXT     a real model, any normalizer in any head\n"
    "  sharpmax perplexity MODEL --text FILE            its loss by position\n"
    "  sharpmax audit MODEL --text FILE     every head, and where it goes blunt\n"
    "  sharpmax bound --spread 5.69 --n 16384           how sharp a row can be at all\n"
    "  sharpmax report RESULTS.json -o page.html        saved results as a page\n"
    "  sharpmax bench --keys 2048           how fast, against what the machine allows\n"
    "\n"
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

std::string help_of(const CLI::App& words) {
  std::string text = words.help(words.get_parent() ? "sharpmax" : "");
  // CLI11 puts two empty lines between groups.
  for (std::size_t at = 0; (at = text.find("\n\n\n", at)) != std::string::npos;) text.erase(at, 1);
  return text;
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
  program.add_flag("--version", wish.version, "Print the version");
  program.add_flag("--verbose", wish.verbose, "With --version: compiler, instruction sets, BLAS, threads");
  program.add_option("--json", wish.json, "With --version: write it as JSON; -: standard output")
      ->option_text("FILE");
  program.add_flag("--overwrite", wish.overwrite, "With --json: replace an existing file of another kind");
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
  const std::vector<std::string> typed(words.begin(), words.end());
  command_line() = "sharpmax" + quoted_words(words);
  begin_call(typed);
  CLI::App program(
      "Sharp attention at any size: attention under any normalizer, and what it does as "
      "the number of keys grows.",
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
                              add_verb<ReportVerb>(program)};

  check_all_values(program, typed);
  try {
    std::vector<std::string> backwards(words.rbegin(), words.rend());  // as CLI11 takes them
    program.parse(std::move(backwards));
  } catch (const CLI::CallForHelp&) {
    const auto chosen = program.get_subcommands();
    print(help_of(chosen.empty() ? program : *chosen[0]));
    return kOk;
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
