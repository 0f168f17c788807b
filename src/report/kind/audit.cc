// The view of `sharpmax audit`: what was found in words, then a part for every section that the results have.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "report/kind/audit_charts.h"

namespace sharpmax::report {
namespace {

std::optional<double> median_at(const Json& head, const char* statistic, std::size_t i) {
  return at_place(head.at(statistic).at("median"), i);
}

std::string head_text(const Json& head) {
  return fmt::format("{:.0f}.{:.0f}", head.at("layer").get<double>(), head.at("head").get<double>());
}

std::string with_interval(const Json& statistic, std::size_t i) {
  const auto value = at_place(statistic.at("median"), i), low = at_place(statistic.at("low"), i), high = at_place(statistic.at("high"), i);
  if (!value || !low || !high) return "";
  return fmt::format("{} ({}–{})", decimal(*value), decimal(std::max(0.0, *low), 2), decimal(*high, 2));
}

Section worst_section(const Json& attention) {
  const std::vector<double> lengths = numbers_in(attention.at("lengths"));
  const std::size_t last = lengths.size() - 1;
  Table table{.id = "all-heads", .title = "Heads, the worst first",
              .columns = {on_screen("head"), in_csv("layer", kCount), in_csv("head of the layer", kCount), {"kind"},
                          {"peak " + short_count(lengths[0]), fixed_to(3), "median peak outside the first token"},
                          {"peak " + short_count(lengths[last]), fixed_to(3), "with its 95 % interval"},
                          {"entropy", fixed_to(2), "outside the first token"},
                          {"slope", fixed_to(2), "of the entropy against ln n"},
                          {"spread", fixed_to(1), "of the scores"}, {"blunt at", kCount}, in_csv("blunt")},
              .tall = true,
              .filters = {"kind", "layer", "blunt"},
              .row_name = "head",
              .brief_rows = 10};
  const double threshold = attention.at("thresholds").at("blunt").get<double>();
  for (const std::size_t i : worst_first(attention)) {
    const Json* head = &attention.at("heads")[i];
    const double layer = head->at("layer").get<double>(), number = head->at("head").get<double>();
    table.rows.push_back({Cell(layer + number / 1e4, head_text(*head)), layer, number, text_at(*head, "kind"),
                          median_at(*head, "peak_outside", 0),
                          Cell(median_at(*head, "peak_outside", last), with_interval(head->at("peak_outside"), last)),
                          median_at(*head, "entropy_outside", last), number_at(*head, "entropy_slope_outside"),
                          median_at(*head, "spread", last),
                          Cell(number_at(head->at("blunting"), "length"), blunting_text(head->at("blunting"))),
                          median_at(*head, "peak_outside", last) < threshold ? "yes" : "no"});
    table.links.push_back("head-" + head_text(*head));
  }
  std::string kinds;
  for (const auto& [name, number] : attention.at("kinds").items())
    kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", name, count(number.get<double>()));
  return {"worst", "The worst heads",
          "The bluntest in front, by their median peak outside the first token at the greatest length; sinks, which do not try to pick, "
          "behind.",
          {{std::move(table)},
           {Note{fmt::format("Blunt: a median peak outside below {}. ~: forecast; <: blunt at the shortest length already. Kinds on this "
                             "text: {}.",
                             plain_number(attention.at("thresholds").at("blunt").get<double>()), kinds)}}},
          /*brief=*/true};
}

// Layers that see a window, and those that see everything, at the greatest length.
std::optional<Table> layer_kinds_table(const Json& attention) {
  if (!attention.contains("layer_kinds")) return std::nullopt;
  const std::size_t last = attention.at("lengths").size() - 1;
  const double layers_in_all = number_at(attention.at("layer_kinds").at(0), "layers").value_or(0) +
                               number_at(attention.at("layer_kinds").at(1), "layers").value_or(0);
  const double heads_per_layer = static_cast<double>(attention.at("heads").size()) / std::max(layers_in_all, 1.0);
  const bool mass = attention.at("median_over_heads").contains("mass");
  Table table{.id = "layer-kinds", .title = "Layers with a window and without",
              .columns = {{"layers"}, {"number", kCount}, {"peak outside", fixed_to(3)},
                          {"entropy outside", fixed_to(2)}, {"first token", fixed_to(3)}},
              .sortable = false};
  if (mass) table.columns.push_back({"to the sink", fixed_to(3)});
  table.columns.push_back({"blunt heads", kCount});
  for (const Json& kind : attention.at("layer_kinds")) {
    const Json& median = kind.at("median_over_heads");
    std::vector<Cell> row{text_at(kind, "name") == "window" ? "that see a window" : "that see everything", number_at(kind, "layers"),
                          at_place(median.at("peak_outside"), last), at_place(median.at("entropy_outside"), last),
                          at_place(median.at("first"), last)};
    if (mass) {
      const auto kept = at_place(median.at("mass"), last);
      row.push_back(kept ? Cell(1.0 - *kept) : Cell());
    }
    const double blunt = kind.at("blunt_heads").at(last).get<double>();
    row.push_back(Cell(blunt, fmt::format("{} of {}", count(blunt), count(heads_per_layer * number_at(kind, "layers").value_or(0)))));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Section length_section_of(const Json& attention) {
  const std::vector<double> lengths = numbers_in(attention.at("lengths"));
  const Json &median = attention.at("median_over_heads"), &blunt = attention.at("blunt_heads");
  const double heads = static_cast<double>(attention.at("heads").size());
  const auto trained = number_at(attention, "trained_context");
  Table table{.id = "all-lengths", .title = "By length",
              .columns = {{"tokens", kCount}},
              .sortable = false};
  struct Statistic {
    const char *name, *field;
    int digits;
  };
  constexpr Statistic kStatistics[] = {{"entropy", "entropy", 2},           {"peak", "peak", 3},
                                       {"first token", "first", 3},         {"peak outside", "peak_outside", 3},
                                       {"entropy outside", "entropy_outside", 2}, {"spread", "spread", 1}};
  for (const Statistic& one : kStatistics) table.columns.push_back({one.name, fixed_to(one.digits)});
  const bool mass = median.contains("mass");
  if (mass) table.columns.push_back({"to the sink", fixed_to(3)});
  table.columns.push_back({"blunt heads", kCount});
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const bool past = trained && lengths[i] > *trained;
    std::vector<Cell> row{Cell(lengths[i], past ? count(lengths[i]) + "*" : "")};
    for (const Statistic& one : kStatistics) row.push_back(at_place(median.at(one.field), i));
    if (mass) {
      const auto kept = at_place(median.at("mass"), i);
      row.push_back(kept ? Cell(1.0 - *kept) : Cell());
    }
    const double number = blunt.at(i).get<double>();
    row.push_back(Cell(number, fmt::format("{} of {}", count(number), count(heads))));
    table.rows.push_back(std::move(row));
  }
  Section section{"by-length", "By length", "Medians over heads of the medians over rows, and how many heads are blunt.", {}, /*brief=*/true};
  section.items.push_back({blunt_chart(attention)});
  if (lengths.size() > 1) section.items.push_back({median_chart(attention)});
  section.items.push_back({std::move(table)});
  if (auto kinds = layer_kinds_table(attention)) section.items.push_back({std::move(*kinds)});
  if (mass)
    section.items.push_back({Note{"To the sink: the part of a row's weight that its normalizer gives to no key. Entropy, peak and the other "
                                  "statistics are of the weights that keys have, divided by their sum."}});
  if (trained && lengths.back() > *trained) section.items.push_back({Note{"*: past the trained length."}});
  return section;
}

Section forecast_section(const Json& attention) {
  Table table{.id = "all-forecasts", .title = "Errors of forecasts",
              .columns = {{"known up to", kCount}, {"forecast at", kCount}},
              .tall = true};
  constexpr std::pair<const char*, const char*> kWays[] = {{"ours", "ours"}, {"no change", "no_change"}, {"power law", "power_law"}};
  for (const auto& [title, name] : kWays) table.columns.push_back({title, fixed_to(2)});
  for (const Json& errors : attention.at("forecast").at("errors")) {
    std::vector<Cell> row{number_at(errors, "from"), number_at(errors, "to")};
    for (const auto& [title, name] : kWays) {
      const auto middle = number_at(errors.at(name), "median"), wide = number_at(errors.at(name), "ninetieth");
      row.push_back(Cell(middle, middle && wide ? fmt::format("{} ({})", decimal(*middle, 2), decimal(*wide, 2)) : ""));
    }
    table.rows.push_back(std::move(row));
  }
  return {"forecast", "How good the forecasts are",
          "Where they could be checked: the factor by which the forecast peak outside is off in the median head, and in brackets the "
          "factor within which 90\u00a0% of the heads lie.",
          {{std::move(table)}}, /*brief=*/true};
}

Section explorer_section(const Json& attention, const Json* sketches) {
  return {"heads", "Every head",
          "One cell is one head, a layer to a line. Choose one by click, or by arrow keys and Enter, to see it at every length. “Outside” leaves the "
          "first token out, on which many heads park their weight.",
          {{heads_of(attention, sketches)}}};
}

void add_attention(View& view, const Json& attention, const Json* sketches) {
  const std::vector<double> lengths = numbers_in(attention.at("lengths"));
  const double heads = static_cast<double>(attention.at("heads").size());
  if (lengths.empty() || heads == 0.0) return;
  const Json &blunt = attention.at("blunt_heads"), &median = attention.at("median_over_heads");
  const auto at = [&](std::size_t i) { return fmt::format("at {} tokens", count(lengths[i])); };
  const std::size_t last = lengths.size() - 1;
  const std::string of = fmt::format("of {} blunt", plural(heads, "head"));
  view.tiles.push_back({count(blunt.at(last).get<double>()), of, at(last), Paint::vermillion});
  if (last > 0) view.tiles.push_back({count(blunt.at(0).get<double>()), of, at(0), Paint::green});
  view.tiles.push_back({formatted(fixed_to(2), at_place(median.at("peak_outside"), last)), "peak outside, median head", at(last), Paint::vermillion});
  view.tiles.push_back({formatted(fixed_to(2), at_place(median.at("first"), last)), "on the first token, median head", at(last), Paint::purple});
  view.tiles.push_back({formatted(kCount, number_at(attention.at("kinds"), "sink")), "sinks", "heads that park their weight on the first token",
                        Paint::grey});
  add_sections(view, {explorer_section(attention, sketches), worst_section(attention), length_section_of(attention), forecast_section(attention)});
}

Words probe_sentence(const Json& probe) {
  const Json& lengths = probe.at("lengths");
  const auto right = [](const Json& at) {
    return fmt::format("{} of answers at {} tokens", formatted(kShare, number_at(at, "share")), count(at.at("length").get<double>()));
  };
  return fmt::format("Probe “{}”: right in {}{}.", text_at(probe, "kind"), right(lengths.at(0)),
                     lengths.size() > 1 ? " and in " + right(last_of(lengths)) : "");
}

Section probe_section(const Json& probe) {
  Table table{.id = "all-probes", .title = "Questions by length",
              .columns = {{"tokens", kCount}, {"questions", kCount}, {"right", kShare}, on_screen("95 % interval"),
                          in_csv("low", kShare), in_csv("high", kShare), {"best head"}, {"answering", fixed_to(3)},
                          {"asking", fixed_to(3)}, {"peak on it", kShare}},
              .sortable = false};
  std::vector<Item> wrong;
  for (const Json& at : probe.at("lengths")) {
    const auto low = number_at(at, "low"), high = number_at(at, "high");
    std::vector<Cell> row{number_at(at, "length"), number_at(at, "questions"), number_at(at, "share"),
                          Cell(low, low && high ? fmt::format("{:.1f}–{:.1f}", 100.0 * *low, 100.0 * *high) : ""), low, high};
    if (at.at("best_heads").empty()) {
      row.insert(row.end(), 4, Cell());
    } else {
      const Json& best = at.at("best_heads").at(0);
      row.insert(row.end(), {head_text(best), number_at(best, "answering_weight"), number_at(best, "asking_weight"), number_at(best, "asking_first")});
    }
    table.rows.push_back(std::move(row));
    if (!at.contains("wrong") || at.at("wrong").empty()) continue;
    Words words = fmt::format("Wrong answers at {} tokens: ", count(at.at("length").get<double>()));
    for (std::size_t i = 0; i < at.at("wrong").size(); ++i) {
      if (i > 0) words << std::string(", ");
      words << code(at.at("wrong").at(i).get<std::string>());
    }
    wrong.push_back({Note{std::move(words)}, 1, "wrong answers"});
  }
  Table best = fields_table({.id = "best-heads", .title = "Heads that look at the right item", .brief_rows = 8},
                            last_of(probe.at("lengths")).at("best_heads"),
                            {{{"head"}, [](const Json& head) { return Cell(head_text(head)); }},
                             {{"kind"}, [](const Json& head) { return Cell(head.contains("kind") ? text_or_none_at(head, "kind") : ""); }},
                             {"answering", fixed_to(3), "answering_weight"}, {"asking", fixed_to(3), "asking_weight"},
                             {"peak on it", kShare, "asking_first"}});
  Section section{"probe", "Questions with known answers",
                  "How often the greedy answer matches, with 95\u00a0% intervals, and how much weight goes from the tokens of the right answer to "
                  "the item that holds it, in the head that looks best.",
                  {{probe_chart(probe)}, {std::move(table)}}, /*brief=*/true};
  section.items.push_back({Note{fmt::format(
      "Probe “{}”{}, seed {}. Answering: mean weight on the item’s tokens from the tokens of the right answer; asking: from the last token of "
      "the prompt; peak on it: how often that token’s heaviest key is the item’s.",
      text_at(probe, "kind"), truth_at(probe, "chat") ? ", in the chat template" : "", probe.at("seed").dump())}});
  if (!best.rows.empty()) {
    const double length = last_of(probe.at("lengths")).at("length").get<double>();
    section.items.push_back({Note{fmt::format("Heads that look at the right item, at {} tokens:", count(length))}});
    section.items.push_back({std::move(best)});
  }
  for (Item& item : wrong) section.items.push_back(std::move(item));
  return section;
}

std::string subject_of(const Json& results) {
  if (results.contains("attention") && !results.at("attention").at("lengths").empty())
    return fmt::format("attention up to {} tokens", count(last_of(results.at("attention").at("lengths")).get<double>()));
  if (results.contains("analysis"))
    return fmt::format("what {} select and leave out", plural(results.at("analysis").at("heads").get<double>(), "head"));
  return results.contains("probe") ? fmt::format("probe “{}”", text_at(results.at("probe"), "kind")) : "nothing was measured";
}

std::string text_sentence(const Json& results) {
  const Json& settings = results.at("settings");
  std::string read;
  if (results.contains("attention") && !results.at("attention").at("lengths").empty())
    read = fmt::format(", {} of {} tokens each", plural(results.at("attention").at("excerpts").get<double>(), "excerpt"),
                       count(last_of(results.at("attention").at("lengths")).get<double>()));
  return fmt::format("Text: {}{}. Trained on {} tokens.", file_name(text_at(settings, "text")), read,
                     formatted(kCount, number_at(settings.at("model"), "trained_context")));
}

}  // namespace

std::string blunting_text(const Json& blunting) {
  const std::string how = text_at(blunting, "how");
  const std::string length = formatted(kCount, number_at(blunting, "length"));
  if (how == "from the start") return "<" + length;
  if (how == "measured") return length;
  if (how == "forecast") return "~" + length;
  return how == "not foreseen" ? "not seen" : "?";
}

std::vector<std::size_t> worst_first(const Json& attention) {
  const Json& heads = attention.at("heads");
  const std::size_t last = attention.at("lengths").size() - 1;
  std::vector<std::size_t> order(heads.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto rank = [&](std::size_t i) {
    return std::pair(heads[i].at("kind") == "sink", median_at(heads[i], "peak_outside", last).value_or(2.0));
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  return order;
}

View audit_view(const Json& results) {
  View view = begun_view(results);
  const Json& settings = results.at("settings");
  const std::string file = file_name(text_at(settings.at("model"), "file"));
  view.kind = "audit";
  view.title = fmt::format("{}: {}", file, subject_of(results));
  view.label = "audit of " + file;
  if (results.contains("verdict") && results.at("verdict").is_string()) view.verdict.push_back(text_at(results, "verdict"));
  if (results.contains("analysis")) view.verdict.push_back(findings_sentence(results.at("analysis")));
  const bool probed = results.contains("probe") && !results.at("probe").at("lengths").empty();
  if (probed) view.verdict.push_back(probe_sentence(results.at("probe")));
  if (!view.complete) view.verdict.push_back("This audit was not finished: what was measured so far is shown.");
  if (settings.contains("text") && settings.at("text").is_string()) view.verdict.push_back(text_sentence(results));
  if (results.contains("attention")) add_attention(view, results.at("attention"), results.contains("sketches") ? &results.at("sketches") : nullptr);
  if (results.contains("analysis"))
    add_sections(view, analysis_sections(results.at("analysis")));
  if (probed) view.sections.push_back(probe_section(results.at("probe")));
  return view;
}

}  // namespace sharpmax::report
