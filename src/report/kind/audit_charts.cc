// What is drawn of an audit by length and by question; and several audits: blunt heads and medians over heads by length, and two of one
// shape head by head.
#include "report/kind/audit_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "report/view/format.h"
#include "report/view/looks.h"

namespace sharpmax::report {
namespace {

// values: one for each size, null where there is none.
Curve curve_over(const Json& sizes, const Json& values, Curve curve) {
  for (std::size_t i = 0; i < sizes.size(); ++i) add_point(curve, sizes.at(i).get<double>(), number_in(values.at(i)));
  return curve;
}

Curve blunt_curve(const Json& attention, std::string name, Look look) {
  Json shares = Json::array();
  for (const Json& blunt : attention.at("blunt_heads"))
    shares.push_back(blunt.get<double>() / static_cast<double>(attention.at("heads").size()));
  return curve_over(attention.at("lengths"), shares, {.name = std::move(name), .look = look, .format = kShare});
}

// The head that looks best at the longest length, at every length.
std::optional<Curve> followed(const Json& probe, const Json& sizes) {
  const Json& lengths = probe.at("lengths");
  if (last_of(lengths).at("best_heads").empty()) return std::nullopt;
  const Json& best = last_of(lengths).at("best_heads").at(0);
  const auto layer = best.at("layer").get<std::size_t>(), head = best.at("head").get<std::size_t>();
  const std::size_t place = layer * probe.at("heads").get<std::size_t>() + head;
  Json weights = Json::array();
  for (const Json& at : lengths) weights.push_back(at.at("answering_weight").at(place));
  return curve_over(sizes, weights, {.name = fmt::format("weight, head {}.{}", layer, head), .look = {Paint::green, "9 4"},
                                     .marker = Marker::ring, .format = kShare});
}

}  // namespace

std::vector<Mark> trained_mark(const Json& attention) {
  const auto trained = number_at(attention, "trained_context");
  return trained ? std::vector<Mark>{{*trained, "trained length"}} : std::vector<Mark>{};
}

Chart blunt_chart(const Json& attention) {
  const Json& lengths = attention.at("lengths");
  Chart chart{.title = "How many heads are blunt, by length",
              .subtitle = fmt::format("Of {}. Blunt: a median peak outside the first token below {}.",
                                      plural(static_cast<double>(attention.at("heads").size()), "head"),
                                      plain_number(attention.at("thresholds").at("blunt").get<double>())),
              .across = tokens_axis(numbers_in(lengths)),
              .up = share_axis("heads that are blunt"),
              .marks = trained_mark(attention),
              .id = "blunt-chart",
              .figure = "by-length"};
  if (lengths.size() > 1 && !attention.at("heads").empty()) chart.curves = {blunt_curve(attention, "blunt heads", {Paint::vermillion, ""})};
  return chart;
}

Chart median_chart(const Json& attention) {
  const Json &lengths = attention.at("lengths"), &medians = attention.at("median_over_heads");
  Chart chart{.title = "The median head, by length",
              .subtitle = "Medians over heads of the medians over rows. “Outside” leaves the first token out, on which many heads park their weight.",
              .across = tokens_axis(numbers_in(lengths)),
              .up = share_axis("weight"),
              .marks = trained_mark(attention),
              .id = "median-chart",
              .figure = "medians"};
  constexpr std::tuple<const char*, const char*, Paint> kCurves[] = {
      {"peak", "peak", Paint::grey}, {"first", "first token", Paint::purple}, {"peak_outside", "peak outside", Paint::vermillion}};
  for (const auto& [field, name, paint] : kCurves)
    chart.curves.push_back(curve_over(lengths, medians.at(field), {.name = name, .look = {paint, ""}, .format = fixed_to(2)}));
  return chart;
}

Chart probe_chart(const Json& probe) {
  Json sizes = Json::array();
  for (const Json& at : probe.at("lengths")) sizes.push_back(at.at("length"));
  Chart chart{.title = fmt::format("Questions with known answers: probe “{}”", text_at(probe, "kind")),
              .subtitle = "How often the greedy answer matches, with 95\u00a0% intervals, and how much weight goes from the tokens of the right "
                          "answer to the item that holds it, in the head that looks best.",
              .across = tokens_axis(numbers_in(sizes)),
              .up = share_axis("share"),
              .id = "probe-chart",
              .figure = "probe"};
  if (sizes.empty()) return chart;
  if (auto curve = followed(probe, sizes)) chart.curves.push_back(std::move(*curve));
  Curve right{.name = "right answers", .look = {Paint::vermillion, ""}, .format = kShare};
  for (const Json& at : probe.at("lengths"))
    right.points.push_back({at.at("length").get<double>(), at.at("share").get<double>(), number_at(at, "low"), number_at(at, "high")});
  chart.curves.push_back(std::move(right));
  return chart;
}

namespace {

Chart blunt_chart_of(std::span<const Compared> audits) {
  Chart chart{.title = "How many heads are blunt, by length",
              .subtitle = "Blunt: a median peak outside the first token below the audit’s threshold.",
              .up = share_axis("heads that are blunt"),
              .id = "compared-blunt-chart",
              .figure = "by-length"};
  std::vector<double> lengths;
  for (const Compared& one : audits) {
    const Json& attention = one.results->at("attention");
    if (attention.at("heads").empty()) continue;
    for (const double length : numbers_in(attention.at("lengths"))) lengths.push_back(length);
    chart.curves.push_back(blunt_curve(attention, one.named.own, one.named.look));
  }
  chart.across = tokens_axis(lengths);
  return chart;
}

constexpr std::pair<const char*, const char*> kMedians[] = {
    {"peak outside", "peak_outside"}, {"entropy, nats", "entropy"},           {"entropy outside, nats", "entropy_outside"},
    {"peak", "peak"},                 {"weight of the first token", "first"}, {"spread of scores", "spread"}};

std::size_t place_of(const Json& attention, double n) {
  const std::vector<double> lengths = numbers_in(attention.at("lengths"));
  return static_cast<std::size_t>(std::find(lengths.begin(), lengths.end(), n) - lengths.begin());
}

Section median_section(std::span<const Compared> audits) {
  Choice choice{"Statistic", Choice::Style::select, 0, "", {}};
  for (const auto& [title, field] : kMedians) {
    Chart chart{.title = fmt::format("The median head: {}", title), .subtitle = "Medians over heads of the medians over rows.", .id = "compared-medians-chart"};
    std::vector<double> lengths;
    double most = 0.0;
    for (const Compared& one : audits) {
      const Json& attention = one.results->at("attention");
      const Json& medians = attention.at("median_over_heads");
      if (!medians.contains(field)) continue;
      Curve curve{.name = one.named.own, .look = one.named.look};
      const std::vector<double> own = numbers_in(attention.at("lengths"));
      for (std::size_t i = 0; i < own.size(); ++i)
        if (const auto value = at_place(medians.at(field), i)) {
          curve.points.push_back({own[i], *value});
          lengths.push_back(own[i]);
          most = std::max(most, *value);
        }
      chart.curves.push_back(std::move(curve));
    }
    chart.across = counts_axis("tokens", "", lengths);
    chart.up = value_axis(title, 0.0, 1.05 * most);
    choice.options.push_back({title, {{std::move(chart)}}});
  }
  return {"compared-medians", "The median head", "Medians over heads of the medians over rows.", {{std::move(choice)}}};
}

// Two audits of models of one shape, at the lengths that both have.
struct Pair {
  const Compared *first, *second;
  std::vector<double> lengths;
  std::vector<std::pair<const Json*, const Json*>> heads;

