#include "audit/measure/findings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/in_quotes.h"
#include "base/numbers.h"
#include "job/json_members.h"

namespace sharpmax::audit {

double rounded(double value) {
  return std::isfinite(value) ? std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr) : kNaN;
}

Json six_digits(double value) {
  if (!std::isfinite(value)) return nullptr;
  return rounded(value);
}

namespace {

template <class Values>
Json numbers(const Values& values) {
  Json list = Json::array();
  for (const auto value : values) list.push_back(six_digits(static_cast<double>(value)));
  return list;
}

// One list per part of a statistic, over lengths.
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

constexpr std::size_t kMass = static_cast<std::size_t>(RowField::mass);

// Weights sum to one under most normalizers, and results leave it out then.
Json head_json(const HeadFindings& head, bool with_mass) {
  Json json{
      {"layer", head.place.layer},
      {"head", head.place.head},
      {"kind", name_of(head.kind)},
      {"entropy_slope", six_digits(head.entropy_slope)},
      {"entropy_slope_outside", six_digits(head.entropy_slope_outside)},
      {"peak_slope", six_digits(head.peak_slope)},
      {"blunting", {{"how", name_of(head.blunting.how)}, {"length", six_digits(head.blunting.length)}}}};
  for (std::size_t i = 0; i < kPlainFields; ++i)
    if (with_mass || i != kMass) json[std::string(kFieldNames[i])] = field_json(head, static_cast<RowField>(i));
  Json bounds = Json::array(), gaps = Json::array();
  for (const HeadSummary& summary : head.at) {
    bounds.push_back(six_digits(summary.peak_bound));
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

[[noreturn]] void refuse(const std::string& sentence) { throw Error(ErrorCode::bad_file, sentence); }

// The value that has the name in json[key].
template <class Value>
Value value_named(const Json& json, const char* key, std::initializer_list<Value> values) {
  const std::string& name = json.at(key).get_ref<const std::string&>();
  std::vector<std::string_view> names;
  for (const Value value : values) {
    if (name == name_of(value)) return value;
    names.push_back(name_of(value));
  }
  refuse(fmt::format("{} of a head is {}; it must be one of {}", key, in_quotes(name), fmt::join(names, ", ")));
}

void read_field_summaries(const Json& json, RowField field, HeadFindings& head) {
  for (std::size_t i = 0; i < head.at.size(); ++i) {
    FieldSummary& summary = head.at[i].fields[static_cast<std::size_t>(field)];
    read_json(json.at("median").at(i), summary.median);
    read_json(json.at("low").at(i), summary.low);
    read_json(json.at("high").at(i), summary.high);
    read_json(json.at("lower_quartile").at(i), summary.lower_quartile);
    read_json(json.at("upper_quartile").at(i), summary.upper_quartile);
  }
}

HeadFindings head_in(const Json& json, std::size_t lengths) {
  using How = Blunting::How;
  HeadFindings head{.at = std::vector<HeadSummary>(lengths)};
  read_json(json.at("layer"), head.place.layer);
  read_json(json.at("head"), head.place.head);
  head.kind = value_named(
      json, "kind", {HeadKind::sink, HeadKind::local, HeadKind::sharp, HeadKind::dispersing, HeadKind::mixed});
  read_json(json.at("entropy_slope"), head.entropy_slope);
  read_json(json.at("entropy_slope_outside"), head.entropy_slope_outside);
  read_json(json.at("peak_slope"), head.peak_slope);
  head.blunting.how = value_named(json.at("blunting"), "how",
                                  {How::from_start, How::measured, How::forecast, How::not_foreseen, How::unknown});
  read_json(json.at("blunting").at("length"), head.blunting.length);
  for (std::size_t i = 0; i < kPlainFields; ++i) {
    const std::string name(kFieldNames[i]);
    if (i != kMass || json.contains(name)) {
      read_field_summaries(json.at(name), static_cast<RowField>(i), head);
    } else {
      for (HeadSummary& at : head.at) at.fields[i] = {1, 1, 1, 1, 1};
    }
  }
  for (std::size_t i = 0; i < lengths; ++i) {
    read_json(json.at("peak_bound").at(i), head.at[i].peak_bound);
    for (std::size_t gap = 0; gap < kGapOctaves.size(); ++gap)
      read_json(json.at("gap_counts").at(i).at(gap), head.at[i].gap_counts[gap]);
  }
  return head;
}

ForecastErrors errors_in(const Json& json) {
  ForecastErrors e;
  read_json(json.at("from"), e.from);
  read_json(json.at("to"), e.to);
  read_json(json.at("heads"), e.heads);
  read_json(json.at("damping"), e.damping);
  const auto read_both = [&](const char* name, double& median, double& ninetieth) {
    read_json(json.at(name).at("median"), median);
    read_json(json.at(name).at("ninetieth"), ninetieth);
  };
  read_both("ours", e.ours, e.ours_90);
  read_both("no_change", e.no_change, e.no_change_90);
  read_both("power_law", e.power_law, e.power_law_90);
  return e;
}

// Heads stand in the order of layers, so that [layer, head] finds them.
void check_places(const Findings& f) {
  for (std::size_t i = 0; i < f.by_head.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    if (f.by_head[i].place != HeadPlace{at / f.heads, at % f.heads})
      refuse(fmt::format("the head at place {} is {}.{}; heads must be in the order of layers", i, f.by_head[i].place.layer,
                         f.by_head[i].place.head));
  }
}

}  // namespace

void check_head_count(std::size_t found, std::int64_t layers, std::int64_t heads) {
  const auto count = static_cast<std::int64_t>(found);
  if (layers < 1 || heads < 1 || count % heads != 0 || count / heads != layers)
    refuse(fmt::format("the results have {} heads; their model has {} layers of {}", found, layers, heads));
}

namespace {

void read_typical(const Json& json, std::size_t lengths, TypicalHead& typical) {
  read_json(json.at("blunt_heads"), typical.blunt_heads);
  for (std::size_t i = 0; i < kPlainFields; ++i) {
    const std::string name(kFieldNames[i]);
    typical.median_over_heads[i].assign(lengths, 1.0);
    if (i != kMass || json.at("median_over_heads").contains(name))
      read_json(json.at("median_over_heads").at(name), typical.median_over_heads[i]);
  }
  for (const auto& medians : typical.median_over_heads)
    if (medians.size() != lengths)
      refuse(fmt::format("median_over_heads has {} lengths; it must have {}", medians.size(), lengths));
  if (typical.blunt_heads.size() != lengths)
    refuse(fmt::format("blunt_heads has {} lengths; it must have {}", typical.blunt_heads.size(), lengths));
}

void add_typical(const TypicalHead& typical, bool with_mass, Json& json) {
  Json medians;
  for (std::size_t i = 0; i < kPlainFields; ++i)
    if (with_mass || i != kMass) medians[std::string(kFieldNames[i])] = numbers(typical.typical(static_cast<RowField>(i)));
  json["median_over_heads"] = medians;
  json["blunt_heads"] = typical.blunt_heads;
}

}  // namespace

Findings findings_in(const Json& json, std::int64_t layers, std::int64_t heads) {
  Findings f;
  f.layers = layers;
  f.heads = heads;
  read_json(json.at("lengths"), f.lengths);
  if (f.lengths.empty()) refuse("the results have findings and no length");
  read_json(json.at("trained_context"), f.trained);
  read_json(json.at("excerpts"), f.excerpts);
  read_json(json.at("thresholds"), f.thresholds);
  read_typical(json, f.lengths.size(), f);
  for (const Json& kind : json.value("layer_kinds", Json::array())) {
    LayerKind& one = f.layer_kinds.emplace_back();
    read_json(kind.at("name"), one.name);
    read_json(kind.at("layers"), one.layers);
    read_typical(kind, f.lengths.size(), one);
  }
  read_json(json.at("forecast").at("damping"), f.damping);
  for (const Json& errors : json.at("forecast").at("errors")) f.forecasts.push_back(errors_in(errors));
  for (const Json& head : json.at("heads")) f.by_head.push_back(head_in(head, f.lengths.size()));
  check_head_count(f.by_head.size(), layers, heads);
  check_places(f);
  return f;
}

Json to_json(const Findings& f) {
  Json json{{"lengths", numbers(f.lengths)},
            {"trained_context", f.trained},
            {"excerpts", f.excerpts},
            {"thresholds", json_of(f.thresholds)}};
  const bool with_mass = f.loses_mass();
  add_typical(f, with_mass, json);
  for (const LayerKind& kind : f.layer_kinds) {
    Json one{{"name", kind.name}, {"layers", kind.layers}};
    add_typical(kind, with_mass, one);
    json["layer_kinds"].push_back(one);
  }
  for (const HeadKind kind : kHeadKinds) json["kinds"][std::string(name_of(kind))] = f.count(kind);
  json["forecast"] = {{"damping", f.damping}, {"errors", Json::array()}};
  for (const ForecastErrors& errors : f.forecasts) json["forecast"]["errors"].push_back(errors_json(errors));
  json["gaps"] = kGapOctaves;
  json["heads"] = Json::array();
  for (const HeadFindings& head : f.by_head) json["heads"].push_back(head_json(head, with_mass));
  return json;
}

}  // namespace sharpmax::audit
