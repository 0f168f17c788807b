// A run of `fix`: every rule tried in turn, the search over heads, the choice; and its trials as JSON.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "audit/fix/rule.h"
#include "audit/probe/question.h"
#include "model/job/model_request.h"
#include "model/transformer/layer_pass.h"
#include "model/transformer/normalizer_table.h"
#include "model/transformer/session.h"
#include "sharpmax/fix.h"

namespace sharpmax::audit {

// What rules are tried on, in two parts: one to choose by, one held out to report on.

enum class Part { tuning, held_out };

// Questions of one length, or all of a file's.
struct TaskSet {
  std::int64_t length = 0;  // 0: a file's
  std::vector<Question> tuning, held_out;
};

struct Material {
  std::vector<std::vector<model::Token>> tuning, held_out;  // chunks of the text
  std::vector<TaskSet> tasks;

  const std::vector<std::vector<model::Token>>& text(Part part) const {
    return part == Part::tuning ? tuning : held_out;
  }
  static const std::vector<Question>& questions(const TaskSet& task, Part part) {
    return part == Part::tuning ? task.tuning : task.held_out;
  }
  // A part in shares that are read independently: a chunk of the text each, then the questions of a length each.
  std::size_t shares(Part part) const { return text(part).size() + tasks.size(); }
  // Tokens that a share, or all of a part, takes to read, about: what work is measured by.
  std::int64_t cost(Part part, std::size_t share) const;
  std::int64_t cost(Part part) const;
  // Tokens that a session must have room for; of the chunks alone, and of the questions alone.
  std::int64_t room(const model::Tokenizer& tokenizer) const;
  std::int64_t text_room() const;
  std::int64_t question_room(const model::Tokenizer& tokenizer) const;
};

// The first `tokens` of the text to the one part, as many after them to the other, in chunks of `length`;
// half of the text each if it is shorter. Every chunk begins with the token that the model expects before
// a text. Error{bad_argument} where a part would have fewer than kLeastTokens.
inline constexpr std::int64_t kLeastTokens = 64;
void add_text(Material& material, const model::Tokenizer& tokenizer, std::span<const model::Token> text,
              std::int64_t tokens, std::int64_t length);

// `questions` for either part at each length; parts share no context.
void add_probe(Material& material, const model::Model& model, const Probe& probe,
               std::span<const std::int64_t> lengths, std::int64_t questions);

// A line each: {"prompt": "...", "answer": "..."}. Lines go to either part by turns, after a shuffle by seed.
// Error{bad_file} names the line. `name` is the file's.
void add_task_file(Material& material, const model::Tokenizer& tokenizer, std::string_view text,
                   std::string_view name, std::uint64_t seed);

// One rule tried: losses on text, and which questions were answered right.

using sharpmax::TextRun;
using Outcome = FixOutcome;

// Reads one part of the material from the beginning. `on_cost` hears how much of Material::cost() is
// through.
Outcome try_on(model::Session& session, const Material& material, Part part,
               const std::function<void(std::int64_t)>& on_cost = {});

// The same for one share; append() joins outcomes of the shares of a part, in their order.
Outcome try_share(model::Session& session, const Material& material, Part part, std::size_t share,
                  const std::function<void(std::int64_t)>& on_cost = {});
void append(Outcome& outcome, Outcome share);

std::vector<TextRun> runs_of(
    std::span<const float> losses);  // of one chunk; losses[i] has i + 1 tokens before it

// A rule against doing nothing, and which rule is best by what the user is after.

// A rule against doing nothing, on the same tokens and the same questions.

using sharpmax::Flips;
using sharpmax::LossChange;
using Comparison = FixComparison;

// Both of the same part of the same material. A part without text or questions has zeros.
Comparison compare(const Outcome& plain, const Outcome& rule);

// Which rule is best by what the user is after, and whether it may be called better than doing nothing.
//
// Many rules are tried on the tuning part, so the best of them looks better there than it is. One is chosen
// by its score on that part, and that one alone is tested on the part held out.

inline constexpr double kSignificant = 0.05;  // p of the sign test below which a change of answers counts

enum class Goal { text, task, both };
Goal goal_of(std::string_view name);  // Error{bad_argument}
std::string_view name_of(Goal goal);

struct Criterion {
  Goal goal = Goal::both;
  double allowed_loss = 0.02;  // both: largest rise of the loss for a better look-up, nats per token
};

// The larger the better; 0 is doing nothing. text: the loss that is saved. task: the share of questions
// gained. both: their sum, one nat per token against all questions. Minus infinity for what the goal rules out,
// or NaN losses.
double score(const Comparison& tuning, const Criterion& criterion);

// The place of the largest score above 0, the first of equals; none: leave it as it is.
std::optional<std::size_t> best_of(std::span<const double> scores);

using Finding = FixFinding;
// What the held-out part says about the rule that was chosen.
Finding judge_held_out(const Comparison& held_out, const Criterion& criterion);
// What a finding that is not better shows, as the end of a sentence: "which is worse".
std::string_view shortfall(const Finding& finding, Goal goal);

// Which heads should run under a rule: a greedy search over groups of heads, coarse to fine.
//
// Six blocks of layers, then single layers, then single heads: each group in turn is switched (off if any of
// its heads is on) and stays so where the score improves. The order is fixed, so the same scores give the
// same search.

class HeadSearch {
 public:
  // `on`: what a head runs under that is switched on, [layer, head] of all, `off`: one that is not; `members`: those
  // that are on at the start, whose score is `start`. At most `budget` tables are handed out.
  HeadSearch(model::NormalizerTable on, model::NormalizerTable off, std::vector<bool> members, double start,
             std::int64_t budget);

