// A rule that is tried: which normalizer, in which heads, and how positions are stretched.
//
//   softmax:beta=1.35                   every head
//   softmax:beta=1.35@but-steepest      all but the fifth of the heads whose entropy grows fastest
//   adaptive@sharp                      heads of one kind: sink, local, sharp, dispersing, mixed
//   softmax:beta=1.2@layers=4-9         some layers
//   entropy_target:nats=own             each head held to its own median entropy at short length
//   rope=ntk:1.5                        positions alone; softmax:beta=1.1;rope=ntk:1.5: both
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/fix/head_survey.h"
#include "model/architecture/configuration.h"
#include "model/transformer/normalizer_table.h"

namespace sharpmax::audit {

struct Rule {
  std::string text;        // as above: what it is called
  std::string normalizer;  // "softmax" where only positions change
  std::string heads;       // after the @; "all"
  std::string rope;        // as --rope-scaling takes it; empty: as they are
};

// Error{bad_argument} for what makes no sense, for a model of this configuration.
Rule parse_rule(std::string_view text, const model::Configuration& configuration);

// A rule made out for the heads of a model.
struct RuleTable {
  model::NormalizerTable normalizers;
  std::string rope;
  std::int64_t changed = 0;  // heads that do not run under plain softmax
};
RuleTable make_out(const Rule& rule, const HeadSurvey& survey);

// What is tried unless the user says otherwise. `longest`: tokens of the longest text or question; past the
// trained length positions are stretched, too.
std::vector<std::string> default_rules(const model::Configuration& configuration, std::int64_t longest);

}  // namespace sharpmax::audit
