#include <nlohmann/json.hpp>

#include "audit/measure/findings_json.h"
#include "audit/probe/measure_probe.h"
#include "job/json_members.h"
#include "model/tokenizer/utf8.h"

namespace sharpmax::audit {
namespace {

constexpr std::size_t kBestHeads = 10;

// One list per sign, over heads.
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
  std::vector<double> first, near, peak;
  read_json(json.at("first"), first);
  read_json(json.at("near_outside"), near);
  read_json(json.at("peak_outside"), peak);
  std::vector<KindSigns> signs;
  if (near.size() != first.size() || peak.size() != first.size())
    throw Error(ErrorCode::bad_file, "answering_signs: its lists must have one number per head");
  for (std::size_t i = 0; i < first.size(); ++i) signs.push_back({first[i], near[i], peak[i]});
  return signs;
}

}  // namespace

Json to_json(const ProbedLength& at, std::int64_t heads) {
  Json wrong = Json::array();
  // Tokens may end within a character, and JSON is UTF-8.
  for (const std::string& given : at.wrong) wrong.push_back(model::with_replacements(given));
  Json json{{"length", at.length},
            {"tokens", at.tokens},
            {"questions", at.questions},
            {"right", at.right},
            {"share", at.share()},
            {"low", at.low},
            {"high", at.high},
            {"asking_weight", json_of(at.asking_weight)},
            {"asking_first", json_of(at.asking_first)},
            {"answering_weight", json_of(at.answering_weight)},
            {"answering_signs", signs_json(at.answering_signs)},
            {"wrong", wrong},
            {"best_heads", Json::array()}};
  for (const ItemHead& head : best_heads(at, heads, kBestHeads))
    json["best_heads"].push_back({{"layer", head.place.layer},
                                  {"head", head.place.head},
                                  {"kind", name_of(head.kind)},
                                  {"asking_weight", head.asking_weight},
                                  {"asking_first", head.asking_first},
                                  {"answering_weight", head.answering_weight}});
  for (const HeadKind kind : kHeadKinds) json["kinds"][std::string(name_of(kind))] = heads_of(at, kind);
  return json;
}

ProbedLength probed_length_in(const Json& json, std::int64_t layers, std::int64_t heads) {
  ProbedLength at;
  read_json(json.at("length"), at.length);
  read_json(json.at("tokens"), at.tokens);
  read_json(json.at("questions"), at.questions);
  read_json(json.at("right"), at.right);
  read_json(json.at("low"), at.low);
  read_json(json.at("high"), at.high);
  read_json(json.at("asking_weight"), at.asking_weight);
  read_json(json.at("asking_first"), at.asking_first);
  read_json(json.at("answering_weight"), at.answering_weight);
  at.answering_signs = signs_in(json.at("answering_signs"));
  read_json(json.at("wrong"), at.wrong);
  for (const std::size_t found :
       {at.asking_weight.size(), at.asking_first.size(), at.answering_weight.size(), at.answering_signs.size()})
    check_head_count(found, layers, heads);
  return at;
}

}  // namespace sharpmax::audit
