#include "retrieval/run/tested_file.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "retrieval/task/settings_json.h"
#include "retrieval/training/head_file.h"
#include "sharpmax/error.h"
#include "storage/files.h"
#include "storage/sealed_tensors.h"

namespace sharpmax::retrieval {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "sharpmax.retrieval.tested/1";

template <class Measured, class Visit>
void each_number(Measured& m, const Visit& visit) {
  visit("n", m.n);
  visit("sets", m.sets);
  visit("right", m.right);
  visit("ranked_first", m.ranked_first);
  visit("hard_right_rule_right", m.hard_right_rule_right);
  visit("hard_right_rule_wrong", m.hard_right_rule_wrong);
  visit("hard_wrong_rule_right", m.hard_wrong_rule_right);
  visit("hard_wrong_rule_wrong", m.hard_wrong_rule_wrong);
  visit("entropy", m.entropy);
  visit("peak_weight", m.peak_weight);
  visit("right_weight", m.right_weight);
  visit("temperature", m.temperature);
  visit("spread", m.spread);
  visit("largest_peak_weight", m.largest_peak_weight);
  visit("largest_spread", m.largest_spread);
}

// Infinities do not occur; a mean that does not exist is null.
Json value_of(double value) { return std::isnan(value) ? Json() : Json(value); }
Json value_of(std::int64_t value) { return value; }
void read(const Json& json, double& into) {
  into = json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}
void read(const Json& json, std::int64_t& into) { into = json.get<std::int64_t>(); }

std::string fingerprint(const Head& head) {
  return fmt::format("{:016x}", Checksum()
                                    .add(json_of(head.training).dump())
                                    .add(std::as_bytes(std::span(head.parameters)))
                                    .add(std::as_bytes(std::span(head.normalizer_parameters)))
                                    .value());
}

std::string checksum_of(const Json& body) {
  return fmt::format("{:016x}", Checksum().add(body.dump()).value());
}

Json body_of(const Head& head, const Evaluation& evaluation) {
  Json measurements = Json::array(), heat_maps = Json::array();
  for (const Measurement& m : evaluation.measurements) {
    Json json = {{"normalizer", m.normalizer}};
    each_number(m, [&](const char* name, const auto& value) { json[name] = value_of(value); });
    measurements.push_back(std::move(json));
  }
  for (const HeatMap& map : evaluation.heat_maps)
    heat_maps.push_back({{"normalizer", map.normalizer},
                         {"n", map.n},
                         {"sets", map.sets},
                         {"items", map.items},
                         {"weights", map.weights}});
  return {{"arm", head.arm},
          {"seed", head.seed},
          {"head", fingerprint(head)},
          {"bound_violations", evaluation.bound_violations},
          {"measurements", measurements},
          {"heat_maps", heat_maps}};
}

Evaluation evaluation_from(const Json& body) {
  Evaluation evaluation{.bound_violations = body.at("bound_violations").get<std::int64_t>()};
  for (const Json& json : body.at("measurements")) {
    Measurement& m = evaluation.measurements.emplace_back();
    m.normalizer = json.at("normalizer").get<std::string>();
    each_number(m, [&](const char* name, auto& value) { read(json.at(name), value); });
  }
  for (const Json& json : body.at("heat_maps"))
    evaluation.heat_maps.push_back({.normalizer = json.at("normalizer").get<std::string>(),
                                    .n = json.at("n").get<std::int64_t>(),
                                    .sets = json.at("sets").get<std::int64_t>(),
                                    .items = json.at("items").get<std::int64_t>(),
                                    .weights = json.at("weights").get<std::vector<float>>()});
  return evaluation;
}

bool answers(const Evaluation& evaluation, const EvaluationRequest& request) {
  if (evaluation.measurements.size() != request.normalizers.size()) return false;
  for (std::size_t i = 0; i < request.normalizers.size(); ++i) {
    const Measurement& m = evaluation.measurements[i];
    if (m.normalizer != request.normalizers[i].text() || m.n != request.n || m.sets != request.sets)
      return false;
  }
  return true;
}

}  // namespace

void save_tested(const std::filesystem::path& path, const Head& head, const Evaluation& evaluation) {
  const Json body = body_of(head, evaluation);
  const Json file = {{"schema", kSchema}, {"checksum", checksum_of(body)}, {"tested", body}};
  write_text(path, file.dump() + "\n");
}

Evaluation load_tested(const std::filesystem::path& path, const Head& head,
                       const EvaluationRequest& request) {
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorCode::bad_file,
                fmt::format("{}: {}; delete it to test this size again", path.string(), what));
  };
  Json file;
  try {
    file = parse_json(read_text(path), path.string());
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}; delete it to test this size again", error.what()));
  }
  try {
    if (file.at("schema") != kSchema) fail(fmt::format("the schema is not {}", kSchema));
    const Json& body = file.at("tested");
    if (file.at("checksum") != checksum_of(body)) fail("at byte 0: its checksum is wrong: it was damaged");
    if (body.at("head") != fingerprint(head)) fail("it is of another head");
    Evaluation evaluation = evaluation_from(body);
    if (!answers(evaluation, request)) fail("it is of other sizes, sets or normalizers");
    return evaluation;
  } catch (const Json::exception&) {
    fail("a value is missing or of another kind");
  }
  return {};
}

}  // namespace sharpmax::retrieval
