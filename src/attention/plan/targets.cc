#include "attention/rows/call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hwy/highway.h>

#include <cstdlib>
#include <mutex>

#include "base/in_quotes.h"
#include "sharpmax/error.h"
#include "sharpmax/machine.h"

namespace sharpmax {
namespace {

std::mutex target_mutex;
bool target_chosen = false;

std::vector<std::int64_t> every_target() {
  hwy::SetSupportedTargetsForTest(0);
  return hwy::SupportedAndGeneratedTargets();
}

// The mask of `name`, or of every target for an empty name; 0 if there is none.
std::int64_t find_target(std::string_view name) {
  std::int64_t all = 0;
  for (const std::int64_t target : every_target()) {
    if (name == hwy::TargetName(target)) return target;
    all |= target;
  }
  return name.empty() ? all : 0;
}

void use_target(std::string_view name, std::string_view source) {
  const std::int64_t targets = find_target(name);
  if (targets == 0) {
    std::vector<std::string> names;
    for (const std::int64_t target : every_target()) names.emplace_back(hwy::TargetName(target));
    throw Error(ErrorCode::bad_argument, fmt::format("{}: this machine has no target {}; it has {}", source,
                                                     in_quotes(name), fmt::join(names, ", ")));
  }
  if (!name.empty()) hwy::SetSupportedTargetsForTest(targets);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace

void choose_target() {
  const std::lock_guard lock(target_mutex);
  if (target_chosen) return;
  const char* wanted = std::getenv("SHARPMAX_TARGET");
  use_target(wanted == nullptr ? "" : wanted, "SHARPMAX_TARGET");
  target_chosen = true;
}

std::vector<std::string> available_targets() {
  const std::lock_guard lock(target_mutex);
  const std::int64_t in_use = hwy::SupportedTargets();
  std::vector<std::string> names;
  for (const std::int64_t target : every_target()) names.emplace_back(hwy::TargetName(target));
  if (target_chosen) {
    hwy::SetSupportedTargetsForTest(in_use);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  return names;
}

std::string current_target() {
  choose_target();
  const std::lock_guard lock(target_mutex);
  return hwy::TargetName(hwy::SupportedAndGeneratedTargets().front());
}

std::string_view version() noexcept { return SHARPMAX_VERSION; }

void force_target(std::string_view name) {
  const std::lock_guard lock(target_mutex);
  use_target(name, "force_target");
  target_chosen = true;
}

}  // namespace sharpmax
