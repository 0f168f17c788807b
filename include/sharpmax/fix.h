// fix(): normalizers and positions tried on a real model, and whether one of them is better than leaving it as it is.
//
// The text and the questions are cut into two parts. Every candidate is tried on the tuning part, and one is chosen there.
// The winner of many trials looks too good on the data that chose it, so it alone is tested on the held-out part.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sharpmax/model.h"
#include "sharpmax/sweep.h"

namespace sharpmax {

inline constexpr const char* kFixSchema = "sharpmax.fix/1";

// What candidates are tried on, which they are, and how one is chosen.
struct FixChoices {
  TextRequest text;  // of it: the text
  std::int64_t tokens = 4096;
  std::int64_t length = 2048;
  std::string task;
  std::vector<std::int64_t> lengths = {512, 1024};
  std::int64_t questions = 40;
  bool chat = false;
  std::uint64_t seed = 0;
  Texts rule;
  std::string for_ = "both";
  double allow = 0.02;
  std::int64_t budget = 12;
  bool no_search = false;

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    each_material(self, visit);
    each_candidate(self, visit);
  }
  // What candidates are tried on.
  template <class Self, class Visit>
  static void each_material(Self& self, const Visit& visit) {
    visit(common({"text", "FILE", "Text",
                  "Text on which the loss is measured, UTF-8; - is standard input", {}, Field::Kind::input}),
          self.text.text);
    TextRequest::each_string(self.text, visit);
    visit({"tokens", "N", "Text", "Tokens used for selection; the same number is held out", range(64, 1LL << 40)},
          self.tokens);
    visit({"length", "N", "Text", "Tokens of a chunk that is read together", range(64, 1 << 30)}, self.length);
    visit(common({"task", "FILE", "Task",
                  "Questions, one per line: {\"prompt\": ..., \"answer\": ...} (default: generated look-up)", {}, Field::Kind::input}),
          self.task);
    visit(common({"lengths", "N,N", "Task",
                  "Lengths of the generated questions in tokens", range(16, 1 << 30)}), self.lengths);
    visit(common({"questions", "N", "Task", "Questions of each length used for selection; the same number is held out",
                  range(1, 1 << 20)}),
          self.questions);
    visit({"chat", "", "Task", "Ask in the model's chat template"}, self.chat);
    visit({"seed", "N", "Task", "Seed of the questions (default 0)"}, self.seed);
  }
  // Candidates, and the choice among them.
  template <class Self, class Visit>
  static void each_candidate(Self& self, const Visit& visit) {
    visit(common({"rule", "RULE", "Candidates", "Candidate to try; repeatable (default: a list)"}), self.rule);
    visit(common({"for_", "GOAL", "Candidates",
                  "Goal to choose by: text (the loss), task or both", one_of({"text", "task", "both"})}),
          self.for_);
    visit({"allow", "X", "Candidates", "Largest rise of the loss that the goal both allows, in nats per token", range(0, 100)},
          self.allow);
    visit({"budget", "N", "Candidates", "Trials of the greedy search over heads", range(1, 1 << 30)}, self.budget);
    visit({"no_search", "", "Candidates", "Do not search over heads"}, self.no_search);
  }
};

struct FixRequest : FixChoices {
  ModelRequest model;  // under plain softmax
  std::string table;
  Saving saving;
  Sharing sharing;
  ReadingOrder order;
  std::string command;  // for the results; empty: made from the fields

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    ModelRequest::each_field(self.model, [&](Field field, auto& value) {
      if (field.name.starts_with("normalizer")) field.common = false;  // fix() refuses them
      visit(field, value);
    });
    FixChoices::each_field(self, visit);
    visit(common({"table", "FILE", "Results",
                  "File for the table of normalizers that `sharpmax run --normalizers` takes", {},
                  Field::Kind::output}),
          self.table);
    Saving::each_field(self.saving, visit);
    Sharing::each_field(self.sharing, visit);
    ReadingOrder::each_field(self.order, visit);
  }
};

// Losses of neighboring tokens are not independent, so runs of kRunLength tokens (sharpmax/perplexity.h) count as one
// observation each. A run has the tokens with from .. from + kRunLength - 1 tokens before them.
struct TextRun {
  std::int64_t from = 0, tokens = 0;
  double loss = 0;  // sum, in nats
  bool operator==(const TextRun&) const = default;
};

// Outcome of one candidate on one part of the text and the questions.
struct FixOutcome {
  std::vector<TextRun> runs;             // of all chunks, in order
  std::vector<std::vector<bool>> right;  // by length of the question, by question
  bool operator==(const FixOutcome&) const = default;
};

