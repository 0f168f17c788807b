#include <span>
#include <string>
#include <utility>
#include <vector>

#include "report/data/audit_sketches.h"
#include "report/data/kept.h"
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
// What matters most in front. Sketches of heads come before each of the three, coarse ones first.
constexpr Part kFirst[] = {{"peak_outside", Part::intervals}};
constexpr Part kSecond[] = {{"peak", Part::medians},
                            {"support", Part::medians},
                            {"entropy_outside", Part::intervals},
                            {"first", Part::intervals}};
constexpr Part kLast[] = {{"spread", Part::intervals},
                          {"entropy", Part::intervals},
                          {"peak", Part::intervals},
                          {"distance_outside", Part::intervals},
                          {"support", Part::intervals}};

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

// What was drawn of the heads: sizes of each part, the coarsest first.
struct Drawn {
  const char* key;
  const char* name;
  std::vector<Json> sizes;
};

std::vector<Drawn> drawn_of(const Json& measured, const Json* sketches) {
  Drawn gaps{"gaps", "gap counts", gaps_by_size(measured)};
  if (!sketches) return {gaps};
  if (sketches->at("heads").size() != measured.at("heads").size())
    throw Error(ErrorCode::bad_argument, "report: there is not one sketch for every head");
  return {{"maps", "maps", maps_by_size(*sketches)},
          {"keys", "heaviest keys", keys_by_size(*sketches)},
          gaps,
          {"scores", "rows of scores", scores_by_size(*sketches)}};
}

void offer_statistics(Kept& kept, const Json& heads, std::span<const Part> parts, Kept::Need need) {
  for (const Part& part : parts) {
    const std::string name = part.statistic;
    const auto lists = [&](const char* which) { return over_heads(heads, part.statistic, which); };
    if (part.what == Part::medians)
      kept.offer("/statistics_over_heads/" + name, name, {{"median", lists("median")}}, need);
    else
      kept.offer("/statistics_over_heads/" + name, "intervals of " + name, {{"low", lists("low")}, {"high", lists("high")}}, need);
  }
}

// Those from one size to another, coarse ones of every part before finer ones of any.
void offer_drawn(Kept& kept, const std::vector<Drawn>& parts, std::size_t from, std::size_t to) {
  for (std::size_t size = from; size < to; ++size)
    for (const Drawn& part : parts)
      if (size < part.sizes.size()) kept.replace(std::string("/drawn/") + part.key, part.name, part.sizes[size]);
}

// sketches: null where the results have none.
Json attention(const Json& measured, const Json* sketches, std::size_t room) {
  Kept kept(room);
  for (const char* name : {"lengths", "trained_context", "excerpts", "thresholds", "median_over_heads",
                           "blunt_heads", "kinds", "forecast"})
    kept.data[name] = measured.at(name);
  const Json& heads = measured.at("heads");
  Json plain{{"blunting_how", over_heads(heads, "blunting", "how")}, {"blunting_length", over_heads(heads, "blunting", "length")}};
  for (const char* name : {"layer", "head", "entropy_slope", "entropy_slope_outside", "peak_bound", "kind"})
    plain[name] = over_heads(heads, name);
  kept.offer("/over_heads", "heads", plain, Kept::always);
  const std::vector<Drawn> drawn = drawn_of(measured, sketches);
  offer_statistics(kept, heads, kAlways, Kept::always);
  offer_drawn(kept, drawn, 0, 1);
  offer_statistics(kept, heads, kFirst, Kept::if_it_fits);
  offer_drawn(kept, drawn, 1, 3);
  offer_statistics(kept, heads, kSecond, Kept::if_it_fits);
  offer_drawn(kept, drawn, 3, 99);
  offer_statistics(kept, heads, kLast, Kept::if_it_fits);
  if (sketches) {
    const Json& tokens = sketches->at("tokens");
    kept.data["drawn"]["tokens"] = tokens.size();
    // A map of so short a text has a cell for every token.
    if (tokens.size() == sketches->at("map_size").get<std::size_t>()) kept.data["drawn"]["texts"] = tokens;
  }
  kept.data["left_out"] = kept.left_out();
  return std::move(kept.data);
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
