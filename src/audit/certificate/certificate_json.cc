// Certificates of heads as JSON and back, for runs that are kept in pieces. Numbers are texts: a bound may be infinite.
#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "audit/certificate/certificate.h"
#include "sharpmax/error.h"

namespace sharpmax::audit {
namespace {

double number_in(const Json& json) {
  const std::string text = json.get<std::string>();
  double value = 0.0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size())
    throw Error(ErrorCode::bad_file, fmt::format("a number is '{}'", text));
  return value;
}

std::string number_text(double value) { return fmt::format("{}", value); }

Json attained_json(const AttainedRow& row) {
  return {{"length", row.length},       {"spread", number_text(row.spread)},
          {"peak", number_text(row.peak)}, {"query", row.query},
          {"high", row.high},           {"high_offset", row.high_offset},
          {"low", row.low},             {"low_offset", row.low_offset}};
}

AttainedRow attained_in(const Json& json) {
  AttainedRow row;
  json.at("length").get_to(row.length);
  row.spread = number_in(json.at("spread"));
  row.peak = number_in(json.at("peak"));
  json.at("query").get_to(row.query);
  json.at("high").get_to(row.high);
  json.at("high_offset").get_to(row.high_offset);
  json.at("low").get_to(row.low);
  json.at("low_offset").get_to(row.low_offset);
  return row;
}

}  // namespace

Json to_json(const HeadCertificate& head) {
  Json json = {{"layer", head.layer},
               {"head", head.head},
               {"window", head.window},
               {"norm_spread", number_text(head.norm_spread)},
               {"norm_reached", number_text(head.norm_reached)}};
  if (head.vocabulary_spread) json["vocabulary_spread"] = number_text(*head.vocabulary_spread);
  if (head.attained) json["attained"] = attained_json(*head.attained);
  return json;
}

HeadCertificate certificate_in(const Json& json) {
  HeadCertificate head;
  json.at("layer").get_to(head.layer);
  json.at("head").get_to(head.head);
  json.at("window").get_to(head.window);
  head.norm_spread = number_in(json.at("norm_spread"));
  head.norm_reached = number_in(json.at("norm_reached"));
  if (json.contains("vocabulary_spread")) head.vocabulary_spread = number_in(json.at("vocabulary_spread"));
  if (json.contains("attained")) head.attained = attained_in(json.at("attained"));
  return head;
}

}  // namespace sharpmax::audit
