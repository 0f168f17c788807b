// What the page holds of gap counts and of sketches of heads, as much as there is room for.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <vector>

namespace sharpmax::report {

// A part that can be held in several sizes, the smallest first; it begins as nothing.
struct Ladder {
  const char* key = "";                       // in the page
  const char* name = "";                      // as what is left out is named
  std::vector<nlohmann::ordered_json> steps;  // steps[0] is null
  std::vector<std::size_t> bytes;
  std::size_t at = 0;

  const nlohmann::ordered_json& held() const { return steps[at]; }
};

// Sizes of what the page may hold. Each is an object of lists over heads and what goes with them:
// {"cells", "scales", "size"} of maps, the full one last; {"keys", "weights", "rows", "texts"} of the
// heaviest keys;
// {"n", "quantiles"} of the scores. Throws Error{bad_argument} where maps are not what they say.
Ladder map_ladder(const nlohmann::ordered_json& sketches);
Ladder key_ladder(const nlohmann::ordered_json& sketches);
Ladder score_ladder(const nlohmann::ordered_json& sketches);
// {"gaps", "counts"}: [head, length, gap].
Ladder gap_ladder(const nlohmann::ordered_json& attention);

// Step by step in turn, each to at most `highest`, while all of it stays within `room`; `bytes` is what is
// taken.
void climb(std::vector<Ladder>& ladders, std::size_t highest, std::size_t& bytes, std::size_t room);

}  // namespace sharpmax::report
