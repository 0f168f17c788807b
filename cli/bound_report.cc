#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "cli/bound.h"
#include "cli/command.h"
#include "cli/table.h"
#include "sharpmax/machine.h"

namespace sharpmax::cli {
namespace {

using theory::PeakRange;

constexpr double kLargestWhole = 1e15;  // beyond it digits are noise

std::string keys_text(double n) {
  return n <= kLargestWhole ? grouped(static_cast<long long>(n)) : fmt::format("{:.2g}", n);
}
std::string column_text(double n) {
  const std::string text = n <= kLargestWhole ? short_count(static_cast<long long>(n)) : "";
  return text.empty() || text.size() > 6 ? fmt::format("{:.3g}", n) : text;
}

Json json_of(const theory::Range& range) { return {{"low", range.low}, {"high", range.high}}; }

Json json_of(const PeakRange& range, double n) {
  return {{"n", n},
          {"share", json_of(range.share)},
          {"untied_low", range.untied_low},
          {"ceiling", range.ceiling},
          {"weight", json_of(range.weight)},
          {"found_by", range.knowledge == theory::Knowledge::search ? "search" : "closed form"},
          {"sums_to_one", range.sums_to_one},
          {"moves_with_level", range.moves_with_level}};
}

Json json_of(const std::optional<double>& n) { return n ? Json(*n) : Json(nullptr); }

// Marks that the lines below the table explain.
std::string name_of(const NormalizerBounds& bounds) {
  if (bounds.ranges.empty()) return bounds.normalizer;
  const PeakRange& range = bounds.ranges.back();
  std::string marks;
  if (range.moves_with_level) marks += '*';
  if (range.knowledge == theory::Knowledge::search) marks += '~';
  if (range.untied_low > range.share.low) marks += '=';
  return marks.empty() ? bounds.normalizer : bounds.normalizer + " " + marks;
}

std::string lost_text(const theory::PeakLoss& loss) {
  if (!loss.lost) return "never";
  if (*loss.lost == 1.0 && !loss.regained) return "always";
  return keys_text(*loss.lost) +
         (loss.regained ? fmt::format(" to {}", keys_text(*loss.regained - 1.0)) : "");
}

std::string sure_text(const theory::PeakLoss& loss) { return loss.sure ? keys_text(*loss.sure) : "any n"; }

std::vector<Cell> bold(std::vector<std::string> words) {
  std::vector<Cell> cells;
  for (std::string& word : words) cells.push_back({std::move(word), Ink::bold});
  return cells;
}

// One number of keys: worst, best, and what was asked of the peak.
std::string single_table(const BoundResults& results, bool colour) {
  std::vector<std::string> heading{"normalizer", "at worst", "at best"};
  if (results.peak) heading.insert(heading.end(), {"lost at n", "sure to n"});
  std::vector<Align> columns(heading.size(), Align::right);
  columns[0] = Align::left;
  Table table(columns, 3);
  table.add(bold(heading));
  for (const NormalizerBounds& bounds : results.normalizers) {
    std::vector<Cell> row{{name_of(bounds)}};
    if (!bounds.refused.empty()) continue;
    row.push_back({short_number(bounds.ranges[0].untied_low)});
    row.push_back({short_number(bounds.ranges[0].share.high)});
    if (bounds.loss) {
      row.push_back({lost_text(*bounds.loss)});
      row.push_back({sure_text(*bounds.loss)});
    }
    table.add(row);
  }
  return table.text(colour);
}

// As many numbers of keys as fit the screen; a number of each range per column.
template <class Number>
std::string table_by_size(const BoundResults& results, const Number& number, bool colour) {
  constexpr std::size_t kColumns = 6;
  std::string text;
  for (std::size_t first = 0; first < results.sizes.size(); first += kColumns) {
    const std::size_t last = std::min(first + kColumns, results.sizes.size());
    std::vector<Align> columns(1 + last - first, Align::right);
    columns[0] = Align::left;
    Table table(columns, 3);
    std::vector<std::string> heading{"n"};
    for (std::size_t i = first; i < last; ++i) heading.push_back(column_text(results.sizes[i]));
    table.add(bold(heading));
    for (const NormalizerBounds& bounds : results.normalizers) {
      if (!bounds.refused.empty()) continue;
      std::vector<Cell> row{{name_of(bounds)}};
      for (std::size_t i = first; i < last; ++i) row.push_back({short_number(number(bounds.ranges[i]))});
      table.add(row);
    }
    text += table.text(colour) + (last < results.sizes.size() ? "\n" : "");
  }
  return text;
}

std::string loss_table(const BoundResults& results, bool colour) {
  Table table({Align::left, Align::right, Align::right}, 3);
  table.add(bold({"normalizer", "lost at n", "sure to n"}));
  for (const NormalizerBounds& bounds : results.normalizers)
    if (bounds.loss) table.add({{name_of(bounds)}, {lost_text(*bounds.loss)}, {sure_text(*bounds.loss)}});
  return table.text(colour);
}

// Weights as used, of those members whose weights do not sum to one, at the largest n.
std::string weight_table(const BoundResults& results, bool colour) {
  Table table({Align::left, Align::right, Align::right}, 3);
  table.add(bold({"weight as used", "at worst", "at best"}));
  bool any = false;
  for (const NormalizerBounds& bounds : results.normalizers) {
    if (bounds.ranges.empty() || bounds.ranges.back().sums_to_one) continue;
    const theory::Range& weight = bounds.ranges.back().weight;
    table.add({{bounds.normalizer}, {short_number(weight.low)}, {short_number(weight.high)}});
    any = true;
  }
  if (!any) return "";
  return fmt::format("\nWeights of these do not sum to one; n = {}:\n", keys_text(results.sizes.back())) +
         table.text(colour);
}

std::string notes(const BoundResults& results) {
  bool level = false, searched = false, ties = false;
  std::string text;
  for (const NormalizerBounds& bounds : results.normalizers) {
    if (!bounds.refused.empty()) text += wrapped(bounds.refused) + "\n";
    for (const PeakRange& range : bounds.ranges) {
      level |= range.moves_with_level;
      searched |= range.knowledge == theory::Knowledge::search;
      ties |= range.untied_low > range.share.low;
    }
  }
  if (level)
    text += wrapped(fmt::format("* changes when all scores move together: here they lie in [{:.6g}, {:.6g}]. "
                                "The share of the row's mass is shown.",
                                results.scores.bottom, results.scores.top),
                    kScreenWidth, 2) +
            "\n";
  if (searched) text += "~ the best row that a search found; --json has a ceiling that no row passes.\n";
  if (ties) text += "= of one first place; m exact ties for it may get 1/m each.\n";
  return text;
}

// 10^x as a number of keys, where it is one that can be read.
std::string length_text(double log10_n) {
  return log10_n < std::log10(kLargestWhole)
             ? keys_text(std::floor(std::pow(10.0, log10_n) * (1.0 + 1e-12)) + 1.0)
             : fmt::format("10^{:.1f}", log10_n);
}

double published_log10_length(const BoundResults& results) {
  return theory::log_dispersion_length(results.scores.spread(), results.softmax_peak()) / std::numbers::ln10;
}
double tight_log10_length(const BoundResults& results) {
  return theory::log_sharp_length(results.scores.spread(), results.softmax_peak()) / std::numbers::ln10;
}

// Paper A's lemma and theorem.
std::string lemma_lines(const BoundResults& results, bool colour) {
  const double gap = results.scores.spread();
  const std::string scaled = results.beta == 1.0 ? "" : fmt::format(", times {:.6g}", results.beta);
  std::string text =
      fmt::format("Scores at most {:.6g} apart{}. Every weight of softmax:\n", results.spread, scaled);
  Table table(std::vector<Align>(4, Align::right), 3);
  table.add(bold({"n", "at least", "at most", "as published"}));
  for (const double n : results.sizes) {
    const theory::Range published = theory::dispersion_bound(gap, n),
                        tight = theory::dispersion_range(gap, n);
    table.add({{keys_text(n)},
               {short_number(tight.low)},
               {short_number(tight.high)},
               {short_number(published.low) + " to " + short_number(published.high)}});
  }
  return text + table.text(colour) +
         wrapped(fmt::format("From n = {} on no key has {:.6g} (as published: from {}).",
                             length_text(tight_log10_length(results)), results.softmax_peak(),
                             length_text(published_log10_length(results)))) +
         "\n";
}

}  // namespace

Json to_json(const BoundResults& results) {
  const double gap = results.scores.spread();
  Json json{{"schema", "sharpmax.bound.spread/1"},
            {"sharpmax", version()},
            {"command", command_line()},
            {"created", utc_now()},
            {"spread", results.spread},
            {"beta", results.beta},
            {"scores", {results.scores.bottom, results.scores.top}},
            {"peak", json_of(results.peak)}};
  json["softmax"] = Json::array();
  for (const double n : results.sizes)
    json["softmax"].push_back({{"n", n},
                               {"published", json_of(theory::dispersion_bound(gap, n))},
                               {"tight", json_of(theory::dispersion_range(gap, n))}});
  json["softmax_lost"] = {{"peak", results.softmax_peak()},
                          {"log10_n", tight_log10_length(results)},
                          {"log10_n_published", published_log10_length(results)}};
  json["normalizers"] = Json::array();
  for (const NormalizerBounds& bounds : results.normalizers) {
    Json entry{{"normalizer", bounds.normalizer}};
    if (!bounds.refused.empty()) entry["refused"] = bounds.refused;
    entry["ranges"] = Json::array();
    for (std::size_t i = 0; i < bounds.ranges.size(); ++i)
      entry["ranges"].push_back(json_of(bounds.ranges[i], results.sizes[i]));
    if (bounds.loss)
      entry["loss"] = {{"lost", json_of(bounds.loss->lost)},
                       {"regained", json_of(bounds.loss->regained)},
                       {"sure", json_of(bounds.loss->sure)}};
    json["normalizers"].push_back(std::move(entry));
  }
  return json;
}

std::string report_of(const BoundResults& results, bool colour) {
  std::string text = lemma_lines(results, colour) + "\n";
  if (results.sizes.size() == 1) {
    text += fmt::format("The largest weight of a row of {} keys:\n", keys_text(results.sizes[0])) +
            single_table(results, colour);
  } else {
    text += "The largest weight of a row, at best:\n" +
            table_by_size(
                results, [](const PeakRange& range) { return range.share.high; }, colour) +
            "\n... and at worst:\n" +
            table_by_size(
                results, [](const PeakRange& range) { return range.untied_low; }, colour);
    if (results.peak)
      text += fmt::format("\nA weight of {:.6g}:\n", *results.peak) + loss_table(results, colour);
  }
  const std::string below = notes(results);
  return text + weight_table(results, colour) + (below.empty() ? "" : "\n" + below);
}

}  // namespace sharpmax::cli
