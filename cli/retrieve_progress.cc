#include <fmt/format.h>

#include <cmath>

#include "cli/retrieve.h"
#include "cli/table.h"

namespace sharpmax::cli {

std::string sentence_of(const retrieval::RunProgress& progress) {
  using retrieval::Phase;
  const double percent = progress.total > 0.0 ? 100.0 * progress.done / progress.total : 100.0;
  const auto count = [](double value) { return grouped(std::llround(value)); };
  switch (progress.phase) {
    case Phase::training:
      return fmt::format("training: step {} of {} ({:.0f} %), {} steps/s, {} left", count(progress.done),
                         count(progress.total), percent, count(progress.per_second),
                         duration(progress.seconds_left));
    case Phase::certifying:
      return fmt::format("certifying: head {} of {}, {} left", count(progress.done), count(progress.total),
                         duration(progress.seconds_left));
    case Phase::testing:
      break;
  }
  return fmt::format("testing: {:.0f} %, {} million items/s, {} left", percent,
                     short_number(progress.per_second / 1e6), duration(progress.seconds_left));
}

std::string sentence_of(const retrieval::RunStanding& standing) {
  constexpr std::size_t kNamed = 3;
  std::size_t trained = 0, begun = 0;
  std::string named;
  for (const auto& head : standing.heads) {
    if (head.step >= head.steps) {
      ++trained;
    } else if (head.step > 0 && ++begun <= kNamed) {
      named += fmt::format(", {}-{} at step {} of {}", head.arm, head.seed, grouped(head.step),
                           grouped(head.steps));
    }
  }
  if (begun > kNamed) named += fmt::format(" and {} more begun", begun - kNamed);
  return fmt::format("resuming: {} of {} heads trained{}; {} of {} tests done", trained,
                     standing.heads.size(), named, standing.tested, standing.tests);
}

}  // namespace sharpmax::cli
