#include "cli/closing.h"

#include <fmt/format.h>

#include "cli/table.h"

namespace sharpmax::cli {

std::string closing(std::string_view answer, std::string_view purpose, std::string_view command) {
  const std::string first = answer.empty() ? "" : wrapped(answer) + "\n";
  return fmt::format("\n{}{}:\n  sharpmax {}\n", first, purpose, command);
}

}  // namespace sharpmax::cli
