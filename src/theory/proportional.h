// Weights in proportion: normalizers of the form F(e_i) / sum_j F(e_j), F positive. Paper B, lemma 1
// (arXiv 2508.17821): with F independent of the length L and scores in an interval, C1 / L <= every weight <=
// C2 / L, C1 = min F / max F and C2 = max F / min F over the interval. Corollary 1 is softmax's, with scores
// in
// [-Delta, Delta], Delta = |q| max |k|, at temperature T: exp(-+2 Delta / T) / L.
#pragma once

#include <cstddef>
#include <string>

#include "sharpmax/normalizer.h"
#include "theory/peak_range.h"

namespace sharpmax::theory {

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

}  // namespace sharpmax::theory
