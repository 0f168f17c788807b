#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include "report/kind/kinds.h"
#include "report/kind/retrieval_rows.h"
#include "report/view/format.h"
#include "report/view/looks.h"

namespace sharpmax::report {
namespace {

struct Outcome {
  const char* field;
  Paint paint;
  const char* name;
};
constexpr Outcome kOutcomes[] = {
    {"hard_right_rule_right", Paint::green, "both right"},
    {"hard_wrong_rule_right", Paint::sky, "only the normalizer right: averaging helped"},
    {"hard_right_rule_wrong", Paint::vermillion, "only hard attention right: dispersion"},
    {"hard_wrong_rule_wrong", Paint::grey, "both wrong: ranking"},
    {"binding", Paint::purple, "both wrong, the right place found: binding"},
};
constexpr std::size_t kRanking = 3, kBinding = 4;  // binding is counted among the answers that both get wrong

}  // namespace

void Outcomes::add(const Json& row, const char* all_of_it) {
  all += row.at(all_of_it).get<double>();
  for (std::size_t k = 0; k < kBinding; ++k) of[k] += row.at(kOutcomes[k].field).get<double>();
  if (!row.contains(kOutcomes[kBinding].field)) return;
  const auto binding = row.at(kOutcomes[kBinding].field).get<double>();
  of[kBinding] += binding, of[kRanking] -= binding;
}

void add_outcomes(Bars& bars, const std::map<double, Outcomes>& by_size) {
  const bool bound = std::any_of(by_size.begin(), by_size.end(), [](const auto& one) { return one.second.of[kBinding] > 0.0; });
  const std::size_t kinds = bound ? std::size(kOutcomes) : kBinding;
  bars.beside = {"right", "dispersion", "ranking"};
  if (bound) bars.beside.push_back("binding");
  for (std::size_t k = 0; k < kinds; ++k) bars.legend.push_back({kOutcomes[k].name, Entry::Sample::box, {kOutcomes[k].paint, ""}});
  for (const auto& [n, counts] : by_size) {
    if (!(counts.all > 0.0)) continue;
    Bar bar{.name = "n = " + count(n)};
    for (std::size_t k = 0; k < kinds; ++k) bar.pieces.push_back({counts.of[k] / counts.all, kOutcomes[k].paint});
    bar.beside.push_back(percent((counts.of[0] + counts.of[1]) / counts.all));
    for (std::size_t k = 2; k < kinds; ++k) bar.beside.push_back(percent(counts.of[k] / counts.all));
    bars.described += bar.name + ":";
    for (std::size_t k = 0; k < bar.beside.size(); ++k) bars.described += fmt::format("{} {} {}", k > 0 ? "," : "", bars.beside[k], bar.beside[k]);
    bars.described += ". ";
    bars.bars.push_back(std::move(bar));
  }
}

Bars failure_bars(const RetrievalRows& rows, const std::string& arm, const std::string& normalizer) {
  std::map<double, Outcomes> by_size;
  for (const Json& row : rows.results().at("results"))
    if (row.at("arm") == arm && row.at("normalizer") == normalizer) by_size[row.at("n").get<double>()].add(row, "sets");
  Bars bars{.title = fmt::format("Why it fails: {}, {} training", normalizer, arm),
            .subtitle = "Hard attention puts all weight on the largest score. Where it is right and the normalizer is wrong, weight "
                        "was dispersed; where both are wrong, the scores rank a wrong item first.",
            .across = share_axis("share of sets")};
  add_outcomes(bars, by_size);
  return bars;
}

namespace {

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

Panel panel_of(const Json& map) {
  Panel panel{.name = short_count(map.at("n").get<double>())};
  double on_largest = 0.0;
  bool whole = true;
  for (const Json& set : map.at("weights")) {
    auto& line = panel.weights.emplace_back();
    std::optional<double> last;
    for (const Json& weight : set) {
      last = number_in(weight);
      line.push_back(last);
    }
    whole = whole && last.has_value();
    on_largest += last.value_or(0.0);
  }
  if (whole && !panel.weights.empty()) panel.below = on_largest / static_cast<double>(panel.weights.size());
  return panel;
}

PanelLine panel_line(const Pair& pair, const std::vector<const Json*>& maps) {
  PanelLine line{.name = fmt::format("{} training, {}", pair.first, pair.second)};
  for (const Json* map : maps) line.panels.push_back(panel_of(*map));
  return line;
}

// Softmax and entropy_target of every arm, or the first line where there is neither.
bool is_of_the_story(const RetrievalRows& rows, const Pair& pair, bool first) {
  const auto plain = rows.member("softmax"), sharp = rows.member("entropy_target");
  return pair.second == plain || pair.second == sharp || (!plain && !sharp && first);
}

}  // namespace

HeatMaps heat_maps_of(const RetrievalRows& rows) {
  HeatMaps maps{.title = "Where the weight goes: each line a set, its largest item at the right",
                .subtitle = "One panel is one size n. Below: the mean weight on the largest item, over the sets shown.",
                .ramp = {"weight 0", "1, by its square root"},
                .id = "heat-maps",
                .figure = "heat-maps"};
  std::size_t told = 0;
  for (const auto& [pair, panels] : lines_of(rows.results())) {
    maps.lines.push_back(panel_line(pair, panels));
    if (told < kMostLines && is_of_the_story(rows, pair, maps.lines.size() == 1))
      ++told;
    else
      maps.lines.back().spare = 3;
  }
  return maps;
}

}  // namespace sharpmax::report
