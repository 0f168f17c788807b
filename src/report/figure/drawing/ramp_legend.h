#pragma once

#include "report/figure/drawing/cells.h"
#include "report/figure/drawing/svg.h"

namespace sharpmax::report {

// Cividis from low to high, its words at either side; y: of the words' base line.
void draw_ramp(Svg& svg, const RampWords& words, Place at);
// Where what stands after it may begin.
double ramp_end(const RampWords& words, double x);

}  // namespace sharpmax::report
