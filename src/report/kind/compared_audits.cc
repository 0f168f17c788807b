// Several audits: blunt heads and medians over heads by length, and two of one shape head by head.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "report/kind/audit_charts.h"
#include "report/view/axes.h"

namespace sharpmax::report {
namespace {

constexpr Format kHeadCount{Format::count};
constexpr std::pair<const char*, const char*> kMedians[] = {
    {"peak outside", "peak_outside"}, {"entropy, nats", "entropy"},           {"entropy outside, nats", "entropy_outside"},
    {"peak", "peak"},                 {"weight of the first token", "first"}, {"spread of scores", "spread"}};

std::optional<double> value_at(const Json& list, std::size_t i) { return i < list.size() ? number_in(list.at(i)) : std::nullopt; }

std::size_t place_of(const Json& attention, double n) {
  const std::vector<double> lengths = numbers_in(attention.at("lengths"));
  return static_cast<std::size_t>(std::find(lengths.begin(), lengths.end(), n) - lengths.begin());
}

Section median_section(std::span<const Compared> audits) {
  Choice choice{"Statistic", Choice::Style::select, 0, "", {}};
  for (const auto& [title, field] : kMedians) {
    Chart chart{.title = fmt::format("The median head: {}", title), .subtitle = "Medians over heads of the medians over rows.",
                .across = {}, .up = {}, .curves = {}, .id = "compared-medians-chart"};
    std::vector<double> lengths;
    double most = 0.0;
    for (const Compared& one : audits) {
      const Json& attention = one.results->at("attention");
      const Json& medians = attention.at("median_over_heads");
      if (!medians.contains(field)) continue;
      Curve curve{.name = one.named.own, .look = one.named.look, .points = {}};
      const std::vector<double> own = numbers_in(attention.at("lengths"));
      for (std::size_t i = 0; i < own.size(); ++i)
        if (const auto value = value_at(medians.at(field), i)) {
          curve.points.push_back({own[i], *value, {}, {}});
          lengths.push_back(own[i]);
          most = std::max(most, *value);
        }
      chart.curves.push_back(std::move(curve));
    }
    chart.across = size_axis("tokens", lengths);
    chart.across.format = kHeadCount;
    chart.up = value_axis(title, 0.0, 1.05 * most);
    choice.options.push_back({title, {{std::move(chart)}}});
  }
  return {"compared-medians", "The median head", "Medians over heads of the medians over rows.", {{std::move(choice)}}};
}

struct Difference {
  double layer = 0.0, head = 0.0;
  std::string kinds;
  std::optional<double> first, second, change;

