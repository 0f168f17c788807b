#include <fmt/format.h>

#include <cmath>

#include "audit/fix/llama_cpp_setting.h"
#include "cli/fix.h"
#include "cli/table.h"

namespace sharpmax::cli {
namespace {

using audit::Comparison;
using audit::Flips;
using audit::LossChange;
using audit::Part;

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

// Trials with a held-out outcome, in order, the first being nothing.
std::vector<std::size_t> shown(const FixAnswer& a) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < a.run.trials().size(); ++i)
    if (a.run.trials()[i].held_out) places.push_back(i);
  return places;
}

Ink ink_of(const FixAnswer& a, std::size_t place) { return a.chosen == place ? Ink::bold : Ink::plain; }

std::string label_of(const FixAnswer& a, std::size_t place) {
  return (a.chosen == place ? "* " : "  ") + a.run.trials()[place].name;
}

std::string main_table(const FixAnswer& a, bool colour) {
  Table table({Align::left, Align::right, Align::right, Align::right, Align::right, Align::right}, 2);
  table.add({{"  rule", Ink::bold},
             {"heads", Ink::bold},
             {"loss", Ink::bold},
             {"right", Ink::bold},
             {"flips", Ink::bold},
             {"p", Ink::bold}});
  for (const std::size_t i : shown(a)) {
    const Comparison c = a.run.compared(i, Part::held_out);
    const Ink ink = ink_of(a, i);
    if (i == 0) {
      table.add({{label_of(a, i)},
                 {"0"},
                 {fmt::format("{:.3f}        ", c.text.plain)},
                 {share(c.task.plain, c.task.questions)},
                 {""},
                 {""}});
      continue;
    }
    table.add({{label_of(a, i), ink},
               {std::to_string(a.run.trials()[i].table.changed), ink},
               {loss_cell(c.text), ink},
               {share(c.task.rule, c.task.questions), ink},
               {flips_cell(c.task), ink},
               {fmt::format("{:.3f}", c.task.p), ink}});
  }
  return table.text(colour);
}

// One column a bucket, a few at a time where there are many.
template <class Heading, class Content>
std::string columns_table(const FixAnswer& a, std::size_t columns, const Heading& heading,
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
    for (const std::size_t place : shown(a)) {
      const Comparison c = a.run.compared(place, Part::held_out);
      std::vector<Cell> row{{label_of(a, place), ink_of(a, place)}};
      for (std::size_t i = first; i < end; ++i) row.push_back({content(c, i, place), ink_of(a, place)});
      table.add(std::move(row));
    }
    text += table.text(colour) + "\n";
  }
  return text;
}

std::string by_position(const FixAnswer& a, bool colour) {
  const Comparison plain = a.run.compared(0, Part::held_out);
  const auto heading = [&](std::size_t i) {
    return fmt::format("{}-{}", plain.buckets[i].from, plain.buckets[i].to);
  };
  const auto content = [](const Comparison& c, std::size_t i, std::size_t place) {
    return place == 0 ? fmt::format("{:.3f}", c.buckets[i].plain) : signed_number(c.buckets[i].change);
  };
  return columns_table(a, plain.buckets.size(), heading, content, colour);
}

std::string by_length(const FixAnswer& a, bool colour) {
  const auto& tasks = a.run.plan().material.tasks;
  const auto heading = [&](std::size_t i) {
    return tasks[i].length == 0 ? "file" : std::to_string(tasks[i].length);
  };
  const auto content = [](const Comparison& c, std::size_t i, std::size_t place) {
    const Flips& f = c.tasks[i];
    return place == 0 ? share(f.plain, f.questions)
                      : fmt::format("{} {}", share(f.rule, f.questions), flips_cell(f));
  };
  return columns_table(a, tasks.size(), heading, content, colour);
}

std::string held_out_sentence(const Comparison& c) {
  return fmt::format(
      "the loss changes by {} nats a token ({} to {}), and {} of {} questions are right instead of {} "
      "({} up, {} down, p = {:.3f})",
      signed_number(c.text.change), signed_number(c.text.low), signed_number(c.text.high), c.task.rule,
      c.task.questions, c.task.plain, c.task.up, c.task.down, c.task.p);
}

