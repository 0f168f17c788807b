#include "audit/fix/search.h"

#include <fmt/format.h>

#include <algorithm>

namespace sharpmax::audit {
namespace {

constexpr std::int64_t kBlocks = 6;

}  // namespace

HeadSearch::HeadSearch(model::NormalizerTable on, std::vector<bool> members, double start,
                       std::int64_t budget)
    : on_(std::move(on)), members_(std::move(members)), best_(start), budget_(budget) {
  seen_.insert(members_);
  const std::int64_t layers = on_.layers(), block = (layers + kBlocks - 1) / kBlocks;
  if (block > 1)
    for (std::int64_t first = 0; first < layers; first += block)
      add_layers(first, std::min(first + block, layers));
  for (std::int64_t layer = 0; layer < layers; ++layer) add_layers(layer, layer + 1);
  for (std::int64_t layer = 0; layer < layers; ++layer)
    for (std::int64_t head = 0; head < on_.heads(); ++head)
      groups_.push_back({fmt::format("layer {} head {}", layer, head),
                         {static_cast<std::size_t>(layer * on_.heads() + head)}});
}

void HeadSearch::add_layers(std::int64_t first, std::int64_t end) {
  Group group{end - first == 1 ? fmt::format("layer {}", first)
                               : fmt::format("layers {}-{}", first, end - 1)};
  for (std::int64_t at = first * on_.heads(); at < end * on_.heads(); ++at)
    group.heads.push_back(static_cast<std::size_t>(at));
  groups_.push_back(std::move(group));
}

std::optional<model::NormalizerTable> HeadSearch::next() {
  while (budget_ > 0 && group_ < groups_.size()) {
    const Group& group = groups_[group_++];
    tried_ = members_;
    const bool off =
        std::any_of(group.heads.begin(), group.heads.end(), [&](std::size_t at) { return members_[at]; });
    for (const std::size_t at : group.heads) tried_[at] = !off;
    if (!seen_.insert(tried_).second) continue;
    --budget_;
    last_ = fmt::format("{}: {}", off ? "off" : "on", group.name);
    return table_of(tried_);
  }
  return std::nullopt;
}

void HeadSearch::report(double score) {
  if (!(score > best_)) return;
  best_ = score;
  members_ = tried_;
}

model::NormalizerTable HeadSearch::table_of(const std::vector<bool>& members) const {
  model::NormalizerTable table(on_.layers(), on_.heads(), Softmax{});
  for (std::int64_t layer = 0; layer < on_.layers(); ++layer)
    for (std::int64_t head = 0; head < on_.heads(); ++head)
      if (members[static_cast<std::size_t>(layer * on_.heads() + head)])
        table.set(layer, head, on_.at(layer, head));
  return table;
}

}  // namespace sharpmax::audit
