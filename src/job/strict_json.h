// JSON of files that a job wrote itself: read strictly, and compared.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "sharpmax/job.h"

namespace sharpmax {

// Text that must be one JSON value, no key twice. `where` opens every message.
Json parse_json(std::string_view text, std::string_view where);

// The first value that is not the same: "arms.0.training.steps is 100 there, 200 here". Empty: none.
std::string first_difference(const Json& there, const Json& here);

}  // namespace sharpmax
