// Results of an earlier run, to go on from.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cli/console.h"

namespace sharpmax::cli {

// Hands the results in `file` to `read`, which may throw JSON's exceptions. Error{bad_file} where they are
// not of this schema, were measured under other settings, or cannot be read.
void resume_from(const std::string& file, std::string_view schema, const Json& settings,
                 const std::function<void(const Json&)>& read);

}  // namespace sharpmax::cli
