// Which formula the rows of a normalizer follow.
#pragma once

#include "normalizer/definition.h"

namespace sharpmax::theory {

// The kernels' rule at n keys, but by shape: rows that have no kernel of their own, for a negative beta or an
// alpha close to 1, are told as what they are. RuleKind::specification: a member of unknown shape.
Rule shape_of(const AnyNormalizer& normalizer, const HeadParameters& parameters, double n);

}  // namespace sharpmax::theory
