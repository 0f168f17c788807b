#include <fmt/format.h>

#include <algorithm>

#include "report/svg/drawn.h"
#include "report/view/axes.h"
#include "report/view/format.h"
#include "report/figure/drawings.h"
#include "report/figure/figures.h"
#include "report/figure/gathered.h"
#include "report/figure/values.h"

namespace sharpmax::report {
namespace {

using Json = nlohmann::ordered_json;

// What a trial did against nothing on the part held out; null where it was not tested there.
const Json& held_out(const Json& trial) {
  static const Json none;
  if (!trial.contains("against_nothing") || !trial.at("against_nothing").contains("held_out")) return none;
  return trial.at("against_nothing").at("held_out");
}

const Json* chosen_in(const Json& results) {
  if (!results.contains("answer") || !results.at("answer").at("chosen").is_string()) return nullptr;
  for (const Json& trial : results.at("trials"))
    if (trial.at("rule") == results.at("answer").at("chosen") && !held_out(trial).is_null()) return &trial;
  return nullptr;
}

std::string with_sign(double value) { return fmt::format("{:+.3f}", value); }

Chart loss_before_after(const Json& trial, double longest) {
  Chart chart{.title = "Loss by position, before and after",
              .subtitle =
                  "Held-out text, nats a token, by how many tokens stand before it. The band is the "
                  "95\u00a0% interval of the "
                  "change, token by token.",
              .across = {},
              .up = {},
              .curves = {}};
  Curve before{.name = "nothing", .look = {Paint::grey, ""}, .points = {}, .marker = Marker::ring, .end = {}};
  Curve after{
      .name = trial.at("rule").get<std::string>(), .look = {Paint::green, ""}, .points = {}, .end = {}};
  std::vector<double> sizes;
  for (const Json& bucket : held_out(trial).at("by_position")) {
    const auto plain = number_in(bucket.at("plain")), change = number_in(bucket.at("change"));
    const auto low = number_in(bucket.at("low")), high = number_in(bucket.at("high"));
    if (!plain || !change) continue;
    const double at = std::min(bucket.at("to").get<double>(), longest);
    sizes.push_back(at);
    before.points.push_back({at, *plain, {}, {}});
    after.points.push_back({at, *plain + *change, {}, {}});
    if (low && high) after.points.back().low = *plain + *low, after.points.back().high = *plain + *high;
    before.end = decimal(*plain, 3);
    after.end = decimal(*plain + *change, 3);
  }
  chart.curves = {std::move(before), std::move(after)};
  chart.across = size_axis(kTokensBefore, sizes);
  chart.up = loss_axis(chart.curves);
  return chart;
}

std::string task_bars(const Json& trial) {
  Bars bars{.title = "Right answers, before and after",
            .subtitle = "Held-out questions, by the length of the question in tokens.",
            .described = {},
            .legend = {},
            .across = share_axis("share of questions answered right"),
            .beside = {"right", "of"},
            .bars = {},
            .mark = {}};
  const std::string rule = trial.at("rule").get<std::string>();
  for (const Json& at : held_out(trial).at("by_length")) {
    const double questions = at.at("questions").get<double>();
    const auto length = number_in(at.at("length"));
    if (!(questions > 0.0)) continue;
    const auto add = [&](const std::string& name, const char* field, Paint paint) {
      const double right = at.at(field).get<double>();
      bars.bars.push_back({.name = fmt::format("{}{}", length ? count(*length) + " tokens, " : "", name),
                           .pieces = {{right / questions, paint}},
                           .beside = {count(right), count(questions)},
                           .low = {},
                           .high = {}});
      bars.described += fmt::format("{}: {} of {}. ", bars.bars.back().name, count(right), count(questions));
    };
    add("nothing", "plain", Paint::grey);
    add(rule, "rule", Paint::green);
  }
  return drawn(bars);
}

std::string trial_bars(const Json& results, const Json* chosen) {
  Bars bars{.title = "What every rule costs on text and brings on the task",
            .subtitle =
                "Held out: the change of the loss in nats a token, with 95\u00a0% intervals, and the share "
                "of questions "
                "answered right.",
            .described = {},
            .legend = {},
            .across = {},
            .beside = {"loss", "right"},
            .bars = {},
            .mark = 0.0};
  double low = 0.0, high = 0.0;
  for (const Json& trial : results.at("trials")) {
    const Json& found = held_out(trial);
    const auto change = found.is_null() ? std::nullopt : number_in(found.at("text").at("change"));
    if (!change) continue;
    const Json& task = found.at("task");
    const double questions = task.at("questions").get<double>();
    Bar bar{
        .name = trial.at("rule").get<std::string>(),
        .pieces = {{*change, *change > 0.0 ? Paint::vermillion : Paint::green}},
        .beside = {with_sign(*change),
                   questions > 0.0 ? percent(task.at("rule").get<double>() / questions) : std::string(kNone)},
        .low = number_in(found.at("text").at("low")),
        .high = number_in(found.at("text").at("high")),
        .bold = &trial == chosen};
    low = std::min({low, *change, bar.low.value_or(0.0)});
    high = std::max({high, *change, bar.high.value_or(0.0)});
    bars.described += fmt::format("{}: {}, right {}. ", bar.name, bar.beside[0], bar.beside[1]);
    bars.bars.push_back(std::move(bar));
  }
  if (chosen) bars.subtitle += " Bold: the one chosen on the other part.";
  bars.across = value_axis("change of the loss, nats a token", 1.04 * low, 1.04 * high);
  return drawn(bars);
}

}  // namespace

std::vector<Figure> fix_figures(const Json& results) {
  const Json* const chosen = chosen_in(results);
  Gathered gathered;
  if (chosen) {
    gathered.add("by-position",
                 loss_before_after(*chosen, results.at("settings").at("length").get<double>()));
    gathered.add("by-length", task_bars(*chosen));
  }
  gathered.add("trials", trial_bars(results, chosen));
  return std::move(gathered).figures();
}

}  // namespace sharpmax::report
