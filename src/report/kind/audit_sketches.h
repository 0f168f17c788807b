// What the page may hold of the sketches of heads, in several sizes.
#pragma once

#include <vector>

#include "report/kind/reading.h"

namespace sharpmax::report {

// Each is an object of lists over heads and what goes with them, the smallest first: {"cells", "scales", "size"} of maps;
// {"keys", "weights", "rows", "texts"} of the heaviest keys; {"n", "quantiles"} of the scores. Throws Error{bad_argument} if
// maps are not what they say.
std::vector<Json> maps_by_size(const Json& sketches);
std::vector<Json> keys_by_size(const Json& sketches);
std::vector<Json> scores_by_size(const Json& sketches);

}  // namespace sharpmax::report