  std::string name() const { return fmt::format("{:.0f}.{:.0f}", layer, head); }
};

// Of heads that both have; those that changed most first.
std::vector<Difference> differences(const Json& a, const Json& b, const char* field, double n) {
  std::map<std::pair<double, double>, const Json*> others;
  for (const Json& head : b.at("heads")) others[{head.at("layer").get<double>(), head.at("head").get<double>()}] = &head;
  std::vector<Difference> found;
  for (const Json& head : a.at("heads")) {
    Difference one{head.at("layer").get<double>(), head.at("head").get<double>(), "", {}, {}, {}};
    const auto other = others.find({one.layer, one.head});
    if (other == others.end()) return {};
    one.kinds = fmt::format("{} → {}", text_at(head, "kind"), text_at(*other->second, "kind"));
    one.first = value_at(head.at(field).at("median"), place_of(a, n));
    one.second = value_at(other->second->at(field).at("median"), place_of(b, n));
    if (one.first && one.second) one.change = *one.second - *one.first;
    found.push_back(std::move(one));
  }
  std::stable_sort(found.begin(), found.end(), [](const Difference& x, const Difference& y) {
    return std::abs(x.change.value_or(0.0)) > std::abs(y.change.value_or(0.0));
  });
  return found;
}

Option difference_option(const Compared& a, const Compared& b, const char* title, const std::vector<Difference>& heads, double n, int spare) {
  const double most = std::max(std::abs(heads[0].change.value_or(0.0)), 1e-9);
  Grid grid{.title = fmt::format("{}: {} less {}, at {} tokens", title, b.named.own, a.named.own, count(n)), .subtitle = {}, .described = {},
            .ramp = {change(-most), change(most) + ", by the square root"}, .unknown = "not measured", .cells = {}, .id = "compared-heads-grid",
            .kind = Grid::Ramp::diverging, .format = signed_to(3), .say = std::string(title) + " {}", .details = "changed-heads"};
  Table table{.id = "changed-heads",
              .title = "Heads that changed most",
              .columns = {{.name = "head", .csv = false},
                          {.name = "layer", .format = kHeadCount, .hidden = true},
                          {.name = "head of the layer", .format = kHeadCount, .hidden = true},
                          {.name = "kind"},
                          {.name = fmt::format("{}, {}", title, a.named.number), .format = fixed_to(3)},
                          {.name = fmt::format("{}, {}", title, b.named.number), .format = fixed_to(3)},
                          {.name = "difference", .format = signed_to(3)}},
              .rows = {},
              .tall = true};
  for (const Difference& head : heads) {
    grid.cells.push_back({head.layer, head.head, head.change, head.change.value_or(0.0) / most});
    table.rows.push_back({Cell(head.layer + head.head / 1e4, head.name()), head.layer, head.head, head.kinds, head.first, head.second, head.change});
    table.links.push_back(fmt::format("{}/head-{}", b.named.number, head.name()));
  }
  return {title, {{std::move(grid), spare, "differences of other statistics, head by head"},
                  {std::move(table), spare, "differences of other statistics, head by head"}}};
}

// The first two that have the same heads and a length in common.
Section difference_section(std::span<const Compared> audits) {
  Section section{"compared-heads", "Head by head",
                  "One cell is one head: how much larger the chosen statistic is in the second result than in the first. Choose a cell by click, or "
                  "by arrow keys and Enter.",
                  {}};
  const Json &a = audits[0].results->at("attention"), &b = audits[1].results->at("attention");
  std::vector<double> common = numbers_in(a.at("lengths"));
  std::erase_if(common, [&](double n) { return !holds(numbers_in(b.at("lengths")), n); });
  if (common.empty() || a.at("heads").size() != b.at("heads").size()) return section;
  Choice choice{"Difference of", Choice::Style::select, 0, "", {}};
  for (const auto& [title, field] : kMedians) {
    const auto has = [field = field](const Json& attention) { return !attention.at("heads").empty() && attention.at("heads").at(0).contains(field); };
    if (!has(a) || !has(b)) continue;
    const std::vector<Difference> heads = differences(a, b, field, common.back());
    if (!heads.empty())
      choice.options.push_back(difference_option(audits[0], audits[1], title, heads, common.back(), choice.options.empty() ? 0 : 2));
  }
  if (!choice.options.empty()) section.items.push_back({std::move(choice)});
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
  Table table{.id = "compared-audits",
              .title = fmt::format("At {} tokens, medians over heads", count(n)),
              .columns = {{.name = "result"}, {.name = "blunt heads", .format = kHeadCount}},
              .rows = {},
              .sortable = false};
  for (const auto& [title, field] : kMedians) table.columns.push_back({.name = title, .format = fixed_to(3)});
  std::string each;
  for (const Compared& one : audits) {
    const Json& attention = one.results->at("attention");
    const std::vector<double> lengths = numbers_in(attention.at("lengths"));
    const auto i = static_cast<std::size_t>(std::find(lengths.begin(), lengths.end(), n) - lengths.begin());
    const double blunt = attention.at("blunt_heads").at(i).get<double>(), heads = static_cast<double>(attention.at("heads").size());
    const std::string words = fmt::format("{} of {}", count(blunt), count(heads));
    std::vector<Cell> row{one.named.own, Cell(blunt, words)};
    for (const auto& [title, field] : kMedians) {
      const Json& medians = attention.at("median_over_heads");
      row.push_back(medians.contains(field) ? Cell(value_at(medians.at(field), i)) : Cell());
    }
    table.rows.push_back(std::move(row));
    table.links.push_back(std::to_string(one.named.number));
    each += fmt::format("{}{} in {}", each.empty() ? "" : "; ", words, one.named.own);
  }
  view.verdict.push_back(fmt::format("Blunt heads at {} tokens: {}.", count(n), each));
  view.verdict.push_back(
      "An audit does not measure the loss: fewer blunt heads may help the model or hurt it. sharpmax perplexity of both says which.");
  section.items.push_back({std::move(table)});
  view.sections.push_back(std::move(section));
  view.sections.push_back(median_section(audits));
  if (Section heads = difference_section(audits); !heads.items.empty()) view.sections.push_back(std::move(heads));
}

}  // namespace sharpmax::report
