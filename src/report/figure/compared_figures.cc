#include <algorithm>
#include <string_view>

#include "report/figure/audit_drawings.h"
#include "report/figure/bound_drawings.h"
#include "report/figure/figures.h"
#include "report/figure/gathered.h"
#include "report/figure/losses_drawings.h"

namespace sharpmax::report {
namespace {

using Json = nlohmann::ordered_json;

struct Together {
  std::string_view schema;
  const char* name;
  Chart (*chart)(std::span<const Json> results);
};
constexpr Together kTogether[] = {{"sharpmax.bound.spread/1", "lost", lost_chart},
                                  {"sharpmax.perplexity/1", "by-position", loss_chart},
                                  {"sharpmax.audit/1", "by-length", blunt_chart_of}};

}  // namespace

std::vector<Figure> compared_figures(std::span<const Json> results) {
  Gathered gathered;
  for (const Together& together : kTogether)
    if (std::all_of(results.begin(), results.end(),
                    [&](const Json& one) { return one.at("schema") == together.schema; }))
      gathered.add(together.name, together.chart(results));
  return std::move(gathered).figures();
}

}  // namespace sharpmax::report
