#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/in_quotes.h"
#include "cli/bound_model.h"
#include "cli/table.h"

namespace sharpmax::cli {
namespace {

using audit::HeadCertificate;
using Align = Table::Align;

constexpr std::size_t kSurest = 5;  // heads shown before the layers
constexpr const char* kNothing = "says nothing useful";

std::string spread_text(double spread) {
  return spread < 100 ? fmt::format("{:.1f}", spread) : grouped(std::llround(spread));
}

std::string length_text(const BoundModelRun& run, const HeadCertificate& head) {
  if (run.useful(head)) return grouped(std::llround(std::ceil(std::exp(run.log_length(head)))));
  return head.window > 0 ? fmt::format("{} (window: never more than {} keys)", kNothing, grouped(head.window))
                         : kNothing;
}

std::string name_of(const HeadCertificate& head) { return fmt::format("{}.{}", head.layer, head.head); }

std::vector<const HeadCertificate*> surest_first(const BoundModelRun& run) {
  std::vector<const HeadCertificate*> heads;
  for (const HeadCertificate& head : run.heads) heads.push_back(&head);
  std::stable_sort(heads.begin(), heads.end(),
                   [](const auto* a, const auto* b) { return a->spread() < b->spread(); });
  return heads;
}

const char* method_of(const HeadCertificate& head) {
  return head.vocabulary_spread && *head.vocabulary_spread <= head.norm_spread ? "tokens" : "norms";
}

std::string heads_table(const BoundModelRun& run, const std::vector<const HeadCertificate*>& heads,
                        bool colour) {
  Table table({Align::right, Align::right, Align::left, Align::left});
  table.add({{"head", Ink::bold},
             {"spread at most", Ink::bold},
             {"by", Ink::bold},
             {"lost for every input from, tokens", Ink::bold}});
  for (const HeadCertificate* head : heads)
    table.add(
        {{name_of(*head)}, {spread_text(head->spread())}, {method_of(*head)}, {length_text(run, *head)}});
  return table.text(colour);
}

// Layer 0: how much of the bound some text really reaches.
std::string attained_table(const BoundModelRun& run, bool colour) {
  Table table({Align::right, Align::right, Align::right, Align::right, Align::right, Align::left});
  table.add({{"head", Ink::bold},
             {"norms", Ink::bold},
             {"tokens", Ink::bold},
             {"attained", Ink::bold},
             {"peak", Ink::bold},
             {"query; its best and worst key, tokens before", Ink::bold}});
  constexpr std::size_t kTextWidth = 12;
  const auto shown = [&](model::Token token) {
    std::string text = escaped(token_text(*run.model, token));
    if (text.size() > kTextWidth) text.resize(kTextWidth);
    return text;
  };
  std::int64_t length = 0;
  for (const HeadCertificate& head : run.heads) {
    if (!head.attained || !head.vocabulary_spread) continue;
    const audit::AttainedRow& row = *head.attained;
    length = std::max(length, row.length);
    table.add({{name_of(head)},
               {spread_text(head.norm_spread)},
               {spread_text(*head.vocabulary_spread)},
               {spread_text(row.spread)},
               {short_number(row.peak)},
               {fmt::format("{}; {} -{}; {} -{}", shown(row.query), shown(row.high), row.high_offset,
                            shown(row.low), row.low_offset)}});
  }
  if (length == 0) return "";
  return wrapped(fmt::format(
             "Layer 0: spreads certified by norms and over all pairs of tokens; attained by a row "
             "of {} tokens; and the largest weight of a key that some text of that length was "
             "found to give:",
             grouped(length))) +
         "\n" + table.text(colour) + "\n";
}

std::string layers_table(const BoundModelRun& run, bool colour) {
  Table table({Align::right, Align::right, Align::right, Align::right, Align::left});
  table.add({{"layer", Ink::bold},
             {"least", Ink::bold},
             {"median", Ink::bold},
             {"most", Ink::bold},
             {"lost for every input from, tokens (its surest head)", Ink::bold}});
  const auto heads = static_cast<std::size_t>(run.model->configuration().heads);
  for (std::size_t first = 0; first < run.heads.size(); first += heads) {
    std::vector<const HeadCertificate*> layer;
    for (std::size_t i = first; i < first + heads; ++i) layer.push_back(&run.heads[i]);
    std::stable_sort(layer.begin(), layer.end(),
                     [](const auto* a, const auto* b) { return a->spread() < b->spread(); });
    table.add({{std::to_string(layer[0]->layer)},
               {spread_text(layer.front()->spread())},
               {spread_text(layer[heads / 2]->spread())},
               {spread_text(layer.back()->spread())},
               {length_text(run, *layer[0])}});
  }
  return table.text(colour);
}

std::string attained_sentence(const BoundModelRun& run) {
  std::int64_t heads = 0, sharp = 0, length = 0;
  for (const HeadCertificate& head : run.heads)
    if (head.attained) {
      ++heads;
      sharp += head.attained->peak > run.options.peak;
      length = std::max(length, head.attained->length);
    }
  if (heads == 0) {
    return run.model->weights().positions ? "Positions are learned and enter layer 0 with the tokens, so "
                                            "that its heads, too, are bounded by "
                                            "norms alone."
                                          : "";
  }
  return fmt::format(
      "In layer 0, where tokens can be tried, texts were found that still give one key more than {} "
      "of the weight at {} tokens in {} of {} heads{}",
      short_number(run.options.peak), grouped(length), sharp, heads,
      sharp > 0 ? ": there no bound whatever could promise less." : ".");
}

}  // namespace

std::string verdict_of(const BoundModelRun& run) {
  const auto heads = surest_first(run);
  const auto useful = static_cast<std::size_t>(
      std::count_if(heads.begin(), heads.end(), [&](const auto* head) { return run.useful(*head); }));
  const std::string share = short_number(run.options.peak);
  std::string text;
  if (useful == heads.size()) {
    text = fmt::format(
        "For every one of the {} heads the weights alone prove a length within {} tokens from which no "
        "input can give any key more than {} of the weight.",
        heads.size(), grouped(std::llround(run.horizon())), share);
  } else {
    text = fmt::format(
        "For {} of {} heads the weights alone prove a length within {} tokens from which no input can "
        "give any key more than {} of the weight; for the other {} the bound says nothing useful: it "
        "allows spreads of {} to {}, and so lengths that are astronomic.",
        useful, heads.size(), grouped(std::llround(run.horizon())), share, heads.size() - useful,
        spread_text(heads[useful]->spread()), spread_text(heads.back()->spread()));
  }
  const std::string more = attained_sentence(run);
  return more.empty() ? text : text + " " + more;
}

std::string report_of(const BoundModelRun& run, bool colour) {
  std::string text = wrapped(verdict_of(run)) + "\n\n";
  auto heads = surest_first(run);
  if (!run.options.all) {
    heads.resize(std::min(heads.size(), kSurest));
    text += "The surest heads (layer.head; --all shows every one):\n";
  } else {
    text += "Every head (layer.head), the surest first:\n";
  }
  text += heads_table(run, heads, colour) + "\n" + attained_table(run, colour);
  text += "Certified spreads of scores by layer, over its heads:\n" + layers_table(run, colour);
  return text;
}

}  // namespace sharpmax::cli
