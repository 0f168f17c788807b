#include <numbers>

#include "cli/bound_model.h"
#include "cli/command.h"
#include "cli/model_text.h"
#include "sharpmax/error.h"
#include "sharpmax/machine.h"

namespace sharpmax::cli {
namespace {

Json token_json(const model::Model& model, model::Token token) {
  return {{"token", token}, {"text", token_text(model, token)}};
}

Json attained_json(const model::Model& model, const audit::AttainedRow& row) {
  Json json{{"length", row.length}, {"spread", row.spread}, {"peak", row.peak}};
  json["query"] = token_json(model, row.query);
  json["high"] = token_json(model, row.high);
  json["high"]["offset"] = row.high_offset;
  json["low"] = token_json(model, row.low);
  json["low"]["offset"] = row.low_offset;
  return json;
}

Json head_json(const BoundModelRun& run, const audit::HeadCertificate& head) {
  Json json{{"layer", head.layer},
            {"head", head.head},
            {"window", head.window > 0 ? Json(head.window) : Json()},
            {"norm_spread", head.norm_spread},
            {"norm_reached", head.norm_reached},
            {"vocabulary_spread", head.vocabulary_spread ? Json(*head.vocabulary_spread) : Json()},
            {"spread", head.spread()},
            {"log10_length", run.log_length(head) / std::numbers::ln10},
            {"useful", run.useful(head)}};
  json["attained"] = head.attained ? attained_json(*run.model, *head.attained) : Json();
  return json;
}

}  // namespace

Json to_json(const BoundModelRun& run) {
  const model::Configuration& c = run.model->configuration();
  Json json{
      {"schema", kBoundModelSchema},
      {"sharpmax", version()},
      {"command", command_line()},
      {"created", utc_now()}};
  json["model"] = {{"file", run.model->name()},   {"sha256", run.sha256}, {"architecture", c.architecture},
                   {"layers", c.layers},          {"heads", c.heads},     {"kv_heads", c.kv_heads},
                   {"head_width", c.head_width},  {"width", c.width},     {"vocabulary", c.vocabulary},
                   {"trained_context", c.context}};
  json["peak"] = run.options.peak;
  json["beta"] = run.options.beta;
  json["rope_scaling"] = run.options.rope_scaling.empty() ? Json() : Json(run.options.rope_scaling);
  json["rope_base"] = run.options.rope_base ? Json(*run.options.rope_base) : Json();
  json["horizon"] = run.horizon();
  json["seconds"] = run.seconds;
  json["verdict"] = verdict_of(run);
  json["heads"] = Json::array();
  for (const audit::HeadCertificate& head : run.heads) json["heads"].push_back(head_json(run, head));
  return json;
}

}  // namespace sharpmax::cli
