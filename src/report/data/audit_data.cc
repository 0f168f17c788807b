#include <span>
#include <string>
#include <utility>

#include "report/data/audit_sketches.h"
#include "report/data/fields.h"
#include "report/data/page_data.h"
#include "sharpmax/error.h"

namespace sharpmax::report {
namespace {

using Json = nlohmann::ordered_json;

struct Part {
  const char* statistic;
  enum What { medians, intervals } what;
};
// Every page has these.
constexpr Part kAlways[] = {{"peak_outside", Part::medians}, {"entropy_outside", Part::medians},
                            {"first", Part::medians},        {"spread", Part::medians},
                            {"entropy", Part::medians},      {"distance_outside", Part::medians}};
// What matters most in front: what does not fit is left out, and named. Sketches of heads come before the
// second of the three, the finest of them before the last.
constexpr Part kFirst[] = {{"distance_outside", Part::medians}, {"peak_outside", Part::intervals}};
constexpr Part kSecond[] = {{"peak", Part::medians},
                            {"support", Part::medians},
                            {"entropy_outside", Part::intervals},
                            {"first", Part::intervals}};
constexpr Part kLast[] = {{"spread", Part::intervals},
                          {"entropy", Part::intervals},
                          {"peak", Part::intervals},
                          {"distance_outside", Part::intervals},
                          {"support", Part::intervals}};
// Steps of the ladders: sketches that are worth having, that are good, and the finest there are.
constexpr std::size_t kWorthHaving = 1, kGood = 3, kFinest = 99;

// One list over heads for each name: a thousand heads need not repeat the names.
Json over_heads(const Json& heads, const char* name) {
  Json list = Json::array();
  for (const Json& head : heads) list.push_back(head.at(name));
  return list;
}

Json over_heads(const Json& heads, const char* statistic, const char* part) {
  Json list = Json::array();
  for (const Json& head : heads) list.push_back(head.at(statistic).at(part));
  return list;
}

Json lists_of(const Json& heads, const Part& part) {
  const auto lists = [&](const char* name) { return packed(over_heads(heads, part.statistic, name)); };
  if (part.what == Part::medians) return {{"median", lists("median")}};
  return {{"low", lists("low")}, {"high", lists("high")}};
}

// Adds to the statistics of the page, as far as there is room.
class Statistics {
 public:
  Statistics(const Json& heads, std::size_t room) : heads_(heads), room_(room) {}

  void add(std::span<const Part> parts, bool always = false) {
    for (const Part& part : parts) {
      const Json lists = lists_of(heads_, part);
      const std::size_t more = lists.dump().size();
      if (!always && bytes + more > room_) {
        left_out.push_back((part.what == Part::intervals ? "intervals of " : "") +
                           std::string(part.statistic));
        continue;
      }
      bytes += more;
      kept[part.statistic].update(lists);
    }
  }

  Json kept = Json::object(), left_out = Json::array();
  std::size_t bytes = 0;

 private:
  const Json& heads_;
  std::size_t room_;
};

std::vector<Ladder> ladders_of(const Json& measured, const Json* sketches) {
  std::vector<Ladder> ladders;
  if (!sketches) return {gap_ladder(measured)};
  if (sketches->at("heads").size() != measured.at("heads").size())
    throw Error(ErrorCode::bad_argument, "report: there is not one sketch for every head");
  ladders.push_back(map_ladder(*sketches));
  ladders.push_back(key_ladder(*sketches));
  ladders.push_back(gap_ladder(measured));
  ladders.push_back(score_ladder(*sketches));
  return ladders;
}

// sketches: null where the results have none.
Json attention(const Json& measured, const Json* sketches, std::size_t room) {
  Json kept = Json::object();
  for (const char* name : {"lengths", "trained_context", "excerpts", "thresholds", "median_over_heads",
                           "blunt_heads", "kinds", "forecast"})
    kept[name] = measured.at(name);
  const Json& heads = measured.at("heads");
  for (const char* name : {"layer", "head", "entropy_slope", "entropy_slope_outside", "peak_bound"})
    kept["over_heads"][name] = packed(over_heads(heads, name));
  kept["over_heads"]["kind"] = indexed(over_heads(heads, "kind"));
  kept["over_heads"]["blunting_how"] = indexed(over_heads(heads, "blunting", "how"));
  kept["over_heads"]["blunting_length"] = packed(over_heads(heads, "blunting", "length"));
  Statistics statistics(heads, room);
  statistics.bytes = kept["over_heads"].dump().size();
  std::vector<Ladder> ladders = ladders_of(measured, sketches);
  statistics.add(kAlways, true);
  climb(ladders, kWorthHaving, statistics.bytes, room);
  statistics.add(kFirst);
  climb(ladders, kGood, statistics.bytes, room);
  statistics.add(kSecond);
  climb(ladders, kFinest, statistics.bytes, room);
  statistics.add(kLast);
  kept["statistics_over_heads"] = std::move(statistics.kept);
  for (const Ladder& ladder : ladders) {
    if (ladder.at > 0)
      kept["drawn"][ladder.key] = ladder.held();
    else
      statistics.left_out.push_back(ladder.name);
  }
  if (sketches) kept["drawn"]["tokens"] = sketches->at("tokens").size();
  kept["left_out"] = std::move(statistics.left_out);
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

}  // namespace

Json audit_data(const Json& results, std::size_t room) {
  Json data = Json::object();
  for (const char* name : {"sharpmax", "command", "settings", "complete"}) data[name] = results.at(name);
  for (const char* name : {"verdict", "seconds", "created"})
    if (results.contains(name)) data[name] = results.at(name);
  if (results.contains("attention"))
    data["attention"] = attention(results.at("attention"),
                                  results.contains("sketches") ? &results.at("sketches") : nullptr, room);
  if (results.contains("analysis")) data["analysis"] = analysis(results.at("analysis"));
  if (results.contains("probe")) data["probe"] = probe(results.at("probe"));
  return data;
}

}  // namespace sharpmax::report
