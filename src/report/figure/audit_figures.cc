#include "report/figure/audit_drawings.h"
#include "report/figure/figures.h"
#include "report/figure/gathered.h"

namespace sharpmax::report {
namespace {

using Json = nlohmann::ordered_json;

struct Analysis {
  const char* name;
  const char* section;
  Chart (*chart)(const Json& analysis);
};
constexpr Analysis kAnalyses[] = {{"distance-length", "distance_length", distance_length_chart},
                                  {"distance-top", "distance_top", distance_top_chart},
                                  {"critical-top", "critical_top", critical_chart},
                                  {"separability", "separability", separability_chart},
                                  {"gradient", "gradient", gradient_chart}};

}  // namespace

std::vector<Figure> audit_figures(const Json& results) {
  Gathered gathered;
  if (results.contains("attention")) {
    const Json& attention = results.at("attention");
    gathered.add("heads", drawn(peak_grid(attention)));
    gathered.add("blunting", drawn(blunting_grid(attention)));
    gathered.add("by-length", blunt_chart(attention));
    gathered.add("medians", median_chart(attention));
  }
  if (results.contains("analysis"))
    for (const Analysis& one : kAnalyses)
      if (results.at("analysis").contains(one.section))
        gathered.add(one.name, one.chart(results.at("analysis")));
  if (results.contains("probe")) gathered.add("probe", probe_chart(results.at("probe")));
  return std::move(gathered).figures();
}

}  // namespace sharpmax::report
