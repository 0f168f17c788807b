#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/figure/audit_drawings.h"
#include "report/figure/drawing/words.h"
#include "report/figure/values.h"

namespace sharpmax::report {
namespace {

using Json = nlohmann::ordered_json;

GridCell cell_of(const Json& head) {
  return {.layer = head.at("layer").get<double>(), .head = head.at("head").get<double>(), .value = {}};
}

double longest(const Json& attention) { return last_of(attention.at("lengths")).get<double>(); }

std::string blunt_sentence(const Json& attention) {
  return fmt::format("{} of {} blunt: median peak below {}.",
                     count(last_of(attention.at("blunt_heads")).get<double>()),
                     plural(static_cast<double>(attention.at("heads").size()), "head"),
                     plain_number(attention.at("thresholds").at("blunt").get<double>()));
}

}  // namespace

HeadGrid peak_grid(const Json& attention) {
  HeadGrid grid{.title = {},
                .subtitle = {},
                .described = {},
                .ramp = {"0", "1, by its square root"},
                .unknown = {},
                .cells = {}};
  if (attention.at("lengths").empty()) return grid;
  grid.title = fmt::format("Every head at {} tokens: the largest weight outside the first token",
                           count(longest(attention)));
  grid.subtitle =
      "One cell is one head, coloured by its median over rows. Dark heads spread their weight thin. " +
      blunt_sentence(attention);
  grid.described = blunt_sentence(attention);
  for (const Json& head : attention.at("heads")) {
    GridCell cell = cell_of(head);
    cell.value = number_in(last_of(head.at("peak_outside").at("median")));
    cell.share = std::sqrt(std::max(0.0, cell.value.value_or(0.0)));
    if (!cell.value) grid.unknown = "not measured";
    grid.cells.push_back(cell);
  }
  return grid;
}

HeadGrid blunting_grid(const Json& attention) {
  HeadGrid grid{.title = "The length at which each head goes blunt, measured or foreseen",
                .subtitle =
                    "Where the median peak outside the first token falls below the threshold. Dark: soon; "
                    "bright: late.",
                .described = {},
                .ramp = {},
                .unknown = {},
                .cells = {}};
  if (attention.at("lengths").empty()) return grid;
  // Eight times the greatest length is as far as a forecast is worth telling apart.
  const double least = attention.at("lengths").at(0).get<double>(), most = 8.0 * longest(attention);
  grid.ramp = {count(least), fmt::format("{} tokens and more", count(most))};
  double known = 0.0;
  for (const Json& head : attention.at("heads")) {
    GridCell cell = cell_of(head);
    cell.value = number_in(head.at("blunting").at("length"));
    if (cell.value) {
      known += 1.0;
      cell.share =
          most > least ? std::log(std::max(least, *cell.value) / least) / std::log(most / least) : 1.0;
    } else {
      grid.unknown = "none foreseen";
    }
    grid.cells.push_back(cell);
  }
  grid.described = fmt::format("{} of {} go blunt or are foreseen to.", count(known),
                               plural(static_cast<double>(grid.cells.size()), "head"));
  return grid;
}

}  // namespace sharpmax::report
