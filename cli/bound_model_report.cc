#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/in_quotes.h"
#include "cli/bound_model.h"
#include "cli/model_text.h"
#include "cli/table.h"

namespace sharpmax::cli {
namespace {

using audit::HeadCertificate;
using Heads = std::vector<const HeadCertificate*>;

constexpr std::size_t kSurest = 5;  // heads shown before the layers
constexpr const char* kNothing = "says nothing useful";

std::string spread_text(double spread) {
  return spread < 100 ? fmt::format("{:.1f}", spread) : grouped(std::llround(spread));
}

std::string share_text(const BoundModelRun& run) { return fmt::format("{:g}", run.options.peak); }

std::string length_text(const BoundModelRun& run, const HeadCertificate& head) {
  if (run.useful(head)) return grouped(std::llround(std::ceil(std::exp(run.log_length(head)))));
  return head.window > 0 ? fmt::format("{}; window {}", kNothing, grouped(head.window)) : kNothing;
}

std::string name_of(const HeadCertificate& head) { return fmt::format("{}.{}", head.layer, head.head); }

Heads surest_first(Heads heads) {
  std::stable_sort(heads.begin(), heads.end(),
                   [](const auto* a, const auto* b) { return a->spread() < b->spread(); });
  return heads;
}

Heads heads_of(const BoundModelRun& run) {
  Heads heads;
  for (const HeadCertificate& head : run.heads) heads.push_back(&head);
  return heads;
}

const char* method_of(const HeadCertificate& head) {
  return head.vocabulary_spread && *head.vocabulary_spread <= head.norm_spread ? "tokens" : "norms";
}

std::string heads_table(const BoundModelRun& run, const Heads& heads, bool colour) {
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

// In quotes, as much as there is room for.
std::string shown(const model::Model& model, model::Token token) {
  constexpr std::size_t kRoom = 9;
  std::string text;
  for (const char byte : token_text(model, token)) {
    const std::string next = escaped({&byte, 1});
    if (text.size() + next.size() > kRoom) break;
    text += next;
  }
  return "'" + text + "'";
}

// Layer 0: how much of the bound some text really reaches.
std::string attained_table(const BoundModelRun& run, bool colour) {
  Table table({Align::right, Align::right, Align::right, Align::right, Align::right, Align::left});
  table.add({{"head", Ink::bold},
             {"norms", Ink::bold},
             {"tokens", Ink::bold},
             {"attained", Ink::bold},
             {"peak", Ink::bold},
             {"query; best and worst key", Ink::bold}});
  std::int64_t length = 0;
  for (const HeadCertificate& head : run.heads) {
    if (!head.attained || !head.vocabulary_spread) continue;
    const audit::AttainedRow& row = *head.attained;
    length = std::max(length, row.length);
    const auto token = [&](model::Token t) { return shown(*run.model, t); };
    table.add({{name_of(head)},
               {spread_text(head.norm_spread)},
               {spread_text(*head.vocabulary_spread)},
               {spread_text(row.spread)},
               {short_number(row.peak)},
               {fmt::format("{}; {} -{}; {} -{}", token(row.query), token(row.high), row.high_offset,
                            token(row.low), row.low_offset)}});
  }
  if (length == 0) return "";
  const std::string heading = fmt::format(
      "Layer 0: spreads certified by norms, and over all pairs of tokens; attained by a row of {} tokens, "
      "its query and two keys so many tokens before it; and the largest weight of a key that a sequence of "
      "that length was found to give:",
      grouped(length));
  return wrapped(heading) + "\n" + table.text(colour) + "\n";
}

// Of what is certified, in the middle of a layer's heads: by tokens where they were tried, else by inputs of
// the size that the norm leaves.
double median_reached(const Heads& layer) {
  std::vector<double> shares;
  for (const HeadCertificate* head : layer) {
    const double reached = head->attained ? head->attained->spread : head->norm_reached;
    shares.push_back(head->spread() > 0 ? reached / head->spread() : 1.0);
  }
  std::nth_element(shares.begin(), shares.begin() + std::ssize(shares) / 2, shares.end());
  return shares[shares.size() / 2];
}

std::string layers_table(const BoundModelRun& run, bool colour) {
  Table table({Align::right, Align::right, Align::right, Align::right, Align::right, Align::left});
  table.add({{"layer", Ink::bold},
             {"least", Ink::bold},
             {"median", Ink::bold},
             {"most", Ink::bold},
             {"reached", Ink::bold},
             {"lost from, tokens (surest head)", Ink::bold}});
  const Heads all = heads_of(run);
  const auto heads = static_cast<std::ptrdiff_t>(run.model->configuration().heads);
  for (auto first = all.begin(); first != all.end(); first += heads) {
    const Heads layer = surest_first({first, first + heads});
    table.add({{std::to_string(layer[0]->layer)},
               {spread_text(layer.front()->spread())},
               {spread_text(layer[layer.size() / 2]->spread())},
               {spread_text(layer.back()->spread())},
               {fmt::format("{:.0f} %", 100.0 * median_reached(layer))},
               {length_text(run, *layer[0])}});
  }
  return table.text(colour);
}

// The first sentence: what is proved, and of how many.
std::string proved_sentence(const BoundModelRun& run) {
  const Heads heads = surest_first(heads_of(run));
  std::vector<double> others;  // spreads of heads of which nothing is
  bool astronomic = false;
  for (const HeadCertificate* head : heads)
    if (!run.useful(*head)) {
      others.push_back(head->spread());
      astronomic = astronomic || run.log_length(*head) > std::log(run.horizon());
    }
  const std::size_t useful = heads.size() - others.size();
  const std::string claim = fmt::format(
      "the weights alone prove a length within {} tokens from which no input can give any key more than {} "
      "of "
      "the weight",
      grouped(std::llround(run.horizon())), share_text(run));
  if (others.empty()) return fmt::format("For every one of the {} heads {}.", heads.size(), claim);
  const std::string nothing =
      fmt::format("the bound says nothing useful: it allows spreads of {} to {}, and so lengths that {}",
                  spread_text(others.front()), spread_text(others.back()),
                  astronomic ? "are astronomic" : "no window has");
  if (useful == 0) return fmt::format("For all {} heads {}.", heads.size(), nothing);
  return fmt::format("For {} of {} heads {}; for the other {} {}.", useful, heads.size(), claim,
                     others.size(), nothing);
}

// The second: how much of that is slack.
std::string attained_sentence(const BoundModelRun& run) {
  std::int64_t heads = 0, sharp = 0, length = 0;
  for (const HeadCertificate& head : run.heads)
    if (head.attained) {
      ++heads;
      sharp += head.attained->peak > run.options.peak;
      length = std::max(length, head.attained->length);
    }
  if (heads == 0)
    return "Positions are learned and enter layer 0 with the tokens, so its heads, too, are bounded by norms "
           "alone.";
  return fmt::format(
      "In layer 0, where tokens can be tried, sequences of them were found that still give one key more than "
      "{} of the weight at {} tokens in {} of {} heads{}",
      share_text(run), grouped(length), sharp, heads,
      sharp > 0 ? ": of those no bound, however tight, could promise otherwise." : ".");
}

}  // namespace

std::string verdict_of(const BoundModelRun& run) {
  return proved_sentence(run) + " " + attained_sentence(run);
}

std::string report_of(const BoundModelRun& run, bool colour) {
  std::string text = wrapped(verdict_of(run)) + "\n\n";
  Heads heads = surest_first(heads_of(run));
  if (!run.options.all) {
    heads.resize(std::min(heads.size(), kSurest));
    text += "The surest heads (layer.head; --all shows every one):\n";
  } else {
    text += "Every head (layer.head), the surest first:\n";
  }
  text += heads_table(run, heads, colour) + "\n" + attained_table(run, colour);
  text += wrapped(
              "Certified spreads of scores by layer, over its heads, and the share of it that was reached "
              "(median "
              "head): in layer 0 by tokens, after it by hidden states of the right size, which no text need "
              "have:") +
          "\n" + layers_table(run, colour);
  if (std::any_of(run.heads.begin(), run.heads.end(), [](const auto& head) { return head.window > 0; }))
    text += "\nwindow w: a row of such a head never has more than w keys.\n";
  return text;
}

}  // namespace sharpmax::cli