// Change of the mean loss of tokens with at least `from` and fewer than `to` before them.
struct LossChange {
  std::int64_t from = 0, to = 0, tokens = 0;
  double plain = 0;          // mean loss without the candidate, in nats
  double change = 0;         // candidate minus plain; below 0: the candidate is better
  double low = 0, high = 0;  // 95 %, over the paired runs; NaN below two

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("from", self.from);
    visit("to", self.to);
    visit("tokens", self.tokens);
    visit("plain", self.plain);
    visit("change", self.change);
    visit("low", self.low);
    visit("high", self.high);
  }
};

// The same questions without and with the candidate: exact match.
struct Flips {
  std::int64_t questions = 0, plain = 0, rule = 0;  // asked, right without, right with
  std::int64_t up = 0, down = 0;                    // wrong to right, right to wrong
  double p = 1;  // two-sided sign test (McNemar's, exact); questions count as independent

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("questions", self.questions);
    visit("plain", self.plain);
    visit("rule", self.rule);
    visit("up", self.up);
    visit("down", self.down);
    visit("p", self.p);
  }
};

// A candidate against doing nothing.
struct FixComparison {
  LossChange text;                  // all tokens
  std::vector<LossChange> buckets;  // by position: 0–128, 128–512, 512–2048, …
  Flips task;                       // all questions
  std::vector<Flips> tasks;         // by length of the question
};

// What the held-out part says about the candidate that was chosen.
struct FixFinding {
  bool better = false;
  bool loss_falls = false, loss_rises = false;  // the interval lies on one side of 0
  bool task_gains = false, task_loses = false;  // p < 0.05
  bool loss_allowed = true;                     // the loss does not rise by more than `allow`

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("better", self.better);
    visit("loss_falls", self.loss_falls);
    visit("loss_rises", self.loss_rises);
    visit("task_gains", self.task_gains);
    visit("task_loses", self.task_loses);
    visit("loss_allowed", self.loss_allowed);
  }
};

// One candidate tried.
struct FixTrial {
  std::string rule;        // the first is "nothing"
  bool searched = false;   // by the search over heads: held out only if it is chosen
  std::int64_t heads = 0;  // that do not run under plain softmax
  std::optional<std::string> rope_scaling;
  std::string normalizers;  // table by layer and head as JSON, schema sharpmax.normalizers/1
  FixOutcome tuning;
  std::optional<FixOutcome> held_out;
  std::optional<std::string> llama_cpp;  // options that ask llama.cpp for the same; none: it cannot
};

// Heads as they are before anything is changed, by layer and head.
struct FixSurvey {
  std::int64_t layers = 0, heads = 0;
  std::vector<std::string> kind;      // sink, local, sharp, dispersing, mixed
  std::vector<double> entropy_slope;  // against ln n
  std::vector<double> short_entropy;  // median at about 512 tokens, in nats

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("layers", self.layers);
    visit("heads", self.heads);
    visit("kind", self.kind);
    visit("entropy_slope", self.entropy_slope);
    visit("short_entropy", self.short_entropy);
  }
};

// What the trials depend on: a job is resumed only under the same. `rule` has all candidates that are named; of questions in
// a file, `questions` is the number used for selection, and there are no `lengths`.
struct FixSettings : FixChoices {
  ModelSettings model;
  std::string fingerprint;  // of all tokens and answers

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("model", self.model);
    visit.fields(self);
    visit("fingerprint", self.fingerprint);
  }
};

struct FixResult {
  Provenance provenance;
  FixSettings settings;
  bool complete = false;
  std::vector<FixTrial> trials;     // the first is doing nothing
  std::optional<FixSurvey> survey;  // if complete

  // Lengths of the questions; none for those of a file.
  std::vector<std::optional<std::int64_t>> question_lengths() const;
  FixComparison on_tuning(std::size_t trial) const;
  FixComparison on_held_out(std::size_t trial) const;  // of a trial that has it
  double score_of(std::size_t trial) const;            // on the tuning part; the larger the better, 0: doing nothing
  // Fields of complete results.
  std::optional<std::size_t> chosen() const;  // on the tuning part; none: nothing is better there
  std::optional<FixFinding> finding() const;  // about the chosen one
  std::size_t use() const;                    // the trial to use; 0: leave it as it is
  std::string verdict() const;                // in one sentence
};

// Throws Error, and Interrupted if the listener does; finished trials are then in `saving.json`.
FixResult fix(const FixRequest& request, Listener& listener = nobody());

// How far the job in `sharing.directory` is. Throws RequestError if there is none.
RunStatus status_of(const FixRequest& request);

Json to_json(const FixResult& result);   // schema sharpmax.fix/1
FixResult fix_result(const Json& json);  // throws Error{bad_file}

}  // namespace sharpmax