  std::string name() const { return fmt::format("{} less {}", second->named.number, first->named.number); }
};

std::optional<Pair> pair_of(const Compared& first, const Compared& second) {
  const Json &a = first.results->at("attention"), &b = second.results->at("attention");
  Pair pair{&first, &second, numbers_in(a.at("lengths")), {}};
  std::erase_if(pair.lengths, [&](double n) { return !holds(numbers_in(b.at("lengths")), n); });
  std::map<std::pair<double, double>, const Json*> others;
  for (const Json& head : b.at("heads")) others[{head.at("layer").get<double>(), head.at("head").get<double>()}] = &head;
  for (const Json& head : a.at("heads")) {
    const auto other = others.find({head.at("layer").get<double>(), head.at("head").get<double>()});
    if (other == others.end()) return std::nullopt;
    pair.heads.emplace_back(&head, other->second);
  }
  if (pair.lengths.empty() || pair.heads.empty() || pair.heads.size() != others.size()) return std::nullopt;
  return pair;
}

// [head][length] of one of the two.
HeadLayer::Values values_of(const Pair& pair, const char* field, bool second) {
  const Json& attention = (second ? pair.second : pair.first)->results->at("attention");
  HeadLayer::Values values;
  for (const auto& [a, b] : pair.heads) {
    auto& line = values.emplace_back();
    for (const double n : pair.lengths) line.push_back(at_place((second ? b : a)->at(field).at("median"), place_of(attention, n)));
  }
  return values;
}

std::vector<HeadLayer> difference_layers(const Pair& pair, const char* title, const char* field) {
  const std::string id = field;
  HeadLayer first{.id = id + "_1", .name = title, .values = values_of(pair, field, false)};
  HeadLayer second{.id = id + "_2", .name = title, .values = values_of(pair, field, true)};
  HeadLayer less{.id = id, .name = title, .format = signed_to(3), .values = second.values, .scale = HeadLayer::Scale::diverging, .most = 1e-9};
  less.meaning = fmt::format("Orange: larger in {}. Blue: smaller.", pair.second->named.own);
  for (std::size_t i = 0; i < less.values.size(); ++i)
    for (std::size_t k = 0; k < pair.lengths.size(); ++k) {
      auto& value = less.values[i][k];
      const auto before = first.values[i][k];
      value = value && before ? std::optional(*value - *before) : std::nullopt;
      less.most = std::max(less.most, std::abs(value.value_or(0.0)));
    }
  less.ramp = {change(-less.most), change(less.most) + ", by the square root"};
  return {std::move(less), std::move(first), std::move(second)};
}

Heads difference_heads(const Pair& pair) {
  const std::string one = pair.first->named.own, other = pair.second->named.own;
  Heads made{.id = "compared-head", .title = fmt::format("{} less {}", other, one), .lengths = pair.lengths};
  for (const auto& [a, b] : pair.heads)
    made.heads.push_back({a->at("layer").get<double>(), a->at("head").get<double>(), fmt::format("{} → {}", text_at(*a, "kind"), text_at(*b, "kind"))});
  made.words = "{kind}";
  for (const auto& [title, field] : kMedians) {
    if (!pair.heads[0].first->contains(field) || !pair.heads[0].second->contains(field)) continue;
    for (HeadLayer& layer : difference_layers(pair, title, field)) made.layers.push_back(std::move(layer));
    made.words += fmt::format("; {}: {{{}_1}} in {}, {{{}_2}} in {}, {{{}}}", title, field, pair.first->named.number, field, pair.second->named.number, field);
  }
  made.words += ".";
  for (const Compared* result : {pair.first, pair.second})
    made.links.emplace_back("open in " + result->named.own, fmt::format("{}/head-{{head}}", result->named.number));
  return made;
}

// By the first statistic at the greatest length; the explorer opens the first of them.
Table changed_table(const Pair& pair, Heads& heads) {
  constexpr std::size_t kMost = 50;
  const std::string at = short_count(pair.lengths.back());
  Table table{.id = "changed-heads", .title = "Heads that changed most",
              .columns = {on_screen("head"), in_csv("layer", kCount), in_csv("head of the layer", kCount), {"kind"},
                          {fmt::format("{} {}, {}", heads.layers[0].name, at, pair.first->named.number), fixed_to(3)},
                          {fmt::format("{} {}, {}", heads.layers[0].name, at, pair.second->named.number), fixed_to(3)},
                          {"difference", signed_to(3)}},
              .tall = true};
  std::vector<std::size_t> order(heads.heads.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto size = [&](std::size_t i) { return std::abs(heads.layers[0].values[i].back().value_or(0.0)); };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return size(a) > size(b); });
  heads.first = order[0];
  for (const std::size_t i : order) {
    if (table.rows.size() == kMost) break;
    const Heads::Name& head = heads.heads[i];
    const std::string name = fmt::format("{:.0f}.{:.0f}", head.layer, head.head);
    table.rows.push_back({Cell(head.layer + head.head / 1e4, name), head.layer, head.head, head.kind, heads.layers[1].values[i].back(),
                          heads.layers[2].values[i].back(), heads.layers[0].values[i].back()});
    table.links.push_back(fmt::format("{}/head-{}", pair.second->named.number, name));
  }
  return table;
}

// Every two that have the same heads and a length in common.
Section difference_section(std::span<const Compared> audits) {
  Section section{"compared-heads", "Head by head",
                  "One cell is one head, a layer to a line: how much larger the chosen statistic is in the second result than in the first. Choose a "
                  "cell by click, or by arrow keys and Enter, to open that head in either.",
                  {}};
  Choice choice{"Results", Choice::Style::select, 0, "", {}};
  for (std::size_t i = 0; i < audits.size(); ++i)
    for (std::size_t k = i + 1; k < audits.size(); ++k)
      if (const auto pair = pair_of(audits[i], audits[k])) {
        Heads heads = difference_heads(*pair);
        if (heads.layers.empty()) continue;
        Table table = changed_table(*pair, heads);
        const int spare = choice.options.empty() ? 0 : 2;
        choice.options.push_back({pair->name(), {{std::move(heads), spare, "differences of other pairs"}, {std::move(table), spare, "differences of other pairs"}}});
      }
  if (choice.options.size() == 1)
    section.items = std::move(choice.options[0].items);
  else if (!choice.options.empty())
    section.items.push_back({std::move(choice)});
  return section;
}

}  // namespace

