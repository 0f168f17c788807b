// What `sharpmax bound --spread` found, read from its results; and as tables for a terminal.
#include "report/kind/bound_members.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/view/looks.h"

namespace sharpmax::report {
namespace {

PeakRange range_of(const Json& json) {
  const Json &share = json.at("share"), &weight = json.at("weight");
  return {size_at(json, "n"),
          number_at(share, "high"),
          number_at(share, "low"),
          number_at(json, "untied_low"),
          number_at(json, "ceiling"),
          number_at(weight, "high"),
          number_at(weight, "low"),
          text_at(json, "found_by"),
          truth_at(json, "sums_to_one"),
          truth_at(json, "moves_with_level")};
}

std::vector<Member> members_of(const Json& results) {
  std::vector<Member> members;
  for (const Json& entry : results.at("normalizers")) {
    Member member{text_at(entry, "normalizer"), "", {}, {}};
    if (entry.contains("refused")) member.refused = text_or_none_at(entry, "refused");
    for (const Json& range : entry.at("ranges")) member.ranges.push_back(range_of(range));
    if (entry.contains("loss") && !entry.at("loss").is_null()) {
      const Json& loss = entry.at("loss");
      member.loss = {number_at(loss, "lost"), number_at(loss, "regained"), number_at(loss, "sure")};
    }
    members.push_back(std::move(member));
  }
  return members;
}

}  // namespace

const PeakRange* Member::at(double n) const {
  for (const PeakRange& range : ranges)
    if (range.n == n) return &range;
  return nullptr;
}

Bounds::Bounds(const Json& from) : results(from), members(members_of(from)), spread(from.at("spread").get<double>()) {
  for (const Member& member : members) {
    if (!member.ranges.empty()) add_once(names, member.name);
    for (const PeakRange& range : member.ranges) add_once(sizes, range.n);
  }
  std::sort(sizes.begin(), sizes.end());
  looks = looks_of(names);
}

Look Bounds::look(const std::string& name) const {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? Look{} : looks[static_cast<std::size_t>(found - names.begin())];
}

std::string Bounds::title() const {
  return fmt::format("The largest weight that one of n keys can have, scores at most {} apart", plain_number(spread));
}

std::string Bounds::weight_words() const {
  const double peak = results.at("peak").get<double>();
  return peak == 0.5 ? "half of the weight" : fmt::format("{} of the weight", percent(peak));
}

namespace {

// With marks that notes explain.
std::string marked_name(const Member& member) {
  if (member.ranges.empty()) return member.name;
  const PeakRange& range = member.ranges.back();
  std::string marks;
  if (range.moves_with_level) marks += '*';
  if (range.searched()) marks += '~';
  if (range.untied_low > range.low) marks += '=';
  return marks.empty() ? member.name : member.name + " " + marks;
}

}  // namespace

std::string lost_text(const PeakLoss& loss) {
  if (!loss.lost) return "never";
  if (*loss.lost == 1.0 && !loss.regained) return "always";
  return keys_text(*loss.lost) + (loss.regained ? fmt::format(" to {}", keys_text(*loss.regained - 1.0)) : "");
}

std::vector<Item> notes_of(const Bounds& bounds) {
  bool level = false, searched = false, ties = false;
  for (const Member& member : bounds.members)
    for (const PeakRange& range : member.ranges) {
      level |= range.moves_with_level;
      searched |= range.searched();
      ties |= range.untied_low > range.low;
    }
  std::vector<Item> notes;
  const Json& scores = bounds.results.at("scores");
  if (level)
    notes.push_back({Note{fmt::format("* changes when all scores move together: here they lie in [{}, {}]. The share of the "
                                      "row’s mass is shown.",
                                      plain_number(scores.at(0).get<double>()), plain_number(scores.at(1).get<double>()))}});
  if (searched) notes.push_back({Note{"~ the best row that a search found; no row passes the ceiling in the JSON."}});
  if (ties) notes.push_back({Note{"= of one first place; m exact ties for it may get 1/m each."}});
  return notes;
}

namespace {

// For a terminal, of one number of keys: all of a normalizer in one line.
Section single_section(const Bounds& bounds) {
  const bool asked = bounds.results.at("peak").is_number();
  Table table{.id = "single", .title = "The largest weight of a row",
              .columns = {{"normalizer"}, {"at worst", kWeight}, {"at best", kWeight}}};
  if (asked) table.columns.insert(table.columns.end(), {{"lost at n", kKeys}, {"sure to n", kKeys}});
  for (const Member& member : bounds.members) {
    if (member.ranges.empty()) continue;
    std::vector<Cell> row{marked_name(member), member.ranges[0].untied_low, member.ranges[0].high};
    if (asked && member.loss)
      row.insert(row.end(), {Cell(member.loss->lost, lost_text(*member.loss)), Cell(member.loss->sure, member.loss->sure ? "" : "any n")});
    row.resize(table.columns.size());
    table.rows.push_back(std::move(row));
  }
  return {"single", fmt::format("The largest weight of a row of {} keys", keys_text(bounds.sizes[0])), "", {{std::move(table)}},
          /*brief=*/true, /*page=*/false};
}

// For a terminal: a line per normalizer, a column per number of keys.
Section by_size_section(const Bounds& bounds, bool best) {
  Table table{.id = best ? "at-best" : "at-worst",
              .title = best ? "The largest weight of a row, at best" : "The largest weight of a row, at worst",
              .columns = {{"n"}}};
  for (const double n : bounds.sizes) {
    const std::string text = short_count(n);
    table.columns.push_back({text.size() > 6 ? fmt::format("{:.3g}", n) : text, kWeight});
  }
  for (const Member& member : bounds.members) {
    if (member.ranges.empty()) continue;
    std::vector<Cell> row{marked_name(member)};
    for (const double n : bounds.sizes) {
      const PeakRange* range = member.at(n);
      row.push_back(!range ? std::nullopt : best ? range->high : range->untied_low);
    }
    table.rows.push_back(std::move(row));
  }
  return {table.id, table.title, "", {{std::move(table)}}, /*brief=*/true, /*page=*/false};
}

}  // namespace

std::vector<Section> brief_sections(const Bounds& bounds) {
  std::vector<Section> sections;
  if (bounds.sizes.size() == 1)
    sections.push_back(single_section(bounds));
  else
    for (const bool best : {true, false}) sections.push_back(by_size_section(bounds, best));
  for (Item& note : notes_of(bounds)) sections.back().items.push_back(std::move(note));
  return sections;
}

// What several spreads of scores allow.

namespace {

constexpr double kMostLog10 = 300.0;  // what a number can hold

std::optional<double> published_lost(const Json& results) {
  const auto log10 = number_at(results.at("softmax_lost"), "log10_n_published");
  return log10 && *log10 < kMostLog10 ? std::optional(std::pow(10.0, *log10)) : std::nullopt;
}

// The number of keys from which none can have the weight, against the spread.
Chart lost_chart(std::span<const Compared> compared, const std::vector<Bounds>& bounds) {
  Chart chart{.title = fmt::format("The number of keys from which none can have {}", bounds[0].weight_words()),
              .subtitle = "Against how far scores may lie apart. Dashed: theorem 2.2 as published.",
              .id = "compared-lost",
              .figure = "lost"};
  std::vector<std::string> names;
  for (const Bounds& one : bounds)
    for (const Member& member : one.members) add_once(names, member.name);
  const std::vector<Look> looks = looks_of(names);
  chart.curves.push_back({.name = "softmax, published",
                          .look = {Paint::vermillion, kDashed},
                          .marker = Marker::none,
                          .format = kKeys});
  for (std::size_t i = 0; i < names.size(); ++i)
    chart.curves.push_back({.name = names[i], .look = looks[i], .format = kKeys, .code = true});
  std::vector<double> spreads, values{1.0};
  const auto add = [&](Curve& curve, double spread, const std::optional<double>& value) {
    if (!value) return;
    curve.points.push_back({spread, *value});
    values.push_back(*value);
  };
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    spreads.push_back(bounds[i].spread);
    add(chart.curves[0], bounds[i].spread, published_lost(*compared[i].results));
    for (const Member& member : bounds[i].members) {
      const auto name = std::find(names.begin(), names.end(), member.name);
      if (member.loss) add(chart.curves[1 + static_cast<std::size_t>(name - names.begin())], bounds[i].spread, member.loss->lost);
    }
  }
  std::erase_if(chart.curves, [](const Curve& curve) { return curve.points.empty(); });
  for (Curve& curve : chart.curves) {
    std::sort(curve.points.begin(), curve.points.end(), [](const Point& a, const Point& b) { return a.at < b.at; });
    curve.end = size_from_log10(std::log10(std::max(1.0, curve.points.back().value)));
  }
  chart.across = size_axis("spread of scores", spreads);
  chart.up = decade_axis("keys n", values);
  return chart;
}

}  // namespace