  // The next table to try; none: the search is over. Each must be answered by report() before the next.
  std::optional<model::NormalizerTable> next();
  void report(double score);

  const std::vector<bool>& members() const noexcept { return members_; }
  double best() const noexcept { return best_; }
  // What next() handed out last: "off: layers 0-4".
  const std::string& last() const noexcept { return last_; }

 private:
  struct Group {
    std::string name;
    std::vector<std::size_t> heads;
  };
  void add_layers(std::int64_t first, std::int64_t end);
  model::NormalizerTable table_of(const std::vector<bool>& members) const;

  model::NormalizerTable on_, off_;
  std::vector<bool> members_, tried_;
  std::set<std::vector<bool>> seen_;
  std::vector<Group> groups_;
  std::size_t group_ = 0;
  double best_;
  std::int64_t budget_;
  std::string last_;
};

// Every rule tried in turn, then the search over heads, then the choice: a fixed sequence of trials that can
// be taken up again where it was left.

struct TriedRule {
  std::string name;  // the first is "nothing"
  RuleTable table;
  bool searched = false;  // by the search over heads: held out only if chosen
  Outcome tuning;
  std::optional<Outcome> held_out;
};

// A share of a part of the trial at this place.
struct TrialShare {
  std::size_t place = 0;
  Part part = Part::tuning;
  std::size_t share = 0;
};
using MeasureShare = std::function<Outcome(const TrialShare&)>;

// How chunks of the text are read. Over a group all ranks read every chunk together, and one of them asks the questions of
// a length. Ranks then have the same plan, and end with the same trials.
struct FixReading {
  bool by_layer = false;
  Group* group = nullptr;
  model::PassFile state = {};  // of the chunk that is being read; its fingerprint is of the plan
};

struct FixPlan {
  Material material;
  std::vector<Rule> rules;
  Criterion criterion;
  std::int64_t search_budget = 0;  // trials
  // Outcomes of shares in their order, each measured by `here` or by another process. Empty: all are measured here.
  std::function<std::vector<Outcome>(const std::vector<TrialShare>&, const MeasureShare& here)> measure = {};
  FixReading reading = {};
};

struct FixListener {
  std::function<void(const std::vector<TriedRule>&)> on_trial;  // one more is done, or one was held out
  // The candidate at work, and the work done so far, in units of Material::cost().
  std::function<void(const std::string& name, std::int64_t done, std::int64_t whole)> on_cost;
};

class FixRun {
 public:
  // `settings`: capacity and normalizers are set here. `earlier`: trials of an interrupted run of the same
  // plan.
  FixRun(const model::Model& model, FixPlan plan, const model::SessionSettings& settings,
         std::vector<TriedRule> earlier);

  // Does the rest. Error{bad_file} where an earlier trial is not the one that comes at its place.
  void go(const FixListener& listener);

  const FixPlan& plan() const noexcept { return plan_; }
  const HeadSurvey& survey() const noexcept { return survey_; }
  const std::vector<TriedRule>& trials() const noexcept { return trials_; }
  Comparison compared(std::size_t trial, Part part) const;  // with doing nothing
  double score_of(std::size_t trial) const;                 // on the tuning part
  std::optional<std::size_t> chosen() const;  // by the tuning part alone; none: nothing is better there

 private:
  void run_survey(const FixListener& listener);
  std::vector<TriedRule> candidates() const;  // doing nothing, and every rule
  void try_rules(const FixListener& listener);
  void search_heads(const FixListener& listener);
  // The trial at this place: an earlier one if it is the same, or done now.
  void try_at(std::size_t place, TriedRule trial, const FixListener& listener);
  Outcome measure(const TriedRule& trial, std::size_t place, Part part, const FixListener& listener);
  Outcome measure_share(const TriedRule& trial, const TrialShare& share, const FixListener& listener);
  // The settings under which a trial's candidate is measured, with room for so many tokens.
  model::SessionSettings settings_for(const TriedRule& trial, std::int64_t room) const;
  Outcome share_by_layer(const TriedRule& trial, const TrialShare& share, const std::function<void(std::int64_t)>& on_cost);
  Outcome chunk_by_layer(std::span<const model::Token> chunk, const TrialShare& share,
                         const std::function<void(std::int64_t)>& on_cost);
  std::int64_t whole_cost() const;

  const model::Model& model_;
  FixPlan plan_;
  model::SessionSettings settings_;
  HeadSurvey survey_;
  std::vector<TriedRule> trials_;
  std::int64_t done_ = 0, skipped_ = 0;  // of the cost: measured now, and known from an earlier run
  std::unique_ptr<model::Session> session_;  // of the trial that was measured last, as is the pass
  std::unique_ptr<model::LayerPass> pass_;
  std::size_t session_place_ = 0;
};

// Trials and settings as JSON, part of schema sharpmax.fix/1. Numbers have all their digits: what is read back is what was
// written.

Json outcome_json(const Outcome& outcome);
Outcome outcome_in(const Json& json);  // Error{bad_file}, or nlohmann's exceptions
FixTrial fix_trial_of(const TriedRule& trial);
FixTrial fix_trial_in(const Json& json);  // Error{bad_file}, or nlohmann's exceptions
// Of a model with so many layers and heads; `name` opens every message. Error{bad_file}.
TriedRule tried_rule_of(const FixTrial& trial, std::string_view name, std::int64_t layers, std::int64_t heads);

}  // namespace sharpmax::audit
