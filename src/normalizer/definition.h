// What one member of the family is: its words, its specification in double, and its rule.
//
// A normalizer is one file in src/normalizer/family/ whose function of the file's name returns
// its Definition (CMake makes the list from the folder). With weigh() and backward() it works
// through every door, slowly; a rule() that names one of the kernels' kinds makes it fast. A CustomNormalizer
// becomes a Definition too, outside of the family (any_normalizer.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sharpmax/normalizer.h"
#include "sharpmax/survey.h"

namespace sharpmax {

inline constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

enum class ParameterKind {
  number,  // one value, or one per query head
  list,    // a list of numbers, the same for every head
  choice,  // one of a few words; the value is the word's index
};

struct ParameterSpec {
  std::string_view name;
  ParameterKind kind = ParameterKind::number;
  std::vector<double> default_value;
  std::string_view domain;          // in words, for messages: "a number in [1, 16]"
  bool (*valid)(double) = nullptr;  // of each value; null: any finite number
  bool learnable = false;
  // choice: the words. number: empty, or the one word that leaves the value to the rule (as NaN).
  std::vector<std::string_view> choices = {};
};

// The parameters as one head sees them.
class HeadParameters {
 public:
  HeadParameters(std::span<const Parameter> parameters, std::size_t head) noexcept
      : parameters_(parameters), head_(head) {}
  // A number or a choice.
  double operator[](std::size_t i) const noexcept { return parameters_[i].of_head(head_); }
  std::span<const double> list(std::size_t i) const noexcept { return parameters_[i].values(); }

 private:
  std::span<const Parameter> parameters_;
  std::size_t head_;
};

// What the rule settled on for one row; NaN where the word means nothing.
struct RowFacts {
  double temperature = kNoValue;    // beta
  double threshold = kNoValue;      // tau
  double log_partition = kNoValue;  // of beta * score
};

// How the fused kernels carry out one row. m is the row's largest score.
enum class RuleKind {
  specification,   // no kernel of its own: the row goes through weigh() and backward() in double
  exponential,     // exp(beta (e - m)) / (sink exp(-beta m) + sum)
  surveyed,        // exponential with beta = temperature(survey at beta = 1)
  entropy_target,  // exponential with the least beta >= 1 for which H <= target
  peak_target,     // exponential with the least beta >= 1 for which the peak weight >= target
  top_k,           // exponential over the `target` largest
  hard,            // one-hot at the largest
  threshold,       // [(alpha - 1) beta e - tau]+^(1 / (alpha - 1)), 1 < alpha
  sigmoid,         // 1 / (1 + exp(-(e + offset)))
  relu,            // max(e, 0) / n
  softpick,        // max(exp(e) - 1, 0) / sum |exp(e) - 1|
  self_adjust,     // target 0: scaled form; 1: plain form
  stick_breaking,  // sigma(e_j) prod_{k > j} (1 - sigma(e_k))
  proportional,    // e / sum e over scores phi(q) . phi(k)
};

struct Rule {
  RuleKind kind = RuleKind::specification;
  double beta = 1.0;
  double sink = 0.0;
  double alpha = 2.0;
  double target = 0.0;
  double offset = 0.0;
  // surveyed: beta from the row's survey at beta = 1.
  double (*temperature)(const HeadParameters&, const Survey&) = nullptr;
  // True when the gradient passes through a temperature that depends on the scores.
  bool full_gradient = false;
};

// Which numbers of the rule learnable parameters move, and the gradient by each.
struct RuleMoves {
  bool beta = false, sink = false, alpha = false, target = false, offset = false;
};
struct RuleGradient {
  double beta = 0.0, sink = 0.0, alpha = 0.0, target = 0.0, offset = 0.0;
};

struct Definition {
  int order = 0;  // place in family() and docs/reference/normalizers.md
  std::string_view name;
  std::vector<std::string_view> aliases;
  std::string_view formula;
  std::string_view peak_as_n_grows;
  std::vector<ParameterSpec> parameters;
  bool needs_queries_and_keys = false;

  // Weights of one row. `scores` holds at least one key, all finite: masked keys, empty rows and
  // poisoned rows are dealt with by weigh_row() before. weights.size() == scores.size(). If the first weight
  // is NaN, the row is poisoned.
  std::function<RowFacts(const HeadParameters&, std::span<const double> scores, std::span<double> weights)>
      weigh;

