// A fit for people.
#pragma once

#include <string>

#include "sharpmax/fit.h"

namespace sharpmax::cli {

// The whole text.
std::string fit_report(const FitResult& found, bool colour);
// Its part that shows best temperatures against entropy: numbers and a plot.
std::string fit_plot(const FitResult& found, bool colour);

}  // namespace sharpmax::cli