std::string verdict(const FixAnswer& a) {
  if (!a.chosen)
    return fmt::format("Leave it as it is: none of the {} rules tried is better by the part to choose by.",
                       a.run.trials().size() - 1);
  const std::string& name = a.run.trials()[*a.chosen].name;
  const std::string sentence = held_out_sentence(a.run.compared(*a.chosen, Part::held_out));
  if (a.use == 0)
    return fmt::format(
        "Leave it as it is: {} came out best on the part to choose by, but held out {}, which is not "
        "shown to be better.",
        name, sentence);
  return fmt::format("Use {}: held out {}.", name, sentence);
}

std::string criterion_sentence(const audit::Criterion& c) {
  if (c.goal == audit::Goal::text) return "Chosen by the least loss.";
  if (c.goal == audit::Goal::task) return "Chosen by the most right answers, whatever the loss.";
  return fmt::format(
      "Chosen by right answers gained (share) less loss added (nats), among rules that add at most {}.",
      c.allowed_loss);
}

}  // namespace

FixAnswer answer_of(const audit::FixRun& run, const model::Configuration& configuration) {
  FixAnswer answer{run, configuration, run.chosen(), std::nullopt, 0};
  if (!answer.chosen) return answer;
  answer.finding = audit::judge_held_out(run.compared(*answer.chosen, Part::held_out), run.plan().criterion);
  if (answer.finding->better) answer.use = *answer.chosen;
  return answer;
}

std::string report_of(const FixAnswer& a, bool colour) {
  const Comparison plain = a.run.compared(0, Part::held_out);
  std::string text = inked(wrapped(verdict(a)), Ink::bold, colour) + "\n\n";
  text += wrapped(fmt::format(
              "Held out: {} tokens of text, {} questions. Loss in nats a token, as a change from "
              "doing nothing, with 95 % intervals; right: share of questions; flips: wrong to right "
              "and right to wrong; p: exact sign test. {}",
              grouped(plain.text.tokens), grouped(plain.task.questions),
              criterion_sentence(a.run.plan().criterion))) +
          "\n\n";
  text += main_table(a, colour);
  text += "\nLoss by tokens before\n" + by_position(a, colour);
  text += "Right answers by length of the question\n" + by_length(a, colour);
  return text;
}

std::string how_to_use(const FixAnswer& a, const FixOptions& o) {
  if (a.use == 0 && o.table.empty()) return "";
  const audit::RuleTable& table = a.run.trials()[a.use].table;
  std::string text;
  if (!o.table.empty())
    text += wrapped(a.use == 0 ? fmt::format("{} holds plain softmax for every head.", o.table)
                               : fmt::format("sharpmax run {} --normalizers {}{}", o.model.model, o.table,
                                             table.rope.empty() ? "" : " --rope-scaling " + table.rope)) +
            "\n";
  if (a.use == 0) return text;
  const auto setting = audit::llama_cpp_setting(table, a.configuration);
  return text +
         wrapped(setting ? fmt::format("llama.cpp: {}", *setting)
                         : std::string("llama.cpp: none; no setting of it does the same")) +
         "\n";
}

Json answer_json(const FixAnswer& a) {
  const audit::RuleTable& table = a.run.trials()[a.use].table;
  Json json{{"verdict", verdict(a)}, {"leave_it", a.use == 0}};
  json["chosen"] = a.chosen ? Json(a.run.trials()[*a.chosen].name) : Json();
  json["use"] = a.run.trials()[a.use].name;
  if (a.finding)
    json["finding"] = {{"better", a.finding->better},         {"loss_falls", a.finding->loss_falls},
                       {"loss_rises", a.finding->loss_rises}, {"task_gains", a.finding->task_gains},
                       {"task_loses", a.finding->task_loses}, {"loss_allowed", a.finding->loss_allowed}};
  json["rope_scaling"] = table.rope.empty() ? Json() : Json(table.rope);
  const auto setting = a.use == 0 ? std::nullopt : audit::llama_cpp_setting(table, a.configuration);
  json["llama_cpp"] = setting ? Json(*setting) : Json();
  return json;
}

}  // namespace sharpmax::cli
