// Looks of curves: their colours and strokes, the same for a normalizer in every chart; axes, from values to places, with their ticks.
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

// Sizes on a logarithmic axis, a tick at each. Those that are 0 or less have no place.
Axis size_axis(std::string label, std::span<const double> sizes);
// Shares from 0 to 100 %.
Axis share_axis(std::string label);
// Linear, from 0 or the least value to the greatest, ticks at 1, 2 or 5 times a power of ten.
Axis value_axis(std::string label, double low, double high);
// Powers of ten around every value above 0.
Axis decade_axis(std::string label, std::span<const double> values);

std::vector<double> round_ticks(double low, double high, int about);

// The places nearest to those wanted that are `step` apart or more and within low and high, in the order
// given. Where they do not fit, they begin at low and go beyond high.
std::vector<double> pushed_apart(std::span<const double> wanted, double step, double low, double high);

}  // namespace sharpmax::report
