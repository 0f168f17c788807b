#include <fmt/format.h>

#include <algorithm>

#include "report/figure/drawing/bars.h"
#include "report/figure/drawing/words.h"
#include "report/figure/figures.h"
#include "report/figure/gathered.h"
#include "report/figure/values.h"

namespace sharpmax::report {
namespace {

using Json = nlohmann::ordered_json;

// The range of every member's peak is tight by the same proof: all that hold are one sentence.
bool is_one_of_many(const Json& attack) {
  return attack.at("source") == "peak range" && attack.at("verdict") == "holds";
}

Bar bar_of(const Json& attack) {
  const std::string source = attack.at("source").get<std::string>();
  const bool stands = attack.at("verdict") == "holds";
  const double reached = number_in(attack.at("reached")).value_or(0.0);
  return {.name = fmt::format("{} ({})", attack.at("bound").get<std::string>(), source),
          .pieces = {{reached, stands ? Paint::green : Paint::vermillion}},
          .beside = {decimal(reached, 2), attack.at("verdict").get<std::string>()},
          .low = {},
          .high = {}};
}

}  // namespace

std::vector<Figure> attack_figures(const Json& results) {
  Bars bars{.title = "How near a search came to breaking each bound",
            .subtitle = {},
            .described = {},
            .legend = {},
            .across = {},
            .beside = {"reached", "verdict"},
            .bars = {},
            .mark = 1.0};
  bars.legend.push_back({"holds", Entry::Sample::box, {Paint::green, ""}});
  bars.legend.push_back({"no bound: a search went beyond it", Entry::Sample::box, {Paint::vermillion, ""}});
  double most = 1.0, many = 0.0;
  for (const Json& attack : results.at("attacks")) {
    if (is_one_of_many(attack)) {
      many += 1.0;
      continue;
    }
    bars.bars.push_back(bar_of(attack));
    most = std::max(most, bars.bars.back().pieces[0].length);
    bars.described += fmt::format("{}: {}. ", bars.bars.back().name, bars.bars.back().beside[0]);
  }
  bars.subtitle = "The largest value / bound that was found: 1 is tight, more breaks it.";
  if (many > 0.0)
    bars.subtitle +=
        fmt::format(" Not shown: {} of the peaks of single rules, which all hold.", plural(many, "bound"));
  bars.across = value_axis("largest value / bound", 0.0, 1.02 * most);
  Gathered gathered;
  gathered.add("bars", drawn(bars));
  return std::move(gathered).figures();
}

}  // namespace sharpmax::report
