#include "audit/measure/findings_json.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

namespace sharpmax::audit {
namespace {

using Json = nlohmann::ordered_json;

// Rows are kept as floats, and a file of a thousand heads should not be mostly digits of noise.
Json number(double value) {
  if (!std::isfinite(value)) return nullptr;
  return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr);
}

template <class Values>
Json numbers(const Values& values) {
  Json list = Json::array();
  for (const auto value : values) list.push_back(number(static_cast<double>(value)));
  return list;
}

// One list a statistic, over lengths.
Json field_json(const HeadFindings& head, RowField field) {
  const auto over_lengths = [&](double FieldSummary::*part) {
    Json list = Json::array();
    for (const HeadSummary& summary : head.at) list.push_back(number(summary[field].*part));
    return list;
  };
  return {{"median", over_lengths(&FieldSummary::median)},
          {"low", over_lengths(&FieldSummary::low)},
          {"high", over_lengths(&FieldSummary::high)},
          {"lower_quartile", over_lengths(&FieldSummary::lower_quartile)},
          {"upper_quartile", over_lengths(&FieldSummary::upper_quartile)}};
}

Json head_json(const HeadFindings& head) {
  Json json{{"layer", head.place.layer},
            {"head", head.place.head},
            {"kind", name_of(head.kind)},
            {"entropy_slope", number(head.entropy_slope)},
            {"entropy_slope_outside", number(head.entropy_slope_outside)},
            {"peak_slope", number(head.peak_slope)},
            {"blunting", {{"how", name_of(head.blunting.how)}, {"length", number(head.blunting.length)}}}};
  for (std::size_t i = 0; i < kPlainFields; ++i)
    json[std::string(kFieldNames[i])] = field_json(head, static_cast<RowField>(i));
  Json bounds = Json::array(), gaps = Json::array();
  for (const HeadSummary& summary : head.at) {
    bounds.push_back(number(peak_bound(summary)));
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
          {"ours", {{"median", number(e.ours)}, {"ninetieth", number(e.ours_90)}}},
          {"no_change", {{"median", number(e.no_change)}, {"ninetieth", number(e.no_change_90)}}},
          {"power_law", {{"median", number(e.power_law)}, {"ninetieth", number(e.power_law_90)}}}};
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
  for (const HeadFindings& head : f.by_head) json["heads"].push_back(head_json(head));
  return json;
}

}  // namespace sharpmax::audit
