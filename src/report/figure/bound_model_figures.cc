#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/svg/drawn.h"
#include "report/view/format.h"
#include "report/figure/figures.h"
#include "report/figure/gathered.h"
#include "report/figure/values.h"

namespace sharpmax::report {
namespace {

using Json = nlohmann::ordered_json;

struct Ends {
  double least = 0.0, most = 0.0;
};

Ends ends_of(const std::vector<GridCell>& cells) {
  Ends ends;
  for (const GridCell& cell : cells) {
    if (!cell.value || !(*cell.value > 0.0)) continue;
    ends.least = ends.least == 0.0 ? *cell.value : std::min(ends.least, *cell.value);
    ends.most = std::max(ends.most, *cell.value);
  }
  return ends;
}

}  // namespace

std::vector<Figure> bound_model_figures(const Json& results) {
  Grid grid{
      .title = fmt::format("What the weights of {} allow: the largest spread of scores of every head",
                           file_name(results.at("model").at("file").get<std::string>())),
      .subtitle = results.at("verdict").get<std::string>(),
      .described = results.at("verdict").get<std::string>(),
      .ramp = {},
      .unknown = {},
      .cells = {}};
  for (const Json& head : results.at("heads")) {
    const auto spread = number_in(head.at("spread"));
    if (!spread) grid.unknown = "no bound";
    grid.cells.push_back({head.at("layer").get<double>(), head.at("head").get<double>(), spread, 0.0});
  }
  const Ends ends = ends_of(grid.cells);
  for (GridCell& cell : grid.cells)
    if (cell.value && *cell.value > 0.0 && ends.most > ends.least)
      cell.share = std::log(*cell.value / ends.least) / std::log(ends.most / ends.least);
  grid.ramp = {"spread " + decimal(ends.least, 1),
               fmt::format("{}, by its logarithm", decimal(ends.most, 1))};
  Gathered gathered;
  gathered.add("heads", drawn(grid));
  return std::move(gathered).figures();
}

}  // namespace sharpmax::report
