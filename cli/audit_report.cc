// The text of an audit by length, and of a probe.
#include "cli/audit_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/table.h"

namespace sharpmax::cli {
namespace {

constexpr std::size_t kWorstHeads = 10, kHeadsOfProbe = 8;

std::string length_text(double length) { return grouped(std::llround(length)); }

std::string two(double value) { return std::isnan(value) ? "-" : fmt::format("{:.2f}", value); }

std::string bound_text(double bound) { return std::isnan(bound) ? "-" : short_number(bound); }

std::string blunting_text(const Blunting& blunting) {
  switch (blunting.how) {
    case Blunting::How::from_start:
      return fmt::format("<{}", length_text(blunting.length));
    case Blunting::How::measured:
      return length_text(blunting.length);
    case Blunting::How::forecast:
      return "~" + length_text(blunting.length);
    case Blunting::How::not_foreseen:
      return "not seen";
    case Blunting::How::unknown:
      break;
  }
  return "?";
}

std::string place_text(const HeadPlace& place) {
  return fmt::format("{}.{}", place.layer, place.head);
}

// Blunt heads first, the bluntest in front; sinks, which do not try to pick, behind.
std::vector<const HeadFindings*> worst_first(const Findings& f) {
  std::vector<const HeadFindings*> order;
  for (const HeadFindings& head : f.by_head) order.push_back(&head);
  const auto rank = [](const HeadFindings* head) {
    const double peak = head->at.back()[RowField::peak_outside].median;
    return std::pair(head->kind == HeadKind::sink, std::isnan(peak) ? 2.0 : peak);
  };
  std::stable_sort(order.begin(), order.end(), [&](auto* a, auto* b) { return rank(a) < rank(b); });
  return order;
}

std::string heads_table(const Findings& f, std::size_t most, bool colour) {
  const std::size_t last = f.lengths.size() - 1;
  Table table({Align::right, Align::left, Align::right, Align::right, Align::right, Align::right,
               Align::right, Align::right, Align::right});
  table.add({{"head", Ink::bold},
             {"kind", Ink::bold},
             {"peak " + short_count(std::llround(f.lengths[0])), Ink::bold},
             {"peak " + short_count(std::llround(f.lengths[last])), Ink::bold},
             {"95 %", Ink::bold},
             {"entropy", Ink::bold},
             {"slope", Ink::bold},
             {"spread", Ink::bold},
             {"blunt at", Ink::bold}});
  const auto order = worst_first(f);
  for (std::size_t i = 0; i < std::min(most, order.size()); ++i) {
    const HeadFindings& head = *order[i];
    const auto& peak = head.at[last][RowField::peak_outside];
    const std::string interval =
        std::isnan(peak.low) ? "" : fmt::format("{:.2f}-{:.2f}", std::max(0.0, peak.low), peak.high);
    table.add({{place_text(head.place)},
               {std::string(name_of(head.kind))},
               {short_number(head.at[0][RowField::peak_outside].median)},
               {short_number(peak.median), peak.median < f.thresholds.blunt ? Ink::red : Ink::plain},
               {interval, Ink::dim},
               {two(head.at[last][RowField::entropy_outside].median)},
               {two(head.entropy_slope_outside)},
               {fmt::format("{:.1f}", head.at[last][RowField::spread].median)},
               {blunting_text(head.blunting)}});
  }
  return table.text(colour);
}

std::string lengths_table(const Findings& f, bool colour) {
  Table table({Align::right, Align::right, Align::right, Align::right, Align::right, Align::right,
               Align::right, Align::right});
  table.add({{"tokens", Ink::bold},
             {"entropy", Ink::bold},
             {"peak", Ink::bold},
             {"first", Ink::bold},
             {"peak", Ink::bold},
             {"support", Ink::bold},
             {"spread", Ink::bold},
             {"blunt heads", Ink::bold}});
  table.add({{"", Ink::dim},
             {"", Ink::dim},
             {"", Ink::dim},
             {"token", Ink::dim},
             {"outside", Ink::dim},
             {"exp(H)", Ink::dim},
             {"", Ink::dim},
             {"", Ink::dim}});
  const auto &entropy = f.typical(RowField::entropy), &peak = f.typical(RowField::peak);
  const auto &first = f.typical(RowField::first), &outside = f.typical(RowField::peak_outside);
  const auto& spread = f.typical(RowField::spread);
  const auto& blunt = f.blunt_heads;
  for (std::size_t i = 0; i < f.lengths.size(); ++i) {
    const bool untrained = f.lengths[i] > static_cast<double>(f.trained);
    table.add({{length_text(f.lengths[i]) + (untrained ? "*" : "")},
               {two(entropy[i])},
               {two(peak[i])},
               {two(first[i])},
               {two(outside[i])},
               {fmt::format("{:.1f}", std::exp(entropy[i]))},
               {fmt::format("{:.1f}", spread[i])},
               {fmt::format("{} of {}", blunt[i], f.by_head.size())}});
  }
  return table.text(colour);
}

// Checks over a factor of about eight, within the trained length: as far as a forecast is worth reading.
std::vector<const ForecastErrors*> checks_over_eight(const Findings& f) {
  std::vector<const ForecastErrors*> checks;
  for (const auto& errors : f.forecasts)
    if (errors.to <= f.trained && errors.to >= 6 * errors.from && errors.to <= 11 * errors.from)
      checks.push_back(&errors);
  return checks;
}

std::string forecast_table(const Findings& f, bool colour) {
  const auto checks = checks_over_eight(f);
  if (checks.empty())
    return wrapped(
               "No forecast was checked: that takes two lengths, and one about eight times as long "
               "within the trained context.") +
           "\n";
  Table table({Align::right, Align::right, Align::left, Align::left, Align::left}, 3);
  table.add({{"known up to", Ink::bold},
             {"forecast at", Ink::bold},
             {"ours", Ink::bold},
             {"no change", Ink::bold},
             {"power law", Ink::bold}});
  const auto factors = [](double median, double high) {
    return fmt::format("{:.2f} ({:.2f})", median, high);
  };
  for (const auto* check : checks)
    table.add({{grouped(check->from)},
               {grouped(check->to)},
               {factors(check->ours, check->ours_90)},
               {factors(check->no_change, check->no_change_90)},
               {factors(check->power_law, check->power_law_90)}});
  return "Forecasts (~) where they could be checked: the factor by which the peak outside\n"
         "is off in the median head, and within which 90 % of the heads lie:\n" +
         table.text(colour);
}

std::string kinds_text(const Findings& f) {
  std::string text;
  for (const HeadKind kind : kHeadKinds)
    text += fmt::format("{}{} {}", text.empty() ? "" : " · ", name_of(kind), f.count(kind));
  return text;
}

std::string heads_table(const ProbedLength& at, std::int64_t heads, bool colour) {
  Table table({Align::right, Align::left, Align::right, Align::right, Align::right}, 3);
  table.add({{"head", Ink::bold},
             {"kind", Ink::bold},
             {"answering", Ink::bold},
             {"asking", Ink::bold},
             {"peak on it", Ink::bold}});
  for (const ItemHead& head : best_heads(at, heads, kHeadsOfProbe))
    table.add({{fmt::format("{}.{}", head.place.layer, head.place.head)},
               {std::string(name_of(head.kind))},
               {short_number(head.answering_weight)},
               {short_number(head.asking_weight)},
               {short_number(head.asking_first)}});
  return table.text(colour);
}

}  // namespace

std::string text_of(const AuditResult& result, bool all, bool colour) {
  const Findings& f = *result.findings;
  std::string text = wrapped(result.verdict) + "\n\n";
  text +=
      wrapped(fmt::format("{}: {} layers of {} heads, trained on {} tokens. {}: {} excerpt{} of {} tokens.",
                          result.settings.model.file, f.layers, f.heads, grouped(f.trained), result.settings.text,
                          f.excerpts, f.excerpts == 1 ? "" : "s", length_text(f.lengths.back()))) +
      "\n";
  text += "Kinds on this text: " + kinds_text(f) + "\n\n";
  text += all ? "Every head, the bluntest first (sinks behind):\n" : "The worst heads (--all: every head):\n";
  text += heads_table(f, all ? f.by_head.size() : kWorstHeads, colour);
  text += "\nBy length, the median over heads:\n" + lengths_table(f, colour);
  if (f.lengths.back() > static_cast<double>(f.trained)) text += "* past the trained length\n";
  text += "\n" + forecast_table(f, colour);
  return text;
}

std::string text_of(const AuditResult& result, const HeadPlace& place, bool colour) {
  const Findings& f = *result.findings;
  const HeadFindings& head = f.by_head[static_cast<std::size_t>(place.layer * f.heads + place.head)];
  std::string text =
      wrapped(fmt::format("Head {}: {}; blunt at {}; slope of its entropy against ln n {} ({} outside)",
                          place_text(head.place), name_of(head.kind), blunting_text(head.blunting),
                          two(head.entropy_slope), two(head.entropy_slope_outside))) +
      "\n\n";
  Table table({Align::right, Align::right, Align::right, Align::right, Align::right, Align::right,
               Align::right, Align::right, Align::right});
  table.add({{"tokens", Ink::bold},
             {"entropy", Ink::bold},
             {"peak", Ink::bold},
             {"first", Ink::bold},
             {"outside", Ink::bold},
             {"support", Ink::bold},
             {"spread", Ink::bold},
             {"distance", Ink::bold},
             {"at best", Ink::bold}});
  for (std::size_t i = 0; i < f.lengths.size(); ++i) {
    const auto& s = head.at[i];
    table.add({{length_text(f.lengths[i]) + (f.lengths[i] > static_cast<double>(f.trained) ? "*" : "")},
               {two(s[RowField::entropy].median)},
               {short_number(s[RowField::peak].median)},
               {short_number(s[RowField::first].median)},
               {short_number(s[RowField::peak_outside].median)},
               {fmt::format("{:.0f}", s[RowField::support].median)},
               {fmt::format("{:.1f}", s[RowField::spread].median)},
               {fmt::format("{:.0f}", s[RowField::distance_outside].median)},
               {bound_text(s.peak_bound)}});
  }
  text += table.text(colour) + "\nKeys within so much of the largest score (medians):\n";
  Table gaps(std::vector<Align>(1 + kGapOctaves.size(), Align::right));
  std::vector<Cell> title{{"tokens", Ink::bold}};
  for (const double gap : kGapOctaves) title.push_back({fmt::format("{}", gap), Ink::bold});
  gaps.add(title);
  for (std::size_t i = 0; i < f.lengths.size(); ++i) {
    std::vector<Cell> row{{length_text(f.lengths[i])}};
    for (const double count : head.at[i].gap_counts) row.push_back({fmt::format("{:.0f}", count)});
    gaps.add(row);
  }
  return text + gaps.text(colour) +
         wrapped(
             "\n\"At best\" is the largest weight that any key could have among so many whose scores lie "
             "within this spread, under softmax.") +
         "\n";
}

std::string text_of(const ProbeResult& result, bool colour) {
  const std::int64_t heads = result.settings.model.heads;
  Table table({Align::right, Align::right, Align::right, Align::left, Align::right, Align::left}, 3);
  table.add({{"length", Ink::bold},
             {"questions", Ink::bold},
             {"right", Ink::bold},
             {"95 %", Ink::bold},
             {"best weight", Ink::bold},
             {"head", Ink::bold}});
  for (const ProbedLength& r : result.lengths) {
    const ItemHead best = best_heads(r, heads, 1).front();
    table.add({{grouped(r.length)},
               {std::to_string(r.questions)},
               {fmt::format("{:.2f}", r.share())},
               {fmt::format("{:.2f} to {:.2f}", r.low, r.high)},
               {short_number(best.answering_weight)},
               {fmt::format("{}.{}", best.place.layer, best.place.head)}});
  }
  std::string text = fmt::format("Probe {}{}, exact match of the greedy answer\n", result.settings.questions.probe,
                                 result.settings.questions.chat ? " in the chat template" : "");
  text += table.text(colour);
  if (result.lengths.empty()) return text;
  const ProbedLength& last = result.lengths.back();
  text += fmt::format("\nHeads that look at the right item, at {} tokens\n", grouped(last.length));
  text += heads_table(last, heads, colour);
  std::string kinds;
  for (const HeadKind kind : kHeadKinds)
    kinds +=
        fmt::format("{}{} {}", kinds.empty() ? "" : " · ", name_of(kind), heads_of(last, kind));
  text += "\nKinds while answering: " + kinds + "\n";
  text += "\n" +
          wrapped(
              "answering: mean weight on the item's tokens from the tokens of the right answer; asking: "
              "from the last token of the prompt; peak on it: how often that token's heaviest key is "
              "the item's") +
          "\n";
  return text;
}

}  // namespace sharpmax::cli
