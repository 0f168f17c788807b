// Trials and settings as JSON, part of schema sharpmax.fix/1. Numbers have all their digits: what is read back is what was
// written.
#pragma once

#include <string_view>

#include "audit/fix/fix_run.h"

namespace sharpmax::audit {

Json to_json(const FixSettings& settings);

FixTrial fix_trial_of(const TriedRule& trial);
FixTrial fix_trial_in(const Json& json);  // Error{bad_file}, or nlohmann's exceptions
// Of a model with so many layers and heads; `name` opens every message. Error{bad_file}.
TriedRule tried_rule_of(const FixTrial& trial, std::string_view name, std::int64_t layers, std::int64_t heads);

}  // namespace sharpmax::audit
