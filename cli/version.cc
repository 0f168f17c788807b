#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/outputs.h"
#include "cli/table.h"
#include "machine/blas.h"
#include "machine/machine_limits.h"
#include "sharpmax/machine.h"

namespace sharpmax::cli {
namespace {

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

}  // namespace

int print_version(bool verbose, const std::string& json) {
  if (!json.empty()) {
    deliver(json, json_text(Json{{"schema", "sharpmax.version/1"},
                                 {"version", version()},
                                 {"compiler", compiler()},
                                 {"targets_compiled", compiled_targets()},
                                 {"targets_available", available_targets()},
                                 {"target", current_target()},
                                 {"blas", blas_description()},
                                 {"threads", default_threads()}}));
  }
  if (json == "-") return kOk;
  std::string text = fmt::format("sharpmax {}\n", version());
  if (verbose) {
    text += fmt::format("compiler           {}\n", compiler());
    text += fmt::format("targets compiled   {}\n", fmt::join(compiled_targets(), " "));
    text += fmt::format("targets available  {}\n", fmt::join(available_targets(), " "));
    text += fmt::format("target in use      {}\n", current_target());
    text += fmt::format("BLAS               {}\n", blas_lines());
    text += fmt::format("OpenMP threads     {}\n", default_threads());
  }
  print(text);
  return kOk;
}

}  // namespace sharpmax::cli
