// What a run found: from its outcome to a RetrievalResult, and its JSON as text (schema sharpmax.retrieval/1,
// docs/reference/retrieval-json.md).
#pragma once

#include <string>

#include "retrieval/run/run.h"
#include "sharpmax/retrieval.h"

namespace sharpmax::retrieval {

// All but where it comes from.
RetrievalResult result_of(const RunOutcome& outcome);

MeasuredNormalizer measured(const Measurement& measurement);

inline constexpr const char* kCsvHeader =
    "arm,seed,normalizer,n,sets,accuracy,accuracy_low,accuracy_high,entropy,peak_weight,right_weight,"
    "temperature,ranked_first,hard_accuracy,spread,hard_right_rule_right,hard_right_rule_wrong,hard_wrong_rule_right,"
    "hard_wrong_rule_wrong,largest_peak_weight,weight_bound,bound_violations";

// Readable and small: one element of a list to a line.
std::string text_of(const Json& results);

}  // namespace sharpmax::retrieval
