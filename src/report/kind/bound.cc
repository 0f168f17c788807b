// The view of `sharpmax bound --spread`: how sharp and how blunt a row can be at all, under every normalizer.
#include <fmt/format.h>

#include <algorithm>

#include "report/kind/bound_members.h"
#include "report/view/looks.h"

namespace sharpmax::report {
namespace {

std::string lost_from(const Json& lost, const char* name) {
  return formatted(kPower, number_at(lost, name));
}

void add_verdict(View& view, const Bounds& bounds) {
  const Json &lost = bounds.results.at("softmax_lost"), &softmax = bounds.results.at("softmax");
  const double beta = bounds.results.at("beta").get<double>();
  Words words = fmt::format("Scores at most {} apart{}: from {} keys on no key can have {} of the weight under ",
                            plain_number(bounds.spread), beta == 1.0 ? "" : fmt::format(", times {}", plain_number(beta)),
                            lost_from(lost, "log10_n"), plain_number(lost.at("peak").get<double>()));
  words << code("softmax");
  if (!softmax.empty())
    words << fmt::format("; among {} none has more than {}.", keys_text(last_of(softmax).at("n").get<double>()),
                         formatted(kWeight, number_at(last_of(softmax).at("tight"), "high")));
  else
    words << std::string(".");
  view.verdict.push_back(std::move(words));
  std::vector<Words> free;
  for (const Member& member : bounds.members)
    if (const PeakRange* range = bounds.sizes.empty() ? nullptr : member.at(bounds.sizes.back()))
      if (range->high >= 0.999) free.push_back(code(member.name));
  if (free.empty()) return;
  Words also = fmt::format("{} of {} can still put all weight on one key there: ", count(static_cast<double>(free.size())),
                           plural(static_cast<double>(bounds.names.size()), "normalizer"));
  list_names(also, free, 5);
  view.verdict.push_back(std::move(also));
}

void add_tiles(View& view, const Bounds& bounds) {
  if (bounds.sizes.empty()) return;
  const Json &lost = bounds.results.at("softmax_lost"), &softmax = bounds.results.at("softmax");
  view.tiles.push_back({lost_from(lost, "log10_n"), "keys",
                        fmt::format("from here on no key has {} under softmax", plain_number(lost.at("peak").get<double>())),
                        Paint::vermillion});
  if (!softmax.empty())
    view.tiles.push_back({formatted(kWeight, number_at(last_of(softmax).at("tight"), "high")), "at most, softmax",
                          fmt::format("among {} keys", keys_text(last_of(softmax).at("n").get<double>())), Paint::vermillion});
  for (const char* family : {"entmax15", "adaptive", "entropy_target"})
    for (const Member& member : bounds.members)
      if (const PeakRange* range = member.at(bounds.sizes.back()); range && family_of(member.name) == family) {
        view.tiles.push_back({formatted(kWeight, range->high), code(member.name),
                              fmt::format("at most, among {} keys; at least {}", keys_text(range->n),
                                          formatted(kWeight, range->untied_low)),
                              bounds.look(member.name).paint});
        break;
      }
}

// Where the published form says more than 1 it says nothing.
Curve lemma_curve(const Bounds& bounds) {
  Curve curve{.name = "lemma 2.1 as published",
              .look = {Paint::vermillion, kDashed},
              .marker = Marker::none,
              .format = kWeight,
              .of = "softmax"};
  for (const Json& row : bounds.results.at("softmax"))
    if (const auto high = number_at(row.at("published"), "high"); high && *high <= 1.0)
      curve.points.push_back({size_at(row, "n"), *high});
  return curve;
}

Chart peak_chart(const Bounds& bounds, bool best) {
  Chart chart{.title = bounds.title(),
              .subtitle = best ? "Of any input whatever. A curve that falls is a rule that must lose its peak."
                               : "The least that the heaviest key must have, of rows with one first place.",
              .across = size_axis("keys n", bounds.sizes),
              .up = share_axis("largest share of the weight"),
              .id = best ? "peak-best" : "peak-worst",
              .figure = best ? "peak" : "",
              .share = "normalizers",
              .every_curve = true};
  chart.across.format = kKeys;
  chart.across.symbol = "n";
  if (Curve published = lemma_curve(bounds); best && !published.points.empty()) {
    published.end = percent(published.points.back().value);
    chart.curves.push_back(std::move(published));
  }
  const std::vector<std::string> first =
      shown_first(bounds.names, {"softmax", "entmax15", "ssmax", "adaptive", "entropy_target", "softpick"});
  std::vector<double> values{1.0};
  for (const Member& member : bounds.members) {
    Curve curve{.name = member.name,
                .look = bounds.look(member.name),
                .format = kWeight,
                .code = true,
                .first = holds(first, member.name)};
    for (const PeakRange& range : member.ranges)
      if (const auto value = best ? range.high : range.untied_low) {
        curve.points.push_back({range.n, *value});
        values.push_back(*value);
      }
    if (curve.points.empty()) continue;
    curve.end = percent(curve.points.back().value);
    chart.curves.push_back(std::move(curve));
  }
  chart.up_log = decade_axis(chart.up.label, values);
  return chart;
}

// The same at one number of keys.
Bars peak_bars(const Bounds& bounds) {
  Bars bars{.title = bounds.title(),
            .subtitle = fmt::format("n = {}. Of any input whatever.", count(bounds.sizes[0])),
            .across = share_axis("largest share of the weight"),
            .beside = {"at most", "at least"},
            .id = "peak-bars",
            .figure = "peak"};
  for (const Member& member : bounds.members)
    for (const PeakRange& range : member.ranges) {
      if (!range.high || !range.low) continue;
      bars.bars.push_back({.name = member.name,
                           .pieces = {{*range.high, bounds.look(member.name).paint}},
                           .beside = {percent(*range.high), percent(*range.low)},
                           .code = true});
      bars.described += fmt::format("{} at most {}. ", member.name, percent(*range.high));
    }
  return bars;
}

Section peak_section(const Bounds& bounds) {
  Section section{"peak", "The largest weight of a row",
                  "The most that the heaviest key of any such row can have, or the least that it must have: of rows with one "
                  "first place, no row of these scores passes it.",
                  {}};
  if (bounds.sizes.size() > 1)
    section.items.push_back({Choice{"Largest weight", Choice::Style::radio, 0, "", {{"at best", {{peak_chart(bounds, true)}}},
                                                                                    {"at worst", {{peak_chart(bounds, false)}}}}}});
  else
    section.items.push_back({peak_bars(bounds)});
  return section;
}

Table ranges_at(const Bounds& bounds, double n) {
  std::vector<const Member*> members;
  for (const Member& member : bounds.members)
    if (member.at(n)) members.push_back(&member);
  std::stable_sort(members.begin(), members.end(), [&](const Member* a, const Member* b) {
    const PeakRange *one = a->at(n), *other = b->at(n);
    return std::pair(other->high, other->untied_low) < std::pair(one->high, one->untied_low);
  });
  Table table{.id = "all-ranges", .title = "At worst and at best",
              .columns = {{"normalizer", kCode}, {"at worst", kWeight}, {"at best", kWeight},
                          bar_column("from 0 to 1", number_at(bounds.results, "peak"))},
              .sortable = false};
  for (const Member* member : members) {
    const PeakRange& range = *member->at(n);
    table.rows.push_back({member->name, range.untied_low, Cell(range.high, range.searched() ? "~" + formatted(kWeight, range.high) : ""),
                          bar_to(range.high, bounds.look(member->name).paint, range.untied_low.value_or(0.0))});
  }
  return table;
}

Section ranges_section(const Bounds& bounds) {
  const auto peak = number_at(bounds.results, "peak");
  Section section{"ranges", "At worst and at best",
                  "From the bluntest to the sharpest row: bars from 0 to all the weight on one key." +
                      (peak ? fmt::format(" Dotted: {}, the weight that was asked for.", plain_number(*peak)) : ""),
                  {}};
  Choice choice{"Keys", Choice::Style::select, bounds.sizes.size() - 1, "", {}};
  for (const double n : bounds.sizes) {
    const int spare = n == bounds.sizes.back() ? 0 : 1;
    choice.options.push_back({keys_text(n), {{ranges_at(bounds, n), spare, "ranges at fewer keys"}}});
  }
  section.items.push_back({std::move(choice)});
  for (Item& note : notes_of(bounds)) section.items.push_back(std::move(note));
  return section;
}

Bars lost_bars(const Bounds& bounds) {
  Bars bars{.title = fmt::format("The number of keys from which none can have {}", bounds.weight_words()),
            .subtitle = fmt::format("Scores at most {} apart. Rules without a bar can have it at any number of keys.",
                                    plain_number(bounds.spread)),
            .beside = {"keys"},
            .id = "lost-bars",
            .figure = "lost"};
  std::vector<std::string> names;
  for (const Member& member : bounds.members) names.push_back(member.name);
  const std::vector<Look> looks = looks_of(names);
  std::vector<double> values;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!bounds.members[i].loss) continue;
    const auto lost = bounds.members[i].loss->lost;
    Bar bar{.name = names[i], .beside = {lost ? count(*lost) : "never"}, .code = true};
    if (lost) bar.pieces.push_back({*lost, looks[i].paint}), values.push_back(*lost);
    bars.described += fmt::format("{}: {}. ", names[i], bar.beside[0]);
    bars.bars.push_back(std::move(bar));
  }
  if (values.empty()) bars.bars.clear();
  values.push_back(1.0);
  bars.across = decade_axis("keys n", values);
  return bars;
}