void compare_bounds(View& view, std::span<const Compared> compared) {
  std::vector<Bounds> bounds;
  for (const Compared& one : compared) bounds.emplace_back(*one.results);
  std::vector<double> common = bounds[0].sizes;
  for (const Bounds& one : bounds) std::erase_if(common, [&](double n) { return !holds(one.sizes, n); });
  if (common.size() > 4) common.erase(common.begin(), common.end() - 4);
  Table table{.id = "compared-bounds", .title = "Bounds",
              .columns = {{"result"}, {"spread", fixed_to(2)}, {"β", fixed_to(2)}},
              .sortable = false};
  for (const double n : common) table.columns.push_back({"most weight at " + short_count(n), kWeight});
  table.columns.push_back({"weight", fixed_to(2)});
  table.columns.push_back({"lost from n", kPower});
  for (const Compared& one : compared) {
    const Json &results = *one.results, &lost = results.at("softmax_lost");
    std::vector<Cell> row{one.named.own, number_at(results, "spread"), number_at(results, "beta")};
    for (const double n : common) {
      Cell cell;
      for (const Json& at : results.at("softmax"))
        if (at.at("n") == n) cell = number_at(at.at("tight"), "high");
      row.push_back(std::move(cell));
    }
    row.insert(row.end(), {number_at(lost, "peak"), number_at(lost, "log10_n")});
    table.rows.push_back(std::move(row));
    table.links.push_back(std::to_string(one.named.number));
  }
  Section section{"compared-spreads", "How sharp softmax can be",
                  "The most that any weight can be when scores lie within the spread, and the size from which no key has the "
                  "named weight.",
                  {{std::move(table)}}, /*brief=*/true};
  if (std::all_of(compared.begin(), compared.end(), [](const Compared& one) { return one.results->at("peak").is_number(); }))
    section.items.insert(section.items.begin(), {lost_chart(compared, bounds)});
  view.sections.push_back(std::move(section));
}

}  // namespace sharpmax::report
