// The text of one head of an audit: what it did at every length.
#include <fmt/format.h>

#include <cmath>

#include "cli/table.h"
#include "sharpmax/audit.h"

namespace sharpmax::cli {

std::string text_of(const AuditResult& result, const HeadPlace& place, bool colour);

namespace {

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

}  // namespace

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

}  // namespace sharpmax::cli
