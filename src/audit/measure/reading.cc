#include "audit/measure/reading.h"

#include <algorithm>

#include "audit/measure/row_watch.h"

namespace sharpmax::audit {

Readings no_readings(const ReadingPlan& plan) {
  return Readings(plan.starts.size(), std::vector<std::optional<KeptRows>>(plan.lengths.size()));
}

std::vector<std::size_t> finished_lengths(const Readings& readings) {
  std::vector<std::size_t> finished;
  for (std::size_t i = 0; !readings.empty() && i < readings[0].size(); ++i)
    if (std::all_of(readings.begin(), readings.end(),
                    [&](const auto& excerpt) { return excerpt[i].has_value(); }))
      finished.push_back(i);
  return finished;
}

void read_excerpt(model::Session& session, std::span<const model::Token> excerpt,
                  std::span<const std::int64_t> lengths, const ReadingListener& listener) {
  std::vector<std::vector<std::int64_t>> wanted;
  for (const std::int64_t length : lengths) wanted.push_back(rows_near(length));
  RowWatch watch(session.model().configuration(), session.block(), std::move(wanted));
  const model::Watching watching(session, watch);
  session.rewind(0);
  std::int64_t done = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    while (done < lengths[i]) {
      // Blocks end where blocks of the whole excerpt would, and at every length.
      const std::int64_t part = std::min(lengths[i] - done, session.block() - done % session.block());
      session.feed(excerpt.subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(part)));
      done += part;
      if (listener.on_tokens) listener.on_tokens(done);
    }
    listener.on_length(i, watch.take(i));
  }
}

}  // namespace sharpmax::audit
