// A run of `fix`: every rule tried in turn, the search over heads, the choice; and its trials as JSON.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "audit/fix/choice.h"
#include "audit/fix/rule.h"
#include "model/transformer/normalizer_table.h"

namespace sharpmax::audit {

// Which heads should run under a rule: a greedy search over groups of heads, coarse to fine.
//
// Six blocks of layers, then single layers, then single heads: each group in turn is switched (off if any of
// its heads is on) and stays so where the score improves. The order is fixed, so the same scores give the
// same search.

class HeadSearch {
 public:
  // `on`: what a head runs under that is switched on, [layer, head] of all; `members`: those that are at the
  // start, whose score is `start`. At most `budget` tables are handed out.
  HeadSearch(model::NormalizerTable on, std::vector<bool> members, double start, std::int64_t budget);

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

  model::NormalizerTable on_;
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

struct FixPlan {
  Material material;
  std::vector<Rule> rules;
  Criterion criterion;
  std::int64_t search_budget = 0;  // trials
};

struct FixListener {
  std::function<void(const std::vector<TriedRule>&)> on_trial;  // one more is done, or one was held out
  // What is being tried, how much is done of what was left to do, in Material::cost().
  std::function<void(const std::string& name, std::int64_t done, std::int64_t whole)> on_cost;
};

class FixRun {
 public:
  // `settings`: capacity and normalizers are set here. `earlier`: trials of an interrupted run of the same
  // plan.
  FixRun(const model::Model& model, FixPlan plan, const model::SessionSettings& settings,
         std::vector<TriedRule> earlier);

  // Does what is left. Error{bad_file} where an earlier trial is not the one that comes at its place.
  void go(const FixListener& listener);

  const FixPlan& plan() const noexcept { return plan_; }
  const HeadSurvey& survey() const noexcept { return survey_; }
  const std::vector<TriedRule>& trials() const noexcept { return trials_; }
  Comparison compared(std::size_t trial, Part part) const;  // with doing nothing
  double score_of(std::size_t trial) const;                 // on the tuning part
  std::optional<std::size_t> chosen() const;  // by the tuning part alone; none: nothing is better there

 private:
  void run_survey(const FixListener& listener);
  void try_rules(const FixListener& listener);
  void search_heads(const FixListener& listener);
  // The trial at this place: an earlier one if it is the same, or done now.
  void try_at(std::size_t place, TriedRule trial, const FixListener& listener);
  Outcome measure(const TriedRule& trial, Part part, const FixListener& listener);
  std::int64_t whole_cost() const;

  const model::Model& model_;
  FixPlan plan_;
  model::SessionSettings settings_;
  HeadSurvey survey_;
  std::vector<TriedRule> trials_;
  std::int64_t done_ = 0, skipped_ = 0;  // of the cost: measured now, and known from an earlier run
};

// Trials and settings as JSON, part of schema sharpmax.fix/1. Numbers have all their digits: what is read back is what was
// written.

FixTrial fix_trial_of(const TriedRule& trial);
FixTrial fix_trial_in(const Json& json);  // Error{bad_file}, or nlohmann's exceptions
// Of a model with so many layers and heads; `name` opens every message. Error{bad_file}.
TriedRule tried_rule_of(const FixTrial& trial, std::string_view name, std::int64_t layers, std::int64_t heads);

}  // namespace sharpmax::audit
