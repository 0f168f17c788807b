// Range of the peak of a row: the largest and the least peak weight that any member of the family
// can give to n keys whose scores lie in an interval.
//
// Two measures, the same for members whose weights sum to one. The *share* is the largest weight over the
// row's mass: what every door calls peak_weight. The *weight* is the largest weight as it is used: sigmoid
// over few keys can give 0.9 to each of them. Rows that get no weight at all (relu over negative scores)
// have no share and do not count in its range; the weight's range has them, as 0.
//
// Softmax and its kin, the sparse maps, top_k, hard and the targets do not change when all scores move
// together: of the interval only the width matters. sink, sigmoid, relu, softpick, self_adjust and
// stick_breaking do change (`moves_with_level`): for them the interval is meant as it stands. linear is no
// function of scores: Error{unsupported}.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "normalizer/definition.h"
#include "sharpmax/normalizer.h"
#include "theory/dispersion.h"

namespace sharpmax::theory {

// All scores of a row lie in it: bottom <= top, both finite.
struct ScoreInterval {
  double bottom = 0.0;
  double top = 0.0;

  double spread() const noexcept { return top - bottom; }
};
// [-spread / 2, spread / 2], the place paper B gives its scores. Throws unless spread >= 0 and finite.
ScoreInterval centred(double spread);

enum class Knowledge {
  closed_form,  // proved; the test-suite's search does not pass it
  search,       // `share.high` is the best row that was found: none above `ceiling` exists
};

struct PeakRange {
  Range share;  // NaN where no row has any weight
  Range weight;
  // The least share (a limit) over rows with one first place. Above share.low only for the targets, which
  // ties for the first place, and nothing else, can put out of reach.
  double untied_low = 0.0;
  double ceiling = 0.0;  // no row's share is above this; share.high if that is a closed form
  Knowledge knowledge = Knowledge::closed_form;
  bool sums_to_one = true;
  bool moves_with_level = false;
};

// n >= 1, finite. Parameters are those of query head `head`.
PeakRange peak_range(const AnyNormalizer& normalizer, double n, const ScoreInterval& scores,
                     std::size_t head = 0);

// At which number of keys a peak weight is lost, and up to which it is sure.
//
// The largest share that any row of scores in an interval can have (peak_range.h) is a function of n. For
// softmax it falls; for rules whose temperature grows with n it may fall and rise again.

// Numbers of keys are looked at up to here: past 10^300 "never" is meant.
inline constexpr double kMostKeys = 1e300;

struct PeakLoss {
  // The least n at which no row can have the peak; nothing: never.
  std::optional<double> lost;
  // The least n above `lost` at which some row can have it again; nothing: never.
  std::optional<double> regained;
  // The largest n up to which every row with one first place has it, however bad; nothing: at any n.
  std::optional<double> sure;
};

// 0 < peak < 1. Whole numbers, exact up to 2^53. They are found on a grid of n and then by bisection: a loss
// that is made good between two neighbours of the grid (a factor 1.5 apart, 4 where the range is itself
// found by search) is not seen.
PeakLoss peak_loss(const AnyNormalizer& normalizer, double peak, const ScoreInterval& scores,
                   std::size_t head = 0);

// Weights in proportion: normalizers of the form F(e_i) / sum_j F(e_j), F positive. Paper B, lemma 1
// (arXiv 2508.17821): with F independent of the length L and scores in an interval, C1 / L <= every weight <=
// C2 / L, C1 = min F / max F and C2 = max F / min F over the interval. Corollary 1 is softmax's, with scores
// in
// [-Delta, Delta], Delta = |q| max |k|, at temperature T: exp(-+2 Delta / T) / L.

enum class Form {
  proportional,         // F / sum F with one F: lemma 1 holds
  share_proportional,   // the weights' shares of their mass are: lemma 1 holds of those
  changes_with_length,  // at each n, but F is another at another n: the constants hold at that n alone
  other,  // no such F: positive weights on all keys, of the score and one sum, are not what it gives
};

struct FormFacts {
  Form form = Form::other;
  std::string because;  // in one sentence
};
FormFacts form_of(const AnyNormalizer& normalizer, std::size_t head = 0);

struct ProportionalConstants {
  double c1 = 1.0;
  double c2 = 1.0;  // 1 / c1; infinity where a double does not hold it
};
// At n keys (of any n where F does not change with it). Error{unsupported} for Form::other, saying why.
ProportionalConstants proportional_constants(const AnyNormalizer& normalizer, double n,
                                             const ScoreInterval& scores, std::size_t head = 0);

// As published: [c1 / n, c2 / n].
Range proportional_bound(const ProportionalConstants& constants, double n);
// The tight form, both ends reached: 1 / (1 + (n - 1) c2) and 1 / (1 + (n - 1) c1).
Range proportional_range(const ProportionalConstants& constants, double n);

// Corollary 1's constants: scores |q . k| <= query_norm * key_norm, divided by the temperature.
ProportionalConstants softmax_constants(double query_norm, double key_norm, double temperature);

// The parts of peak_range(): the formula a row follows, and the ranges that no line of peak_range.cc holds.

// Which formula the rows of a normalizer follow.

// The kernels' rule at n keys, but by shape: rows that have no kernel of their own, for a negative beta or an
// alpha close to 1, are reported as what they are. RuleKind::specification: a member of unknown shape.
Rule shape_of(const AnyNormalizer& normalizer, const HeadParameters& parameters, double n);

// Peak ranges of members that change when all scores move together, one function each; see peak_range.h.

PeakRange sink_range(double c, double n, const ScoreInterval& scores);
PeakRange sigmoid_range(double offset, double n, const ScoreInterval& scores);
PeakRange relu_range(double n, const ScoreInterval& scores);
PeakRange softpick_range(double n, const ScoreInterval& scores);
PeakRange scaled_self_adjust_range(double n, const ScoreInterval& scores);
PeakRange plain_self_adjust_range(double n, const ScoreInterval& scores);
PeakRange stick_breaking_range(double n, const ScoreInterval& scores);

// Peak ranges found by search, where no closed form is known; see peak_range.h.

// Of a softmax whose temperature, at least 1, is a function of the row's entropy (RuleKind::surveyed).
// share.high: one winner, and the others in two groups of any sizes at any gaps. The ceiling holds for every
// row, as far as 4,096 samples show how large the temperature gets.
PeakRange surveyed_range(const Rule& rule, const HeadParameters& parameters, double n, double spread);

// Of any normalizer, through its specification in double: rows of at most three distinct scores, then uphill
// along each of them. No ceiling is known: 1. Throws Error{unsupported} for more than kMostSearchedKeys.
inline constexpr double kMostSearchedKeys = 4096;
PeakRange searched_range(const AnyNormalizer& normalizer, double n, const ScoreInterval& scores,
                         std::size_t head = 0);

}  // namespace sharpmax::theory
