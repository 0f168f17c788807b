#include "report/audit_page_data.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "report/html_page.h"

namespace sharpmax::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "sharpmax.audit/1";
// About 8 bytes each.
constexpr std::size_t kNumbersThatFit = 100'000;
// Those whose intervals matter most in front.
constexpr std::array kStatistics = {"peak_outside", "entropy_outside", "first",           "spread", "entropy",
                                    "peak",         "support",         "distance_outside"};

// How many of kStatistics have room for their intervals beside all medians and the bound.
std::size_t intervals_that_fit(std::size_t heads, std::size_t lengths) {
  const std::size_t each = std::max<std::size_t>(1, heads * lengths);
  const std::size_t medians = each * (kStatistics.size() + 1);
  if (medians >= kNumbersThatFit) return 0;
  return std::min(kStatistics.size(), (kNumbersThatFit - medians) / (2 * each));
}

Json head(const Json& measured, std::size_t with_interval) {
  Json kept = Json::object();
  for (const char* name :
       {"layer", "head", "kind", "entropy_slope", "entropy_slope_outside", "blunting", "peak_bound"})
    kept[name] = measured.at(name);
  for (std::size_t i = 0; i < kStatistics.size(); ++i) {
    const Json& field = measured.at(kStatistics[i]);
    Json& curve = kept[kStatistics[i]];
    curve["median"] = field.at("median");
    if (i >= with_interval) continue;
    curve["low"] = field.at("low");
    curve["high"] = field.at("high");
  }
  return kept;
}

Json attention(const Json& measured) {
  Json kept = Json::object();
  for (const char* name : {"lengths", "trained_context", "excerpts", "thresholds", "median_over_heads",
                           "blunt_heads", "kinds", "forecast"})
    kept[name] = measured.at(name);
  const Json& heads = measured.at("heads");
  const std::size_t with_interval = intervals_that_fit(heads.size(), measured.at("lengths").size());
  kept["without_interval"] = Json::array();
  for (std::size_t i = with_interval; i < kStatistics.size(); ++i)
    kept["without_interval"].push_back(kStatistics[i]);
  kept["heads"] = Json::array();
  for (const Json& one : heads) kept["heads"].push_back(head(one, with_interval));
  return kept;
}

// Curves over heads are small; what each head did at a hundred N is not.
Json analysis(const Json& measured) {
  Json kept = measured;
  for (const char* name : {"distance_length", "distance_top", "critical_top", "separability", "gradient"})
    if (kept.contains(name)) kept[name].erase("heads");
  return kept;
}

// The head that looks best at the longest length, at every length.
Json followed(const Json& probe) {
  const Json& lengths = probe.at("lengths");
  if (lengths.empty() || lengths.back().at("best_heads").empty()) return nullptr;
  const Json& best = lengths.back().at("best_heads").front();
  const auto place = best.at("layer").get<std::size_t>() * probe.at("heads").get<std::size_t>() +
                     best.at("head").get<std::size_t>();
  Json head{{"layer", best.at("layer")}, {"head", best.at("head")}};
  for (const char* name : {"answering_weight", "asking_weight"}) {
    head[name] = Json::array();
    for (const Json& at : lengths) head[name].push_back(at.at(name).at(place));
  }
  return head;
}

Json probe(const Json& measured) {
  Json kept = Json::object();
  for (const char* name : {"kind", "chat", "seed"}) kept[name] = measured.at(name);
  kept["followed"] = followed(measured);
  kept["lengths"] = Json::array();
  for (const Json& at : measured.at("lengths")) {
    Json line = Json::object();
    for (const char* name :
         {"length", "tokens", "questions", "right", "share", "low", "high", "best_heads", "wrong"})
      line[name] = at.at(name);
    kept["lengths"].push_back(std::move(line));
  }
  return kept;
}

Json collected(const Json& results) {
  Json data = Json::object();
  for (const char* name : {"sharpmax", "command", "settings", "complete"}) data[name] = results.at(name);
  for (const char* name : {"verdict", "seconds", "created"})
    if (results.contains(name)) data[name] = results.at(name);
  if (results.contains("attention")) data["attention"] = attention(results.at("attention"));
  if (results.contains("analysis")) data["analysis"] = analysis(results.at("analysis"));
  if (results.contains("probe")) data["probe"] = probe(results.at("probe"));
  return data;
}

}  // namespace

Json audit_page_data(const Json& results) { return collected_from(results, kSchema, collected); }

}  // namespace sharpmax::report
