// Of the view of `sharpmax train`: how each model was trained, and which normalizers were chosen for its heads.
#include <fmt/format.h>

#include <algorithm>

#include "report/kind/kinds.h"
#include "report/kind/reading.h"
#include "report/view/looks.h"

namespace sharpmax::report {
namespace {

constexpr Format kPercent{Format::percent}, kWhole{Format::count};

}  // namespace

// Tables of normalizers per head, and what they were chosen by.
Section tables_section(const Json& results) {
  Table table{.id = "all-tables",
              .title = "Normalizers per head",
              .columns = {{.name = "arm", .code = true}, {.name = "seed", .format = kWhole}, {.name = "layer", .format = kWhole},
                          {.name = "head", .format = kWhole}, {.name = "normalizer", .code = true}},
              .rows = {}};
  Table chosen{.id = "all-choices",
               .title = "What they were chosen by",
               .columns = {{.name = "arm", .code = true}, {.name = "seed", .format = kWhole}, {.name = "tried", .format = kWhole},
                           {.name = "answers", .format = kWhole}, {.name = "own loss", .format = fixed_to(4)}, {.name = "loss", .format = fixed_to(4)},
                           {.name = "own right", .format = kPercent}, {.name = "right", .format = kPercent}},
               .rows = {}};
  double largest = 0.0;
  for (const Json& one : results.at("tables")) {
    for (const Json& head : one.at("heads"))
      table.rows.push_back({text_at(one, "arm"), number_at(one, "seed"), number_at(head, "layer"), number_at(head, "head"), text_at(head, "normalizer")});
    chosen.rows.push_back({text_at(one, "arm"), number_at(one, "seed"), number_at(one, "trials"), number_at(one, "answers"), number_at(one, "loss_own"),
                           number_at(one, "loss"), number_at(one, "accuracy_own"), number_at(one, "accuracy")});
    for (const Json& size : one.at("sizes")) largest = std::max(largest, size.get<double>());
  }
  return {"per-head", "Normalizers per head",
          fmt::format("Chosen by the loss at sizes up to {} items; the rows per-head judge them at all sizes.", count(largest)),
          {{std::move(table)}, {std::move(chosen)}}, /*brief=*/true};
}

Section training_section(const Json& results) {
  Table table{.id = "all-models",
              .title = "Trained models",
              .columns = {{.name = "arm", .code = true}, {.name = "seed", .format = kWhole}, {.name = "file", .code = true},
                          {.name = "parameters", .format = kWhole}, {.name = "steps", .format = kWhole}, {.name = "places read", .format = kWhole},
                          {.name = "last loss", .format = fixed_to(4)}, {.name = "normalizer of the last layer", .code = true}},
              .rows = {}};
  Chart chart{.title = "Loss in training",
              .subtitle = "Mean cross-entropy of an answer, first seed of each arm.",
              .across = {}, .up = {}, .curves = {},
              .id = "loss-chart"};
  std::vector<std::string> drawn;
  std::vector<double> losses;
  double steps = 1.0;
  for (const Json& model : results.at("models")) {
    const std::string arm = text_at(model, "arm");
    const Json& normalizers = model.at("normalizers");
    table.rows.push_back({arm, number_at(model, "seed"), text_at(model, "file"), number_at(model, "parameters"), number_at(model, "steps"),
                          number_at(model, "tokens"), number_at(model, "loss"),
                          normalizers.empty() ? Cell() : Cell(last_of(normalizers).get<std::string>())});
    Curve curve{.name = arm, .look = {nth_paint(drawn.size()), ""}, .points = {}, .marker = Marker::none, .format = fixed_to(3), .code = true};
    for (const Json& point : model.at("loss_curve"))
      if (const auto loss = number_in(point.at(1)); loss && *loss > 0.0) {
        curve.points.push_back({point.at(0).get<double>(), *loss, {}, {}});
        losses.push_back(*loss);
        steps = std::max(steps, curve.points.back().at);
      }
    if (holds(drawn, arm)) continue;
    drawn.push_back(arm);
    chart.curves.push_back(std::move(curve));
  }
  chart.across = value_axis("steps", 0.0, steps);
  chart.across.format = kWhole;
  chart.up = decade_axis("loss, nats per answer", losses);
  return {"training", "How each arm was trained", "", {{std::move(chart)}, {std::move(table)}}};
}

}  // namespace sharpmax::report
