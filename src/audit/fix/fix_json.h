// Trials as JSON, part of schema sharpmax.fix/1. Numbers have all their digits: what is read back is what was
// written.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "audit/fix/fix_run.h"

namespace sharpmax::audit {

nlohmann::ordered_json to_json(const TriedRule& trial);
// Of a model with so many layers and heads; `name` opens every message. Error{bad_file}, or nlohmann's
// exceptions.
TriedRule tried_rule_in(const nlohmann::ordered_json& json, std::string_view name, std::int64_t layers,
                        std::int64_t heads);

nlohmann::ordered_json to_json(const Comparison& comparison, const std::vector<TaskSet>& tasks);
nlohmann::ordered_json to_json(const HeadSurvey& survey);

}  // namespace sharpmax::audit
