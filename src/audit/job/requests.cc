// The forms of an audit distinguished, the files of one by length, and an AuditResult as JSON and back.
#include "audit/job/requests.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "audit/measure/findings.h"
#include "base/in_quotes.h"
#include "job/json_members.h"
#include "job/saved_results.h"

namespace sharpmax {
namespace {

std::string_view name_of(AuditForm form) {
  switch (form) {
    case AuditForm::by_length:
      return "an audit by length";
    case AuditForm::analysis:
      return "an analysis";
    case AuditForm::probe:
      break;
  }
  return "a probe";
}

AuditForm form_of(const Json& settings) {
  if (settings.contains("probe")) return AuditForm::probe;
  return settings.contains("analysis") ? AuditForm::analysis : AuditForm::by_length;
}

}  // namespace

CallFiles files_of_audit(const AuditRequest& request) {
  CallFiles call = files_of(request, request.saving.overwrite, kAuditSchema);
  if (is_file(request.saving.json) && request.sharing.directory.empty()) call.writes(named("json"), request.saving.json + kRowsEnding, npz_kind());
  return call;
}

void check_form(const Json& results, AuditForm expected) {
  const AuditForm form = form_of(results.at("settings"));
  if (form != expected)
    throw Error(ErrorCode::bad_file, fmt::format("these are results of {}; expected {}", name_of(form), name_of(expected)));
}

HeadPlace parse_head(std::string_view text, std::int64_t layers, std::int64_t heads) {
  HeadPlace place;
  const char* const end = text.data() + text.size();
  const auto layer = std::from_chars(text.data(), end, place.layer);
  const bool dotted = layer.ec == std::errc() && layer.ptr != end && *layer.ptr == '.';
  const auto head = dotted ? std::from_chars(layer.ptr + 1, end, place.head) : layer;
  if (!dotted || head.ec != std::errc() || head.ptr != end)
    throw RequestError(ErrorCode::bad_argument,
                       fmt::format("{} is {}; expected LAYER.HEAD, both counted from 0, such as 3.5", named("head"),
                                   in_quotes(text)));
  if (place.layer < 0 || place.layer >= layers || place.head < 0 || place.head >= heads)
    throw RequestError(ErrorCode::bad_argument,
                       fmt::format("{}: there is no such head; layers go from 0 to {} and heads from 0 to {}",
                                   named("head", text), layers - 1, heads - 1));
  return place;
}

// An AuditResult as JSON and back.

Json to_json(const AuditResult& result) {
  Json json = header_of(kAuditSchema, result.provenance);
  json["settings"] = json_of(result.settings);
  json["complete"] = result.complete;
  if (result.findings) {
    json["verdict"] = result.verdict;
    json["attention"] = audit::to_json(*result.findings);
  }
  if (result.sketches) json["sketches"] = audit::to_json(*result.sketches);
  return json;
}

AuditResult audit_result(const Json& json) {
  return read_results(json, kAuditSchema, [](const Json& results) {
    check_form(results, AuditForm::by_length);
    AuditResult result{.provenance = provenance_in(results)};
    read_json(results.at("settings"), result.settings);
    const ModelSettings& model = result.settings.model;
    read_json(results.at("complete"), result.complete);
    if (results.contains("attention")) {
      read_json(results.at("verdict"), result.verdict);
      result.findings = audit::findings_in(results.at("attention"), model.layers, model.heads);
    }
    if (results.contains("sketches"))
      result.sketches = audit::sketches_in(results.at("sketches"), model.layers, model.heads);
    return result;
  });
}

}  // namespace sharpmax
