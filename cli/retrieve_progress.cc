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

}  // namespace sharpmax::cli
