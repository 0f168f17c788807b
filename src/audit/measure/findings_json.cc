#include "audit/measure/findings_json.h"

#include "audit/measure/six_digits.h"

namespace sharpmax::audit {
namespace {

using Json = nlohmann::ordered_json;

template <class Values>
Json numbers(const Values& values) {
  Json list = Json::array();
  for (const auto value : values) list.push_back(six_digits(static_cast<double>(value)));
  return list;
}

// One list a statistic, over lengths.
Json field_json(const HeadFindings& head, RowField field) {
  const auto over_lengths = [&](double FieldSummary::*part) {
    Json list = Json::array();
    for (const HeadSummary& summary : head.at) list.push_back(six_digits(summary[field].*part));
    return list;
  };
  return {{"median", over_lengths(&FieldSummary::median)},
          {"low", over_lengths(&FieldSummary::low)},
          {"high", over_lengths(&FieldSummary::high)},
          {"lower_quartile", over_lengths(&FieldSummary::lower_quartile)},
          {"upper_quartile", over_lengths(&FieldSummary::upper_quartile)}};
}

Json head_json(const Findings& findings, const HeadFindings& head) {
  Json json{
      {"layer", head.place.layer},
      {"head", head.place.head},
      {"kind", name_of(head.kind)},
      {"entropy_slope", six_digits(head.entropy_slope)},
      {"entropy_slope_outside", six_digits(head.entropy_slope_outside)},
      {"peak_slope", six_digits(head.peak_slope)},
      {"blunting", {{"how", name_of(head.blunting.how)}, {"length", six_digits(head.blunting.length)}}}};
  for (std::size_t i = 0; i < kPlainFields; ++i)
    json[std::string(kFieldNames[i])] = field_json(head, static_cast<RowField>(i));
  Json bounds = Json::array(), gaps = Json::array();
  for (const HeadSummary& summary : head.at) {
    bounds.push_back(six_digits(peak_bound(findings, summary)));
    gaps.push_back(numbers(summary.gap_counts));
  }
  json["peak_bound"] = bounds;
  json["gap_counts"] = gaps;
  return json;
}

Json errors_json(const ForecastErrors& e) {
  return {{"from", e.from},
          {"to", e.to},
          {"heads", e.heads},
          {"damping", e.damping},
          {"ours", {{"median", six_digits(e.ours)}, {"ninetieth", six_digits(e.ours_90)}}},
          {"no_change", {{"median", six_digits(e.no_change)}, {"ninetieth", six_digits(e.no_change_90)}}},
          {"power_law", {{"median", six_digits(e.power_law)}, {"ninetieth", six_digits(e.power_law_90)}}}};
}

}  // namespace

Json to_json(const Findings& f) {
  const Thresholds& t = f.thresholds;
  Json json{{"lengths", numbers(f.lengths)},
            {"trained_context", f.trained},
            {"excerpts", f.excerpts},
            {"thresholds",
             {{"blunt", t.blunt},
              {"sink", t.sink},
              {"local", t.local},
              {"sharp", t.sharp},
              {"dispersing", t.dispersing}}}};
  Json typical;
  for (std::size_t i = 0; i < kPlainFields; ++i)
    typical[std::string(kFieldNames[i])] = numbers(f.typical(static_cast<RowField>(i)));
  json["median_over_heads"] = typical;
  json["blunt_heads"] = f.blunt_heads();
  for (const HeadKind kind : kHeadKinds) json["kinds"][std::string(name_of(kind))] = f.count(kind);
  json["forecast"] = {{"damping", f.damping}, {"errors", Json::array()}};
  for (const ForecastErrors& errors : f.forecasts) json["forecast"]["errors"].push_back(errors_json(errors));
  json["gaps"] = kGapOctaves;
  json["heads"] = Json::array();
  for (const HeadFindings& head : f.by_head) json["heads"].push_back(head_json(f, head));
  return json;
}

}  // namespace sharpmax::audit
