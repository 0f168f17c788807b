#include <nlohmann/json.hpp>

#include "audit/probe/measure_probe.h"
#include "model/tokenizer/utf8.h"

namespace sharpmax::audit {

using Json = nlohmann::ordered_json;

namespace {

// One list a sign, over heads.
Json signs_json(const std::vector<KindSigns>& signs) {
  Json first = Json::array(), near = Json::array(), peak = Json::array();
  for (const KindSigns& s : signs) {
    first.push_back(s.first);
    near.push_back(s.near_outside);
    peak.push_back(s.peak_outside);
  }
  return {{"first", first}, {"near_outside", near}, {"peak_outside", peak}};
}

std::vector<KindSigns> signs_in(const Json& json) {
  const auto first = json.at("first").get<std::vector<double>>();
  const auto near = json.at("near_outside").get<std::vector<double>>();
  const auto peak = json.at("peak_outside").get<std::vector<double>>();
  std::vector<KindSigns> signs;
  for (std::size_t i = 0; i < first.size(); ++i) signs.push_back({first[i], near.at(i), peak.at(i)});
  return signs;
}

}  // namespace

Json to_json(const ProbeResult& r) {
  Json wrong = Json::array();
  // Tokens may end within a character, and JSON is UTF-8.
  for (const std::string& given : r.wrong) wrong.push_back(model::with_replacements(given));
  return {{"length", r.length},
          {"tokens", r.tokens},
          {"questions", r.questions},
          {"right", r.right},
          {"share", static_cast<double>(r.right) / static_cast<double>(r.questions)},
          {"low", r.share.low},
          {"high", r.share.high},
          {"asking_weight", r.asking_weight},
          {"asking_first", r.asking_first},
          {"answering_weight", r.answering_weight},
          {"answering_signs", signs_json(r.answering_signs)},
          {"wrong", wrong}};
}

ProbeResult probe_result_in(const Json& json) {
  ProbeResult r;
  r.length = json.at("length").get<std::int64_t>();
  r.tokens = json.at("tokens").get<double>();
  r.questions = json.at("questions").get<std::int64_t>();
  r.right = json.at("right").get<std::int64_t>();
  r.share = {json.at("low").get<double>(), json.at("high").get<double>()};
  r.asking_weight = json.at("asking_weight").get<std::vector<double>>();
  r.asking_first = json.at("asking_first").get<std::vector<double>>();
  r.answering_weight = json.at("answering_weight").get<std::vector<double>>();
  r.answering_signs = signs_in(json.at("answering_signs"));
  r.wrong = json.at("wrong").get<std::vector<std::string>>();
  return r;
}

Json probe_section(const Probe& probe, std::int64_t heads, std::span<const ProbeResult> results) {
  constexpr std::size_t kBest = 10;
  Json lengths = Json::array();
  for (const ProbeResult& result : results) {
    Json one = to_json(result);
    one["best_heads"] = Json::array();
    for (const ItemHead& head : best_heads(result, heads, kBest))
      one["best_heads"].push_back({{"layer", head.place.layer},
                                   {"head", head.place.head},
                                   {"kind", name_of(head.kind)},
                                   {"asking_weight", head.asking_weight},
                                   {"asking_first", head.asking_first},
                                   {"answering_weight", head.answering_weight}});
    for (const HeadKind kind : kHeadKinds) one["kinds"][std::string(name_of(kind))] = heads_of(result, kind);
    lengths.push_back(std::move(one));
  }
  return {{"kind", name_of(probe.kind)},
          {"chat", probe.chat},
          {"seed", probe.seed},
          {"heads", heads},
          {"lengths", std::move(lengths)}};
}

}  // namespace sharpmax::audit
