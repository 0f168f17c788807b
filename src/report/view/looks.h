// Colours and strokes of curves: the same normalizer looks the same in every chart.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/view/view.h"

namespace sharpmax::report {

// The text of a normalizer up to its parameters.
std::string family_of(std::string_view normalizer);
// One for each: a member that everybody knows has its own, others take what is left, in order.
std::vector<Look> looks_of(std::span<const std::string> normalizers);
// The colours of curves that are no normalizers, one after the other.
Paint nth_paint(std::size_t i);

}  // namespace sharpmax::report
