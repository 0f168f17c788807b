#include "audit/fix/head_survey.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "audit/measure/findings.h"

namespace sharpmax::audit {

std::vector<bool> HeadSurvey::steepest() const {
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return all[a].slope > all[b].slope; });
  std::vector<bool> among(all.size());
  for (std::size_t i = 0; i < std::max<std::size_t>(all.size() / 5, 1); ++i) among[order[i]] = true;
  return among;
}

HeadSurvey survey_heads(model::Session& session, std::span<const model::Token> tokens,
                        const std::function<void(std::int64_t)>& on_tokens) {
  const model::Configuration& c = session.model().configuration();
  const ReadingPlan plan{default_lengths(static_cast<std::int64_t>(tokens.size())), {0}};
  Readings readings = no_readings(plan);
  read_excerpt(session, tokens, plan.lengths,
               {.on_tokens = on_tokens,
                .on_length = [&](std::size_t i, KeptRows rows) { readings[0][i] = std::move(rows); }});
  const Findings found = find(plan, readings, c, {});
  // The longest that is still short.
  std::size_t near = 0;
  for (std::size_t i = 0; i < plan.lengths.size(); ++i)
    if (plan.lengths[i] <= kShortLength) near = i;
  HeadSurvey survey{.layers = c.layers, .heads = c.heads};
  for (const HeadFindings& head : found.by_head) {
    const double entropy = head.at[near][RowField::entropy].median;
    // Where nothing is known (one length has no slope) a head counts as flat.
    survey.all.push_back({std::isfinite(head.entropy_slope) ? head.entropy_slope : 0.0,
                          std::isfinite(entropy) ? entropy : 0.0, head.kind});
  }
  return survey;
}

}  // namespace sharpmax::audit