Section lost_section(const Bounds& bounds) {
  Table table{.id = "all-losses", .title = "Where the weight is lost",
              .columns = {{"normalizer", kCode}, {"lost to every row from", kKeys}, {"sure of every row up to", kKeys}}};
  for (const Member& member : bounds.members)
    if (member.loss)
      table.rows.push_back({member.name, Cell(member.loss->lost, lost_text(*member.loss)),
                            Cell(member.loss->sure, member.loss->sure ? "" : "any n")});
  Section section{"lost", "", "From so many keys on no row can give it to any key; up to so many every row with one first place does.",
                  {}, /*brief=*/true};
  if (table.rows.empty()) return section;
  section.heading = fmt::format("Where a weight of {} is lost", plain_number(bounds.results.at("peak").get<double>()));
  section.items.push_back({lost_bars(bounds)});
  section.items.push_back({std::move(table)});
  return section;
}

Section refused_section(const Bounds& bounds) {
  Section section{"refused", "No bound is known of these", "They were asked for, and this is why there is no number.", {}, true};
  for (const Member& member : bounds.members) {
    if (member.refused.empty()) continue;
    section.items.push_back({Note{Words(code(member.name)) << ": " + member.refused}});
  }
  return section;
}

Section lemma_section(const Bounds& bounds) {
  const Json& lost = bounds.results.at("softmax_lost");
  const auto published = [](const Json& row) {
    const auto high = number_at(row.at("published"), "high");
    return Cell(high, high > 1.0 ? decimal(*high, 1) : "");
  };
  Table table = fields_table({.id = "all-lemma", .title = "Softmax, as published and tight", .sortable = false}, bounds.results.at("softmax"),
                             {{"keys", kKeys, "n"}, {"at least", kWeight, "tight.low"}, {"at most", kWeight, "tight.high"},
                              {"as published, from", kWeight, "published.low"}, {{"to", kWeight}, published}});
  return {"lemma", "Softmax: as published, and tight",
          fmt::format("Every weight of a row lies between these. A weight of {} is lost from {} keys on; as published, from {}.",
                      plain_number(lost.at("peak").get<double>()), lost_from(lost, "log10_n"), lost_from(lost, "log10_n_published")),
          {{std::move(table)}}, /*brief=*/true};
}

