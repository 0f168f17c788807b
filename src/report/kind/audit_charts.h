// What is drawn of an audit: every head, all heads by length, paper B's analyses, probes.
#pragma once

#include <span>
#include <vector>

#include "report/kind/kinds.h"

namespace sharpmax::report {

// Of the section "attention". The explorer of heads; sketches: null where there are none.
Heads heads_of(const Json& attention, const Json* sketches);
// What the page may hold of the sketches, in several sizes. Each is an object of lists over heads and what goes with them, the
// smallest first: {"cells", "scales", "size"} of maps; {"keys", "weights", "rows", "texts"} of the heaviest keys;
// {"n", "quantiles"} of the scores. Throws Error{bad_argument} if maps are not what they say.
std::vector<Json> maps_by_size(const Json& sketches);
std::vector<Json> keys_by_size(const Json& sketches);
std::vector<Json> scores_by_size(const Json& sketches);
// Places of heads: blunt ones first, the bluntest in front; sinks, which do not try to pick, behind.
std::vector<std::size_t> worst_first(const Json& attention);
// Nothing beyond the end of the list.
inline std::optional<double> at_place(const Json& list, std::size_t i) { return i < list.size() ? number_in(list.at(i)) : std::nullopt; }
std::string blunting_text(const Json& blunting);  // <64, 256, ~4,096, not seen
Axis tokens_axis(const std::vector<double>& lengths);
std::vector<Mark> trained_mark(const Json& attention);
Chart blunt_chart(const Json& attention);
Chart median_chart(const Json& attention);

// Of the section "probe".
Chart probe_chart(const Json& probe);

// Sections of the view: paper B's findings and figures.
std::vector<Section> analysis_sections(const Json& analysis);
Words findings_sentence(const Json& analysis);

}  // namespace sharpmax::report
