// What `sharpmax fix` prints: the verdict, then tables of every candidate on the held-out part.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/table.h"
#include "sharpmax/fix.h"

namespace sharpmax::cli {

std::string text_of(const FixResult& result, bool colour);
std::string how_to_use(const FixResult& result, const FixRequest& request);

namespace {

constexpr std::size_t kColumns = 5;  // of a table by position or length

std::string signed_number(double value) { return fmt::format("{:+.3f}", value); }

std::string loss_cell(const LossChange& c) {
  if (c.tokens == 0) return "";
  if (std::isnan(c.low)) return signed_number(c.change);
  return fmt::format("{} +-{:.3f}", signed_number(c.change), 0.5 * (c.high - c.low));
}

std::string flips_cell(const Flips& f) { return fmt::format("+{} -{}", f.up, f.down); }

std::string share(std::int64_t right, std::int64_t questions) {
  return questions == 0 ? ""
                        : fmt::format("{:.2f}", static_cast<double>(right) / static_cast<double>(questions));
}

// Trials with a held-out outcome, in order; the first is doing nothing.
std::vector<std::size_t> shown(const FixResult& result) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < result.trials.size(); ++i)
    if (result.trials[i].held_out) places.push_back(i);
  return places;
}

Ink ink_of(const FixResult& result, std::size_t place) { return result.chosen() == place ? Ink::bold : Ink::plain; }

std::string label_of(const FixResult& result, std::size_t place) {
  return (result.chosen() == place ? "* " : "  ") + result.trials[place].rule;
}

std::string main_table(const FixResult& result, bool colour) {
  Table table({Align::left, Align::right, Align::right, Align::right, Align::right, Align::right}, 2);
  table.add({{"  rule", Ink::bold},
             {"heads", Ink::bold},
             {"loss", Ink::bold},
             {"right", Ink::bold},
             {"flips", Ink::bold},
             {"p", Ink::bold}});
  for (const std::size_t i : shown(result)) {
    const FixComparison c = result.on_held_out(i);
    const Ink ink = ink_of(result, i);
    if (i == 0) {
      table.add({{label_of(result, i)},
                 {"0"},
                 {fmt::format("{:.3f}        ", c.text.plain)},
                 {share(c.task.plain, c.task.questions)},
                 {""},
                 {""}});
      continue;
    }
    table.add({{label_of(result, i), ink},
               {std::to_string(result.trials[i].heads), ink},
               {loss_cell(c.text), ink},
               {share(c.task.rule, c.task.questions), ink},
               {flips_cell(c.task), ink},
               {fmt::format("{:.3f}", c.task.p), ink}});
  }
  return table.text(colour);
}

// One column per bucket, a few at a time if there are many.
template <class Heading, class Content>
std::string columns_table(const FixResult& result, std::size_t columns, const Heading& heading,
                          const Content& content, bool colour) {
  std::string text;
  for (std::size_t first = 0; first < columns; first += kColumns) {
    const std::size_t end = std::min(first + kColumns, columns);
    std::vector<Align> alignment(1 + end - first, Align::right);
    alignment[0] = Align::left;
    Table table(std::move(alignment), 2);
    std::vector<Cell> head{{"  rule", Ink::bold}};
    for (std::size_t i = first; i < end; ++i) head.push_back({heading(i), Ink::bold});
    table.add(std::move(head));
    for (const std::size_t place : shown(result)) {
      const FixComparison c = result.on_held_out(place);
      std::vector<Cell> row{{label_of(result, place), ink_of(result, place)}};
      for (std::size_t i = first; i < end; ++i) row.push_back({content(c, i, place), ink_of(result, place)});
      table.add(std::move(row));
    }
    text += table.text(colour) + "\n";
  }
  return text;
}

std::string by_position(const FixResult& result, bool colour) {
  const FixComparison plain = result.on_held_out(0);
  const auto heading = [&](std::size_t i) {
    return fmt::format("{}-{}", plain.buckets[i].from, plain.buckets[i].to);
  };
  const auto content = [](const FixComparison& c, std::size_t i, std::size_t place) {
    return place == 0 ? fmt::format("{:.3f}", c.buckets[i].plain) : signed_number(c.buckets[i].change);
  };
  return columns_table(result, plain.buckets.size(), heading, content, colour);
}

std::string by_length(const FixResult& result, bool colour) {
  const auto lengths = result.question_lengths();
  const auto heading = [&](std::size_t i) { return lengths[i] ? std::to_string(*lengths[i]) : "file"; };
  const auto content = [](const FixComparison& c, std::size_t i, std::size_t place) {
    const Flips& f = c.tasks[i];
    return place == 0 ? share(f.plain, f.questions)
                      : fmt::format("{} {}", share(f.rule, f.questions), flips_cell(f));
  };
  return columns_table(result, lengths.size(), heading, content, colour);
}

std::string criterion_sentence(const FixSettings& settings) {
  if (settings.for_ == "text") return "Chosen by the least loss.";
  if (settings.for_ == "task") return "Chosen by the most right answers, whatever the loss.";
  return fmt::format(
      "Chosen by right answers gained (share) minus loss added (nats), among candidates that add at most {}.",
      settings.allow);
}

}  // namespace

std::string text_of(const FixResult& result, bool colour) {
  const FixComparison plain = result.on_held_out(0);
  std::string text = inked(wrapped(result.verdict()), Ink::bold, colour) + "\n\n";
  text += wrapped(fmt::format(
              "Held out: {} tokens of text, {} questions. Loss in nats per token, as a change from "
              "doing nothing, with 95 % intervals; right: share of questions; flips: wrong to right "
              "and right to wrong; p: exact sign test. {}",
              grouped(plain.text.tokens), grouped(plain.task.questions), criterion_sentence(result.settings))) +
          "\n\n";
  text += main_table(result, colour);
  text += "\nLoss by tokens before\n" + by_position(result, colour);
  text += "Right answers by length of the question\n" + by_length(result, colour);
  return text;
}

// Options for `sharpmax run` and for llama.cpp.
std::string how_to_use(const FixResult& result, const FixRequest& request) {
  const std::size_t use = result.use();
  if (use == 0 && request.table.empty()) return "";
  const FixTrial& trial = result.trials[use];
  std::string text;
  if (!request.table.empty())
    text += wrapped(use == 0 ? fmt::format("{} holds plain softmax for every head.", request.table)
                             : fmt::format("sharpmax run {} --normalizers {}{}", request.model.model, request.table,
                                           trial.rope_scaling ? " --rope-scaling " + *trial.rope_scaling : "")) +
            "\n";
  if (use == 0) return text;
  return text +
         wrapped(trial.llama_cpp ? fmt::format("llama.cpp: {}", *trial.llama_cpp)
                                 : std::string("llama.cpp: none; no setting of it does the same")) +
         "\n";
}

}  // namespace sharpmax::cli