Section numbers_section_of(const Bounds& bounds) {
  Table table{.id = "all-rows", .title = "All numbers",
              .columns = {{"normalizer", kCode}, {"n", kKeys}, {"at worst", kWeight},
                          {.name = "with ties", .format = kWeight, .spare = 1}, {"at best", kWeight},
                          {.name = "ceiling", .format = kWeight, .spare = 4},
                          {.name = "as used, from", .format = kWeight, .spare = 5},
                          {.name = "to", .format = kWeight, .spare = 5}, {.name = "found by", .spare = 2},
                          {.name = "sums to one", .spare = 3}, {.name = "moves with level", .spare = 3}},
              .tall = true};
  const auto yes = [](bool truth) { return truth ? "yes" : ""; };
  for (const Member& member : bounds.members)
    for (const PeakRange& range : member.ranges)
      table.rows.push_back({member.name, range.n, range.untied_low, range.low, range.high, range.ceiling, range.weight_low,
                            range.weight_high, range.found_by, yes(range.sums_to_one), yes(range.moves_with_level)});
  Section section{"numbers", "All numbers",
                  "Weights are shares of a row’s sum. At worst: of rows with one first place; with ties: of all rows. Ceiling: no "
                  "row passes it, where the largest was found by a search. As used: weights that need not sum to one.",
                  {{std::move(table)}}};
  const Json& scores = bounds.results.at("scores");
  const double low = scores.at(0).get<double>(), high = scores.at(1).get<double>();
  std::vector<double> row(256, low);
  row.back() = high;
  section.items.push_back({ScoreRow{fmt::format("one score {} above all others", plain_number(high - low)), 256.0, std::move(row)}});
  return section;
}

}  // namespace

View bound_view(const Json& results) {
  View view = begun_view(results);
  const Bounds bounds(results);
  view.kind = "bounds, not measurements";
  view.title = fmt::format("How sharp a row can be whose scores lie at most {} apart", plain_number(bounds.spread));
  view.label = fmt::format("scores at most {} apart", plain_number(bounds.spread));
  add_verdict(view, bounds);
  add_tiles(view, bounds);
  Section lemma = lemma_section(bounds);
  if (!bounds.sizes.empty()) {
    view.sections.push_back(peak_section(bounds));
    view.sections.push_back(ranges_section(bounds));
    add_sections(view, brief_sections(bounds));
    view.sections.push_back(lost_section(bounds));
    view.sections.back().brief = bounds.sizes.size() > 1;  // else its numbers stand beside the others
  }
  view.sections.push_back(refused_section(bounds));
  view.sections.push_back(std::move(lemma));
  if (!bounds.sizes.empty()) view.sections.push_back(numbers_section_of(bounds));
  return view;
}

}  // namespace sharpmax::report