// Fewer blunt heads are no cure by themselves: the comparison says so where nobody measured the loss.
void compare_audits(View& view, std::span<const Compared> compared) {
  std::vector<Compared> audits;
  for (const Compared& one : compared)
    if (one.results->contains("attention") && !one.results->at("attention").at("lengths").empty() &&
        !one.results->at("attention").at("heads").empty())
      audits.push_back(one);
  if (audits.size() < 2) return;
  std::vector<double> common = numbers_in(audits[0].results->at("attention").at("lengths"));
  for (const Compared& one : audits)
    std::erase_if(common, [&](double n) { return !holds(numbers_in(one.results->at("attention").at("lengths")), n); });
  Section section{"compared-blunt", "Blunt heads",
                  "The share of heads whose median peak outside the first token is below the threshold of a blunt head.",
                  {{blunt_chart_of(audits)}}, /*brief=*/true};
  if (common.empty()) return view.sections.push_back(std::move(section));
  const double n = common.back();
  Table table{.id = "compared-audits", .title = fmt::format("At {} tokens, medians over heads", count(n)),
              .columns = {{"result"}, {"blunt heads", kCount}}, .sortable = false};
  for (const auto& [title, field] : kMedians) table.columns.push_back({title, fixed_to(3)});
  std::string each;
  for (const Compared& one : audits) {
    const Json& attention = one.results->at("attention");
    const std::size_t i = place_of(attention, n);
    const double blunt = attention.at("blunt_heads").at(i).get<double>(), heads = static_cast<double>(attention.at("heads").size());
    const std::string words = fmt::format("{} of {}", count(blunt), count(heads));
    std::vector<Cell> row{one.named.own, Cell(blunt, words)};
    for (const auto& [title, field] : kMedians) {
      const Json& medians = attention.at("median_over_heads");
      row.push_back(medians.contains(field) ? Cell(at_place(medians.at(field), i)) : Cell());
    }
    table.rows.push_back(std::move(row));
    table.links.push_back(std::to_string(one.named.number));
    each += fmt::format("{}{} in {}", each.empty() ? "" : "; ", words, one.named.own);
  }
  view.verdict.push_back(fmt::format("Blunt heads at {} tokens: {}.", count(n), each));
  view.verdict.push_back(
      Words("An audit does not measure the loss: fewer blunt heads may help the model or hurt it. Results of ")
      << code("sharpmax perplexity") << " for each, on the same page, say which.");
  section.items.push_back({std::move(table)});
  view.sections.push_back(std::move(section));
  view.sections.push_back(median_section(audits));
  if (Section heads = difference_section(audits); !heads.items.empty()) view.sections.push_back(std::move(heads));
}

}  // namespace sharpmax::report
