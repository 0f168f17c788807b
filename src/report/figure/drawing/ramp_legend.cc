#include "report/figure/drawing/ramp_legend.h"

#include "report/figure/drawing/heading.h"
#include "report/figure/drawing/words.h"

namespace sharpmax::report {
namespace {

constexpr int kSteps = 40;
constexpr double kStep = 4.0, kHeight = 10.0, kGap = 8.0;

}  // namespace

double ramp_end(const RampWords& words, double x) {
  return x + width_of(words.low, kTextSize) + kSteps * kStep + 2.0 * kGap + width_of(words.high, kTextSize);
}

void draw_ramp(Svg& svg, const RampWords& words, Place at) {
  svg.text({.text = words.low, .at = at, .size = kTextSize});
  const double left = at.x + width_of(words.low, kTextSize) + kGap;
  svg.open_cells({left, at.y - kHeight + 1.0}, 1.0);
  for (int i = 0; i < kSteps; ++i)
    svg.rect({i * kStep, 0.0, (i + 1) * kStep, kHeight}, ramp(i / (kSteps - 1.0)));
  svg.close();
  svg.text({.text = words.high, .at = {left + kSteps * kStep + kGap, at.y}, .size = kTextSize});
}

}  // namespace sharpmax::report
