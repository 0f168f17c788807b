// How far a score computed in double, folded or not, may be from the head's own in exact arithmetic, for any
// item and query.
#pragma once

#include "retrieval/head/head.h"

namespace sharpmax::retrieval {

double rounding_of_scores(const Head& head);

}  // namespace sharpmax::retrieval
