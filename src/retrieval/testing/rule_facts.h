// What testing has to know of a normalizer besides its weights.
#pragma once

#include <cstdint>

#include "sharpmax/normalizer.h"

namespace sharpmax::retrieval {

struct RuleFacts {
  // Weights stay as they are when a constant is added to every score. Such rules are given the gaps to the
  // largest score, which float holds to its full precision where it matters.
  bool ignores_shift = false;
  // Weights are softmax's at one temperature for the row, so that the lemma about spread bounds them.
  bool is_softmax = false;
};

// Of rows of n keys.
RuleFacts facts_of(const AnyNormalizer& normalizer, std::int64_t n);

}  // namespace sharpmax::retrieval
