// The text of `sharpmax inspect`, made from its JSON.
#pragma once

#include <string>

#include "cli/console.h"

namespace sharpmax::cli {

// all_tensors: every one, not one line for those that differ in the layer alone.
std::string inspect_report(const Json& found, bool all_tensors, bool colour);

}  // namespace sharpmax::cli
