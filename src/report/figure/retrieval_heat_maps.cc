#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include "report/figure/drawing/cells.h"
#include "report/figure/drawing/words.h"
#include "report/figure/retrieval_drawings.h"
#include "report/figure/values.h"

namespace sharpmax::report {
namespace {

using Json = nlohmann::ordered_json;
using Pair = std::pair<std::string, std::string>;  // arm, normalizer

constexpr std::size_t kMostLines = 6;

// Of the first seed of each arm.
std::vector<std::pair<Pair, std::vector<const Json*>>> lines_of(const Json& results) {
  std::map<std::string, std::uint64_t> first_seed;
  std::vector<std::pair<Pair, std::vector<const Json*>>> lines;
  for (const Json& map : results.at("heat_maps")) {
    const Pair pair{map.at("arm").get<std::string>(), map.at("normalizer").get<std::string>()};
    const auto seed = map.at("seed").get<std::uint64_t>();
    if (first_seed.try_emplace(pair.first, seed).first->second != seed) continue;
    auto found =
        std::find_if(lines.begin(), lines.end(), [&](const auto& line) { return line.first == pair; });
    if (found == lines.end()) found = lines.insert(lines.end(), {pair, {}});
    found->second.push_back(&map);
  }
  for (auto& [pair, maps] : lines)
    std::stable_sort(maps.begin(), maps.end(), [](const Json* a, const Json* b) {
      return a->at("n").get<double>() < b->at("n").get<double>();
    });
  return lines;
}

// The square root spends the colours where dispersed weights are: 1/16 of the weight is a quarter of the way.
Panel panel_of(const Json& map) {
  Panel panel{.name = short_count(map.at("n").get<double>()), .below = {}, .shares = {}};
  double on_largest = 0.0;
  bool whole = true;
  for (const Json& set : map.at("weights")) {
    auto& line = panel.shares.emplace_back();
    std::optional<double> last;
    for (const Json& weight : set) {
      last = number_in(weight);
      line.push_back(last ? std::optional(std::sqrt(std::clamp(*last, 0.0, 1.0))) : std::nullopt);
    }
    whole = whole && last.has_value();
    on_largest += last.value_or(0.0);
  }
  panel.below = whole && !panel.shares.empty()
                    ? decimal(on_largest / static_cast<double>(panel.shares.size()), 2)
                    : std::string(kNone);
  return panel;
}

}  // namespace

std::string heat_map_figure(const Json& results, const RetrievalRows& rows) {
  HeatMaps maps{
      .title = "Where the weight goes: each line a set, its largest item at the right",
      .subtitle = "One panel is one size n. Below: the mean weight on the largest item, over the sets shown.",
      .ramp = {"weight 0", "1, by its square root"},
      .lines = {}};
  const auto lines = lines_of(results);
  const auto plain = rows.member("softmax"), sharp = rows.member("entropy_target");
  for (const auto& [pair, panels] : lines) {
    const bool wanted = pair.second == plain || pair.second == sharp;
    const bool nothing_else = !plain && !sharp && maps.lines.empty();
    if ((!wanted && !nothing_else) || maps.lines.size() == kMostLines) continue;
    PanelLine line{.name = fmt::format("{} training, {}", pair.first, pair.second), .panels = {}};
    for (const Json* map : panels) line.panels.push_back(panel_of(*map));
    maps.lines.push_back(std::move(line));
  }
  return drawn(maps);
}

}  // namespace sharpmax::report
