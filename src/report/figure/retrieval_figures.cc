#include "report/figure/figures.h"

namespace sharpmax::report {

std::vector<Figure> retrieval_figures(const nlohmann::ordered_json&) { return {}; }

}  // namespace sharpmax::report