  // Given what weigh() returned in `weights`: d_scores = J^T d_weights, and += into d_parameters (one
  // per parameter, in order). Null when no_backward() says so.
  std::function<void(const HeadParameters&, std::span<const double> scores, std::span<const double> weights,
                     std::span<const double> d_weights, std::span<double> d_scores,
                     std::span<double> d_parameters)>
      backward;

  // Why these parameters have no backward; empty: they have one. Null: always have one.
  std::string_view (*no_backward)(const HeadParameters&) = nullptr;

  // The kernels' rule for a row of n unmasked keys (n >= 1).
  Rule (*rule)(const HeadParameters&, double n);

  // How that rule moves with the parameters: d_parameters += what its gradient leaves of each. Null where
  // nothing is learnable. A kernel that does not know a number that moves leaves the row to backward().
  RuleMoves moves = {};
  void (*through_rule)(const HeadParameters&, double n, const RuleGradient&,
                       std::span<double> d_parameters) = nullptr;
};

// Every member, in order.
std::span<const Definition* const> all_definitions();
// By name or alias; null if there is none.
const Definition* find_definition(std::string_view name);

// ---- One row in double, with the semantics every door shares. ----
//
// -inf scores are masked and get weight 0. With every key masked: zeros and facts.log_partition =
// -inf. With a NaN or +inf: every weight NaN. `scores` and `weights` may be any length, 0 too.
RowFacts weigh_row(const AnyNormalizer& normalizer, std::size_t head, std::span<const double> scores,
                   std::span<double> weights);
// Masked keys and empty rows get 0, poisoned rows NaN. d_parameters += .
void backward_row(const AnyNormalizer& normalizer, std::size_t head, std::span<const double> scores,
                  std::span<const double> weights, std::span<const double> d_weights,
                  std::span<double> d_scores, std::span<double> d_parameters);

// Throws Error unless every per-head parameter has 1 or `heads` values.
void check_heads(const AnyNormalizer& normalizer, std::int64_t heads, std::string_view door);
// Throws Error{unsupported} if these parameters have no backward.
void check_backward(const AnyNormalizer& normalizer, std::string_view door);

// Statistics of a row of weights, straight from the definitions in sharpmax/statistics.h.

inline constexpr std::size_t kNoKey = std::numeric_limits<std::size_t>::max();

// Of p = w / mass. Rows without mass (every key masked, or every weight 0) have none of it; a poisoned row
// has NaN.
struct Distribution {
  double mass = 0.0;
  double entropy = 0.0;  // nats
  double peak_weight = 0.0;
  double effective_support = 0.0;
  std::int64_t support = 0;
  std::size_t peak = kNoKey;  // of equal weights the lowest
};

// scores.size() == weights.size(); a score of -inf is masked.
Distribution distribution_of(std::span<const double> scores, std::span<const double> weights);

// From what a caller names to the parameters of a definition: every check, one place, one wording.

// A parameter as it was found. Columns count from 1; 0: it does not come from a text.
struct FoundParameter {
  std::string_view name;
  Parameter value;
  std::size_t name_column = 0;
  std::size_t value_column = 0;
};

// Throw Error{bad_argument}.
const Definition& require_definition(std::string_view name, std::size_t column);
const ParameterSpec& require_parameter(const Definition& definition, std::string_view name,
                                       std::size_t column);

// All parameters of the definition in its order, defaults filled in. Throws Error{bad_argument} for
// names that are unknown or given twice and for values outside their domain.
std::vector<Parameter> complete(const Definition& definition, std::span<const FoundParameter> found);

// A number that may be left to the rule, written as the spec's one word: sigmoid's b = auto. Its value
// is NaN.
bool may_be_auto(const ParameterSpec& spec) noexcept;

// The value as it stands in text: 0.5, 1/2/3, qwen, auto.
std::string text_of(const ParameterSpec& spec, const Parameter& parameter);
// Whether it is the default, bit for bit.
bool is_default(const ParameterSpec& spec, const Parameter& parameter);

// How messages about normalizers speak of what they found.

// " (column 8)", or nothing for column 0: the mistake is not in a text.
std::string at_column(std::size_t column);

// "alpha, delta and beta"
std::string joined(std::span<const std::string_view> words);

// "; did you mean entmax?", or nothing when no word is close.
std::string suggestion(std::string_view word, std::span<const std::string_view> known);

}  // namespace sharpmax
