#include "report/figure/bound_drawings.h"
#include "report/figure/figures.h"
#include "report/figure/gathered.h"

namespace sharpmax::report {

std::vector<Figure> bound_figures(const nlohmann::ordered_json& results) {
  Gathered gathered;
  const Chart peaks = peak_chart(results);
  if (peaks.across.low < peaks.across.high)
    gathered.add("peak", peaks);
  else
    gathered.add("peak", peak_bars(results));
  gathered.add("lost", lost_bars(results));
  return std::move(gathered).figures();
}

}  // namespace sharpmax::report
