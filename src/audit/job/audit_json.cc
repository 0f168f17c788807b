// An AuditResult as JSON and back.
#include <nlohmann/json.hpp>

#include "audit/job/audit_forms.h"
#include "audit/measure/findings_json.h"
#include "audit/measure/sketch_json.h"
#include "job/json_members.h"
#include "job/saved_results.h"
#include "model/job/model_request.h"

namespace sharpmax {

Json to_json(const AuditSettings& settings) {
  return {{"model", to_json(settings.model)}, {"text", settings.text},       {"text_tokens", settings.text_tokens},
          {"special", settings.special},      {"lengths", settings.lengths}, {"starts", settings.starts},
          {"block", settings.block}};
}

Json to_json(const AuditResult& result) {
  Json json = header_of(kAuditSchema, result.provenance);
  json["settings"] = to_json(result.settings);
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
    const Json& settings = results.at("settings");
    AuditResult result{.provenance = provenance_in(results), .settings = {.model = model_settings_in(settings.at("model"))}};
    AuditSettings& s = result.settings;
    read_json(settings.at("text"), s.text);
    read_json(settings.at("text_tokens"), s.text_tokens);
    read_json(settings.at("special"), s.special);
    read_json(settings.at("lengths"), s.lengths);
    read_json(settings.at("starts"), s.starts);
    read_json(settings.at("block"), s.block);
    read_json(results.at("complete"), result.complete);
    if (results.contains("attention")) {
      read_json(results.at("verdict"), result.verdict);
      result.findings = audit::findings_in(results.at("attention"), s.model.layers, s.model.heads);
    }
    if (results.contains("sketches"))
      result.sketches = audit::sketches_in(results.at("sketches"), s.model.layers, s.model.heads);
    return result;
  });
}

}  // namespace sharpmax
