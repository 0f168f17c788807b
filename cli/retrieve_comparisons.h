// Our numbers beside the paper's, and recipe against normalizer.
#pragma once

#include <string>

#include "cli/retrieve_view.h"

namespace sharpmax::cli {

// Paper A's table beside ours; empty without its arm, its rules or its sizes.
std::string published_comparison(const RetrieveView& view, bool colour);

// The paper's or our training x softmax or entropy_target, by size; empty unless all four are there.
std::string two_by_two(const RetrieveView& view, bool colour);

}  // namespace sharpmax::cli
