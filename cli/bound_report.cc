// What `sharpmax bound` prints: bounds of a spread, then bounds of the heads of a model.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/in_quotes.h"
#include "cli/table.h"
#include "sharpmax/bound.h"
#include "theory/dispersion.h"

namespace sharpmax::cli {

std::string text_of(const BoundResult& result, bool colour);
std::string text_of(const ModelBoundResult& result, bool every_head, bool colour);

namespace {

constexpr double kLargestWhole = 1e15;  // beyond it digits are noise

std::string keys_text(double n) {
  return n <= kLargestWhole ? grouped(static_cast<long long>(n)) : fmt::format("{:.2g}", n);
}
std::string column_text(double n) {
  const std::string text = n <= kLargestWhole ? short_count(static_cast<long long>(n)) : "";
  return text.empty() || text.size() > 6 ? fmt::format("{:.3g}", n) : text;
}

bool searched(const PeakBound& range) { return range.found_by == "search"; }

// With marks that the lines below the table explain.
std::string name_of(const NormalizerBounds& bounds) {
  if (bounds.ranges.empty()) return bounds.normalizer;
  const PeakBound& range = bounds.ranges.back();
  std::string marks;
  if (range.moves_with_level) marks += '*';
  if (searched(range)) marks += '~';
  if (range.untied_low > range.share.low) marks += '=';
  return marks.empty() ? bounds.normalizer : bounds.normalizer + " " + marks;
}

std::string lost_text(const PeakLossBound& loss) {
  if (!loss.lost) return "never";
  if (*loss.lost == 1.0 && !loss.regained) return "always";
  return keys_text(*loss.lost) +
         (loss.regained ? fmt::format(" to {}", keys_text(*loss.regained - 1.0)) : "");
}

std::string sure_text(const PeakLossBound& loss) { return loss.sure ? keys_text(*loss.sure) : "any n"; }

std::vector<Cell> bold(std::vector<std::string> words) {
  std::vector<Cell> cells;
  for (std::string& word : words) cells.push_back({std::move(word), Ink::bold});
  return cells;
}

// One number of keys: worst, best, and what was asked of the peak.
std::string single_table(const BoundResult& result, bool colour) {
  std::vector<std::string> heading{"normalizer", "at worst", "at best"};
  if (result.peak) heading.insert(heading.end(), {"lost at n", "sure to n"});
  std::vector<Align> columns(heading.size(), Align::right);
  columns[0] = Align::left;
  Table table(columns, 3);
  table.add(bold(heading));
  for (const NormalizerBounds& bounds : result.normalizers) {
    std::vector<Cell> row{{name_of(bounds)}};
    if (bounds.refused) continue;
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
std::string table_by_size(const BoundResult& result, const Number& number, bool colour) {
  constexpr std::size_t kColumns = 6;
  std::string text;
  for (std::size_t first = 0; first < result.softmax.size(); first += kColumns) {
    const std::size_t last = std::min(first + kColumns, result.softmax.size());
    std::vector<Align> columns(1 + last - first, Align::right);
    columns[0] = Align::left;
    Table table(columns, 3);
    std::vector<std::string> heading{"n"};
    for (std::size_t i = first; i < last; ++i) heading.push_back(column_text(result.softmax[i].n));
    table.add(bold(heading));
    for (const NormalizerBounds& bounds : result.normalizers) {
      if (bounds.refused) continue;
      std::vector<Cell> row{{name_of(bounds)}};
      for (std::size_t i = first; i < last; ++i) row.push_back({short_number(number(bounds.ranges[i]))});
      table.add(row);
    }
    text += table.text(colour) + (last < result.softmax.size() ? "\n" : "");
  }
  return text;
}

std::string loss_table(const BoundResult& result, bool colour) {
  Table table({Align::left, Align::right, Align::right}, 3);
  table.add(bold({"normalizer", "lost at n", "sure to n"}));
  for (const NormalizerBounds& bounds : result.normalizers)
    if (bounds.loss) table.add({{name_of(bounds)}, {lost_text(*bounds.loss)}, {sure_text(*bounds.loss)}});
  return table.text(colour);
}

// Weights as used, of those members whose weights do not sum to one, at the largest n.
std::string weight_table(const BoundResult& result, bool colour) {
  Table table({Align::left, Align::right, Align::right}, 3);
  table.add(bold({"weight as used", "at worst", "at best"}));
  bool any = false;
  for (const NormalizerBounds& bounds : result.normalizers) {
    if (bounds.ranges.empty() || bounds.ranges.back().sums_to_one) continue;
    const BoundRange& weight = bounds.ranges.back().weight;
    table.add({{bounds.normalizer}, {short_number(weight.low)}, {short_number(weight.high)}});
    any = true;
  }
  if (!any) return "";
  return fmt::format("\nWeights of these do not sum to one; n = {}:\n", keys_text(result.softmax.back().n)) +
         table.text(colour);
}

std::string notes(const BoundResult& result) {
  bool level = false, by_search = false, ties = false;
  std::string text;
  for (const NormalizerBounds& bounds : result.normalizers) {
    if (bounds.refused) text += wrapped(*bounds.refused) + "\n";
    for (const PeakBound& range : bounds.ranges) {
      level |= range.moves_with_level;
      by_search |= searched(range);
      ties |= range.untied_low > range.share.low;
    }
  }
  if (level)
    text += wrapped(fmt::format("* changes when all scores move together: here they lie in [{:.6g}, {:.6g}]. "
                                "The share of the row's mass is shown.",
                                result.scores.first, result.scores.second),
                    kScreenWidth, 2) +
            "\n";
  if (by_search) text += "~ the best row that a search found; --json has a ceiling that no row passes.\n";
  if (ties) text += "= of one first place; m exact ties for it may get 1/m each.\n";
  return text;
}

// 10^x as a number of keys, if it is one that can be read.
std::string length_text(double log10_n) {
  return log10_n < std::log10(kLargestWhole)
             ? keys_text(std::floor(std::pow(10.0, log10_n) * (1.0 + 1e-12)) + 1.0)
             : fmt::format("10^{:.1f}", log10_n);
}

// Paper A's lemma and theorem.
std::string lemma_lines(const BoundResult& result, bool colour) {
  const std::string scaled = result.beta == 1.0 ? "" : fmt::format(", times {:.6g}", result.beta);
  std::string text = fmt::format("Scores at most {:.6g} apart{}. Every weight of softmax:\n", result.spread, scaled);
  Table table(std::vector<Align>(4, Align::right), 3);
  table.add(bold({"n", "at least", "at most", "as published"}));
  for (const SoftmaxBound& row : result.softmax)
    table.add({{keys_text(row.n)},
               {short_number(row.tight.low)},
               {short_number(row.tight.high)},
               {short_number(row.published.low) + " to " + short_number(row.published.high)}});
  const SoftmaxLoss& lost = result.softmax_lost;
  return text + table.text(colour) +
         wrapped(fmt::format("From n = {} on no key has {:.6g} (as published: from {}).", length_text(lost.log10_n),
                             lost.peak, length_text(lost.log10_n_published))) +
         "\n";
}

}  // namespace

std::string text_of(const BoundResult& result, bool colour) {
  std::string text = lemma_lines(result, colour) + "\n";
  if (result.softmax.size() == 1) {
    text += fmt::format("The largest weight of a row of {} keys:\n", keys_text(result.softmax[0].n)) +
            single_table(result, colour);
  } else {
    text += "The largest weight of a row, at best:\n" +
            table_by_size(
                result, [](const PeakBound& range) { return range.share.high; }, colour) +
            "\n... and at worst:\n" +
            table_by_size(
                result, [](const PeakBound& range) { return range.untied_low; }, colour);
    if (result.peak) text += fmt::format("\nA weight of {:.6g}:\n", *result.peak) + loss_table(result, colour);
  }
  const std::string below = notes(result);
  return text + weight_table(result, colour) + (below.empty() ? "" : "\n" + below);
}

namespace {

using Heads = std::vector<const HeadBound*>;

constexpr std::size_t kSurest = 5;  // heads shown before the layers
constexpr const char* kNothing = "says nothing useful";

std::string length_text(const ModelBoundResult& result, const HeadBound& head) {
  if (head.useful)
    return grouped(std::llround(std::ceil(std::exp(theory::log_sharp_length(head.spread, result.peak, result.beta)))));
  return head.window ? fmt::format("{}; window {}", kNothing, grouped(*head.window)) : kNothing;
}

std::string name_of(const HeadBound& head) { return fmt::format("{}.{}", head.layer, head.head); }

Heads surest_first(Heads heads) {
  std::stable_sort(heads.begin(), heads.end(),
                   [](const auto* a, const auto* b) { return a->spread < b->spread; });
  return heads;
}

Heads heads_of(const ModelBoundResult& result) {
  Heads heads;
  for (const HeadBound& head : result.heads) heads.push_back(&head);
  return heads;
}

const char* method_of(const HeadBound& head) {
  return head.vocabulary_spread && *head.vocabulary_spread <= head.norm_spread ? "tokens" : "norms";
}

std::string heads_table(const ModelBoundResult& result, const Heads& heads, bool colour) {
  Table table({Align::right, Align::right, Align::left, Align::left});
  table.add({{"head", Ink::bold},
             {"spread at most", Ink::bold},
             {"by", Ink::bold},
             {"lost for every input from, tokens", Ink::bold}});
  for (const HeadBound* head : heads)
    table.add(
        {{name_of(*head)}, {one_decimal(head->spread)}, {method_of(*head)}, {length_text(result, *head)}});
  return table.text(colour);
}

// In quotes, as much as there is room for.
std::string shown(const AttainedToken& token) {
  constexpr std::size_t kRoom = 9;
  std::string text;
  for (const char byte : token.text) {
    const std::string next = escaped({&byte, 1});
    if (text.size() + next.size() > kRoom) break;
    text += next;
  }
  return "'" + text + "'";
}

// Layer 0: how much of the bound some text really reaches.
std::string attained_table(const ModelBoundResult& result, bool colour) {
  Table table({Align::right, Align::right, Align::right, Align::right, Align::right, Align::left});
  table.add({{"head", Ink::bold},
             {"norms", Ink::bold},
             {"tokens", Ink::bold},
             {"attained", Ink::bold},
             {"peak", Ink::bold},
             {"query; best and worst key", Ink::bold}});
  std::int64_t length = 0;
  for (const HeadBound& head : result.heads) {
    if (!head.attained || !head.vocabulary_spread) continue;
    const AttainedRow& row = *head.attained;
    length = std::max(length, row.length);
    table.add({{name_of(head)},
               {one_decimal(head.norm_spread)},
               {one_decimal(*head.vocabulary_spread)},
               {one_decimal(row.spread)},
               {short_number(row.peak)},
               {fmt::format("{}; {} -{}; {} -{}", shown(row.query), shown(row.high), row.high.offset.value_or(0),
                            shown(row.low), row.low.offset.value_or(0))}});
  }
  if (length == 0) return "";
  const std::string heading = fmt::format(
      "Layer 0: spreads certified by norms, and over all pairs of tokens; attained by a row of {} tokens, "
      "its query and two keys so many tokens before it; and the largest weight of a key that a sequence of "
      "that length was found to give:",
      grouped(length));
  return wrapped(heading) + "\n" + table.text(colour) + "\n";
}

// Share of the certified spread that was reached, median head of a layer: by tokens if they were tried, else by inputs of the
// size that the norm leaves.
double median_reached(const Heads& layer) {
  std::vector<double> shares;
  for (const HeadBound* head : layer) {
    const double reached = head->attained ? head->attained->spread : head->norm_reached;
    shares.push_back(head->spread > 0 ? reached / head->spread : 1.0);
  }
  std::nth_element(shares.begin(), shares.begin() + std::ssize(shares) / 2, shares.end());
  return shares[shares.size() / 2];
}

std::string layers_table(const ModelBoundResult& result, bool colour) {
  Table table({Align::right, Align::right, Align::right, Align::right, Align::right, Align::left});
  table.add({{"layer", Ink::bold},
             {"least", Ink::bold},
             {"median", Ink::bold},
             {"most", Ink::bold},
             {"reached", Ink::bold},
             {"lost from, tokens (surest head)", Ink::bold}});
  const Heads all = heads_of(result);
  const auto heads = static_cast<std::ptrdiff_t>(result.model.heads);
  for (auto first = all.begin(); first != all.end(); first += heads) {
    const Heads layer = surest_first({first, first + heads});
    table.add({{std::to_string(layer[0]->layer)},
               {one_decimal(layer.front()->spread)},
               {one_decimal(layer[layer.size() / 2]->spread)},
               {one_decimal(layer.back()->spread)},
               {fmt::format("{:.0f} %", 100.0 * median_reached(layer))},
               {length_text(result, *layer[0])}});
  }
  return table.text(colour);
}

}  // namespace

std::string text_of(const ModelBoundResult& result, bool every_head, bool colour) {
  std::string text = wrapped(result.verdict) + "\n\n";
  Heads heads = surest_first(heads_of(result));
  if (!every_head) {
    heads.resize(std::min(heads.size(), kSurest));
    text += "The surest heads (layer.head; --all shows every one):\n";
  } else {
    text += "Every head (layer.head), the surest first:\n";
  }
  text += heads_table(result, heads, colour) + "\n" + attained_table(result, colour);
  text += wrapped(
              "Certified spreads of scores by layer, over its heads, and the share of it that was reached "
              "(median "
              "head): in layer 0 by tokens, after it by hidden states of the right size, which no text need "
              "have:") +
          "\n" + layers_table(result, colour);
  if (std::any_of(result.heads.begin(), result.heads.end(), [](const auto& head) { return head.window.has_value(); }))
    text += "\nwindow w: a row of such a head never has more than w keys.\n";
  return text;
}

}  // namespace sharpmax::cli
