// What the page may hold of gap counts and of sketches of heads, in several sizes.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

namespace sharpmax::report {

// Each is an object of lists over heads and what goes with them, the smallest first: {"cells", "scales", "size"} of maps;
// {"keys", "weights", "rows", "texts"} of the heaviest keys; {"n", "quantiles"} of the scores. Throws Error{bad_argument} if
// maps are not what they say.
std::vector<nlohmann::ordered_json> maps_by_size(const nlohmann::ordered_json& sketches);
std::vector<nlohmann::ordered_json> keys_by_size(const nlohmann::ordered_json& sketches);
std::vector<nlohmann::ordered_json> scores_by_size(const nlohmann::ordered_json& sketches);
// {"gaps", "counts"}: [head, length, gap].
std::vector<nlohmann::ordered_json> gaps_by_size(const nlohmann::ordered_json& attention);

}  // namespace sharpmax::report
