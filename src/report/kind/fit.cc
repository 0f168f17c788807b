// The view of `sharpmax fit`: adaptive temperature refitted to a trained head, and how it does on other sets.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/kind/kinds.h"
#include "report/view/looks.h"

namespace sharpmax::report {
namespace {

struct Rule {
  const char *id, *name;
  Paint paint;
};
constexpr Rule kRules[] = {{"softmax", "softmax", Paint::vermillion},
                           {"published", "adaptive, published", Paint::purple},
                           {"refitted", "adaptive, refitted", Paint::blue},
                           {"entropy_target", "entropy_target", Paint::green}};

const Json* measured_at(const Json& results, double n, std::string_view rule) {
  for (const Json& one : results.at("comparison"))
    if (size_at(one, "n") == n && text_at(one, "rule") == rule) return &one;
  return nullptr;
}

std::vector<double> tested_sizes(const Json& results) {
  std::vector<double> sizes;
  for (const Json& one : results.at("comparison")) add_once(sizes, size_at(one, "n"));
  std::sort(sizes.begin(), sizes.end());
  return sizes;
}

// Where the refitted rule is farthest from `other`, upwards for sign 1: "up to 5.5 points better (4,096 items: ...)".
std::string farthest(const Json& results, const char* other, double sign) {
  const char* word = sign > 0.0 ? "better" : "worse";
  const Json *ours = nullptr, *theirs = nullptr;
  double most = 0.0;
  for (const double n : tested_sizes(results)) {
    const Json *a = measured_at(results, n, "refitted"), *b = measured_at(results, n, other);
    if (!a || !b) continue;
    const double gain = sign * (number_at(*a, "accuracy").value_or(0.0) - number_at(*b, "accuracy").value_or(0.0));
    if (gain <= most) continue;
    most = gain;
    ours = a, theirs = b;
  }
  if (!ours) return fmt::format("nowhere {}", word);
  const bool apart = number_at(*ours, "accuracy_low") > number_at(*theirs, "accuracy_high") ||
                     number_at(*ours, "accuracy_high") < number_at(*theirs, "accuracy_low");
  return fmt::format("up to {:.1f} points {} ({} items: {} against {}, intervals {})", 100.0 * most, word, count(size_at(*ours, "n")),
                     formatted(kShare, number_at(*ours, "accuracy")), formatted(kShare, number_at(*theirs, "accuracy")),
                     apart ? "apart" : "overlap");
}

void add_fit_verdict(View& view, const Json& results) {
  const Json& head = results.at("head");
  view.verdict.push_back(fmt::format("A head of arm {}, seed {}, trained under {} on at most {} items.", text_at(head, "arm"),
                                     count(head.at("seed").get<double>()), text_at(head, "normalizer"), count(size_at(head, "largest_size"))));
  constexpr std::pair<const char*, const char*> kOthers[] = {
      {"softmax", "plain softmax"}, {"published", "the published polynomial"}, {"entropy_target", "entropy_target"}};
  for (const auto& [rule, name] : kOthers)
    view.verdict.push_back(fmt::format("Adaptive temperature refitted to it is, against {}: {}, {}.", name, farthest(results, rule, 1.0),
                                       farthest(results, rule, -1.0)));
}

Section fit_accuracy(const Json& results) {
  const std::vector<double> sizes = tested_sizes(results);
  Section section{"accuracy", "Right answers on other sets", "Share of sets whose class is named, with 95\u00a0% intervals.", {}};
  if (sizes.empty()) return section;
  Chart chart{.title = "Right answers on sets that were not fitted", .subtitle = "Bands are 95\u00a0% intervals.", .across = counts_axis("items in the set", "n", sizes),
              .up = share_axis("accuracy"), .id = "accuracy-chart", .figure = "accuracy"};
  Table table{.id = "all-rows", .title = "All numbers",
              .columns = {{"rule"}, {"n", kCount}, {"sets", kCount}, {"accuracy", kShare}, {"low", kShare},
                          {"high", kShare}, {"entropy", fixed_to(3)}, {"peak weight", fixed_to(3)},
                          {"weight on right", fixed_to(3)}, {"temperature β", fixed_to(3)}},
              .tall = true};
  for (const Rule& rule : kRules) {
    Curve curve{.name = rule.name, .look = {rule.paint, ""}, .format = kShare};
    for (const double n : sizes) {
      const Json* one = measured_at(results, n, rule.id);
      if (!one) continue;
      const auto right = number_at(*one, "accuracy"), low = number_at(*one, "accuracy_low"), high = number_at(*one, "accuracy_high");
      if (right) curve.points.push_back({n, *right, low, high});
      table.rows.push_back({rule.name, n, number_at(*one, "sets"), right, low, high, number_at(*one, "entropy"), number_at(*one, "peak_weight"),
                            number_at(*one, "right_weight"), number_at(*one, "temperature")});
    }
    if (!curve.points.empty()) chart.curves.push_back(std::move(curve));
  }
  section.items = {{std::move(chart)}, {std::move(table)}};
  return section;
}

Section fit_temperatures(const Json& results) {
  constexpr std::tuple<const char*, const char*, Paint> kCurves[] = {
      {"published", "published", Paint::purple}, {"refitted", "refitted", Paint::blue}, {"mean_beta", "best", Paint::vermillion}};
  constexpr double kMostShown = 16.0;  // a polynomial may shoot off between points
  Chart chart{.title = "Best temperatures by entropy, and the fit", .subtitle = "β = 1/temperature of least loss over sets that softmax gets wrong, by their entropy.", .id = "temperature-chart", .figure = "entropy"};
  double widest = 1.0, most = 1.0;
  for (const auto& [field, name, paint] : kCurves) {
    Curve curve{.name = name, .look = {paint, ""}, .marker = std::string_view(field) == "mean_beta" ? Marker::large_dot : Marker::none};
    for (const Json& bin : results.at("bins")) {
      const double low = bin.at("entropy").at(0).get<double>(), high = bin.at("entropy").at(1).get<double>();
      const auto beta = number_at(bin, field);
      widest = std::max(widest, high);
      if (!beta || *beta > kMostShown) continue;
      curve.points.push_back({0.5 * (low + high), *beta});
      most = std::max(most, *beta);
    }
    if (!curve.points.empty()) chart.curves.push_back(std::move(curve));
  }
  Table table = fields_table({.id = "all-bins", .title = "Best temperatures by entropy", .sortable = false}, results.at("bins"),
                             {{{"nats, from", fixed_to(2)}, [](const Json& bin) { return Cell(number_in(bin.at("entropy").at(0))); }},
                              {{"to", fixed_to(2)}, [](const Json& bin) { return Cell(number_in(bin.at("entropy").at(1))); }},
                              {"sets", kCount, "points"}, {{"best β", fixed_to(3), "mean of the β of least loss"}, "mean_beta"},
                              {"refitted", fixed_to(3)}, {"published", fixed_to(3)},
                              {{"residual", signed_to(3), "best less refitted"}, "mean_residual"}, {"rms", fixed_to(3), "rms_residual"}});
  chart.across = value_axis("entropy under softmax, nats", 0.0, 1.02 * widest);
  chart.across.format = fixed_to(2);
  chart.across.symbol = "entropy";
  chart.up = value_axis("β", 0.0, 1.05 * most);
  chart.reference = Reference{.name = "β = 1: softmax", .points = {{0.0, 1.0, {}, {}}, {1.02 * widest, 1.0, {}, {}}}};
  Section section{"temperature", "Best temperatures by entropy", "Each point is the mean over the sets of a bin; curves are the polynomials in its middle.", {}, /*brief=*/true};
  if (table.rows.empty()) return section;
  section.items.push_back({std::move(chart)});
  section.items.push_back({std::move(table)});
  const auto residual = [&](const char* rule) { return formatted(fixed_to(2), number_at(results.at(rule), "rms_residual")); };
  const auto tried = [&](const char* setting) { return plain_number(results.at("settings").at(setting).get<double>()); };
  section.items.push_back({Note{fmt::format("β = 1/temperature. Of {}, {} are best at β = {} and {} at {}, the ends of what was tried: these would go further.",
                                            plural(results.at("points").get<double>(), "fitted set"), count(results.at("at_least_beta").get<double>()),
                                            tried("least_beta"), count(results.at("at_largest_beta").get<double>()), tried("largest_beta"))}});
  section.items.push_back({Note{fmt::format("Residuals of all sets: rms {} refitted, {} published. Entropy explains {} of the variance of the best β.",
                                            residual("refitted"), residual("published"), formatted(kShare, number_at(results, "explained")))}});
  return section;
}

// Where the rule is not softmax: the polynomial exceeds 1 and the entropy the threshold.
std::string where_it_acts(const Json& rule, double looked_up_to) {
  std::string spans;
  double last = 0.0;
  for (const Json& span : rule.at("above_one")) {
    const double low = std::max(span.at(0).get<double>(), rule.at("threshold").get<double>()), high = span.at(1).get<double>();
    if (high <= low) continue;
    spans += fmt::format("{} {} to {}", spans.empty() ? "" : " and", decimal(low), decimal(high));
    last = high;
  }
  if (spans.empty()) return "nowhere: it is plain softmax";
  if (last >= looked_up_to) return fmt::format("from{} nats, as far as was looked", spans);
  return fmt::format("from{} nats; beyond, from about {} equally weighted items on, it is exactly plain softmax", spans, count(std::exp(last)));
}

Section fit_where(const Json& results) {
  const double looked_up_to = results.at("looked_at").at(1).get<double>();
  const Json& fitted = results.at("entropy");
  std::vector<Item> items;
  for (const auto& [name, field] : {std::pair("Published", "published"), std::pair("Refitted", "refitted")})
    items.push_back({Note{fmt::format("{}: {}.", name, where_it_acts(results.at(field), looked_up_to))}});
  items.push_back({Note{fmt::format("The fitted sets have {} to {} nats. Outside of these the refitted polynomial is guesswork.",
                                    formatted(fixed_to(2), number_in(fitted.at(0))), formatted(fixed_to(2), number_in(fitted.at(1))))}});
  return {"where", "Where they sharpen", "", std::move(items), /*brief=*/true};
}

// For a terminal: a line per size, a column per rule, in per cent.
Section fit_compared(const Json& results) {
  Table table{.id = "compared", .title = "Right answers", .columns = {{"items", kShortCount}}};
  for (const Rule& rule : kRules) table.columns.push_back({rule.id, kShare});
  const auto hundredths = [](const Json& one, const char* field) {
    const auto share = number_at(one, field);
    return !share ? std::string(kNone) : *share == 1.0 ? "100" : fmt::format("{:.1f}", 100.0 * *share);
  };
  double sets = 0.0;
  for (const double n : tested_sizes(results)) {
    std::vector<Cell> row{n};
    for (const Rule& rule : kRules) {
      const Json* one = measured_at(results, n, rule.id);
      if (one) sets = one->at("sets").get<double>();
      row.push_back(!one ? Cell() : Cell(number_at(*one, "accuracy"), fmt::format("{} {:>9}", hundredths(*one, "accuracy"),
                    hundredths(*one, "accuracy_low") + "-" + hundredths(*one, "accuracy_high"))));
    }
    table.rows.push_back(std::move(row));
  }
  return {"compared", fmt::format("Right answers in %, with 95\u00a0% intervals, over {} other sets of each size", count(sets)), "", {{std::move(table)}},
          /*brief=*/true, /*page=*/false};
}

Section fit_counts(const Json& results) {
  return {"counts", "Sets looked at", "The fit is over sets that the head gets wrong under softmax.",
          {{fields_table({.id = "all-counts", .title = "Sets looked at", .sortable = false}, results.at("counts"),
                         {{"items", kCount, "n"}, {"sets", kCount}, {"wrong under softmax", kCount, "wrong"},
                          {"of those right at their best", kCount, "mended"}})}},
          /*brief=*/true};
}

}  // namespace

View fit_view(const Json& results) {
  View view = begun_view(results);
  const Json& head = results.at("head");
  view.kind = "a refitted temperature";
  view.title = fmt::format("{}: adaptive temperature, refitted", file_name(text_at(head, "file")));
  view.label = "fit of " + file_name(text_at(head, "file"));
  view.facts.emplace_back("head", text_at(head, "file"));
  add_fit_verdict(view, results);
  const std::vector<double> sizes = tested_sizes(results);
  for (const Rule& rule : kRules)
    if (const Json* one = sizes.empty() ? nullptr : measured_at(results, sizes.back(), rule.id))
      view.tiles.push_back({formatted(kShare, number_at(*one, "accuracy")), rule.name, fmt::format("right at {} items", count(sizes.back())), rule.paint});
  Section use{"use", "How to use it", "", {{CommandLine{"The refitted rule, highest degree first, as --normalizers takes it:",
                                                        text_at(results.at("refitted"), "normalizer")}}}, /*brief=*/true};
  add_sections(view, {fit_accuracy(results), fit_compared(results), fit_temperatures(results), fit_where(results), std::move(use),
                      fit_counts(results)});
  return view;
}

}  // namespace sharpmax::report
