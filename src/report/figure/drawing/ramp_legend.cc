#include "report/figure/drawing/ramp_legend.h"

#include "report/figure/drawing/heading.h"
#include "report/figure/drawing/words.h"

namespace sharpmax::report {
namespace {

constexpr int kRampSteps = 40;
constexpr double kRampStep = 4.0, kRampHeight = 10.0, kRampGap = 8.0;

}  // namespace

double ramp_end(const RampWords& words, double x) {
  return x + width_of(words.low, kTextSize) + kRampSteps * kRampStep + 2.0 * kRampGap + width_of(words.high, kTextSize);
}

void draw_ramp(Svg& svg, const RampWords& words, Place at) {
  svg.text({.text = words.low, .at = at, .size = kTextSize});
  const double left = at.x + width_of(words.low, kTextSize) + kRampGap;
  svg.open_cells({left, at.y - kRampHeight + 1.0}, 1.0);
  for (int i = 0; i < kRampSteps; ++i)
    svg.rect({i * kRampStep, 0.0, (i + 1) * kRampStep, kRampHeight}, ramp(i / (kRampSteps - 1.0)));
  svg.close();
  svg.text({.text = words.high, .at = {left + kRampSteps * kRampStep + kRampGap, at.y}, .size = kTextSize});
}

}  // namespace sharpmax::report
