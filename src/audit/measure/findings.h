// From kept rows to findings: medians by length, the kind of every head, forecasts past the measured lengths.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "audit/measure/reading.h"
#include "model/transformer/session.h"
#include "sharpmax/audit.h"

namespace sharpmax::audit {

// How a head's sharpness goes on past the lengths that were measured, and how far such guesses were off where
// they could be checked.
//
// The guess is a damped power law: ln p = ln p(last) + damping * slope * (ln n - ln last), slope by least
// squares over the measured lengths. Damping 0 is "no change", 1 the power law. It is one number for all
// heads, chosen where the truth is known: from the shorter of the measured lengths to the longer ones.

// One head's median at every length, ascending; NaN if there is none.
struct Curve {
  std::span<const double> lengths;
  std::span<const double> values;
};

// Of ln value against ln length; 0 for fewer than two positive values.
double power_slope(const Curve& curve);
// Of value against ln length, as for entropies; NaN for fewer than two values.
double log_slope(const Curve& curve);

double forecast(const Curve& curve, double length, double damping);

// values[head] are the medians of one head at `lengths`.
ForecastErrors check_forecast(std::span<const double> lengths, std::span<const std::vector<double>> values,
                              std::size_t from, std::size_t to);

// The damping in {0, 0.05, …, 1} whose forecasts from shorter lengths would have been off least, in the
// median over heads and over every pair of lengths at least a factor 2 apart that `lengths` allow; 0 where
// there is nothing to choose it from.
double choose_damping(std::span<const double> lengths, std::span<const std::vector<double>> values);

// The rule by which the kind of a head is decided.

HeadKind kind_of(const KindSigns& signs, const Thresholds& thresholds);

// Rows of one head at one length, in a few numbers.

// Tokens of a run, over which intervals of medians are made: rows of SmolLM2 that far apart are independent (docs/reference/audit.md).
inline constexpr std::int64_t kRowsRunLength = 8;

// Of the same length in every excerpt that was read so far; without peak_bound.
HeadSummary summarise(std::span<const KeptRows* const> excerpts, std::int64_t heads, std::int64_t layer,
                      std::int64_t head);

// Of the values that are not NaN, the one at `share` of the order, between neighbours by straight lines; NaN
// of none. Reorders.
double quantile(std::span<double> values, double share);

// Findings from kept rows: the kind of every head, how it changes with length, where it goes blunt.

// Of the lengths that every excerpt was read to; kinds are those at the longest within the trained length, or
// at the shortest if none is. softmax: every head runs under it, which peak_bound holds for. Error{bad_argument} if there is
// no such length.
Findings find(const ReadingPlan& plan, const Readings& readings, const model::Configuration& configuration,
              const Thresholds& thresholds, bool softmax = true);

// Findings as JSON, and the six digits of their numbers.

// Numbers in results: six digits, enough to read. Numbers that are not finite become not-a-number, which is null in JSON.

double rounded(double value);
Json six_digits(double value);

// Findings as JSON: the section "attention" of schema sharpmax.audit/1.

// Numbers with six digits; not-a-number is null.
Json to_json(const Findings& findings);
// Of a model with so many layers, and heads in each. Throws Error{bad_file}, and JSON's exceptions.
Findings findings_in(const Json& json, std::int64_t layers, std::int64_t heads);

// Throws Error{bad_file} if results have another number of heads than their model.
void check_head_count(std::size_t found, std::int64_t layers, std::int64_t heads);

// Sketches of heads: what each does with one short excerpt, small enough to be looked at.

// Queries that are looked at, spread over n tokens and denser towards the end; the last is n - 1.
std::vector<std::int64_t> sketched_rows(std::int64_t n);

// Reads the excerpt from an empty cache in one block: Error{bad_argument} where the session's is shorter.
Sketches sketch_heads(model::Session& session, std::span<const model::Token> excerpt);

// Sketches of heads as the section "sketches" of the results; docs/reference/audit.md has its fields.

// Texts of tokens may be any bytes; those that are not UTF-8 become U+FFFD. Weights of a map lose digits: map_json().
Json to_json(const Sketches& sketches);
// Of a model with so many layers, and heads in each. Throws Error{bad_file}, and JSON's exceptions.
Sketches sketches_in(const Json& json, std::int64_t layers, std::int64_t heads);

}  // namespace sharpmax::audit
