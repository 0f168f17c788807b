#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <optional>

#include "audit/fix/fix_run.h"
#include "audit/fix/rule.h"
#include "audit/fix/shared_trials.h"
#include "base/numbers.h"
#include "statistics/significance.h"
#include "job/call_files.h"
#include "job/field_values.h"
#include "job/json_members.h"
#include "job/saved_results.h"
#include "model/job/model_request.h"
#include "model/transformer/normalizer_table.h"
#include "sharpmax/fix.h"
#include "storage/files.h"
#include "sweep/shared_job.h"

namespace sharpmax {
namespace {

[[noreturn]] void refuse_fix(const std::string& sentence) { throw RequestError(ErrorCode::bad_argument, sentence); }

void check_together(const FixRequest& request) {
  const FixRequest plain;
  if (!request.model.normalizer.empty() || !request.model.normalizers.empty())
    refuse_fix(fmt::format("{} and {}: fix compares with plain softmax; {} names what to try", named("normalizer"),
                           named("normalizers"), named("rule")));
  if (request.chat && !request.task.empty())
    refuse_fix(fmt::format("{} is for generated questions; those of {} are taken as they are", named("chat"), named("task")));
  if (!request.task.empty() && (request.lengths != plain.lengths || request.questions != plain.questions))
    refuse_fix(fmt::format("{} and {} are for generated questions; those of {} are taken as they are", named("lengths"),
                           named("questions"), named("task")));
  if (request.no_search && request.budget != plain.budget)
    refuse_fix(fmt::format("{} excludes {}", named("no_search"), named("budget")));
}

void check_context(const model::Model& model, const FixRequest& request) {
  const std::int64_t context = model::context_of(model, request.model);
  const auto fits = [&](std::int64_t tokens, std::string_view field) {
    if (tokens > context)
      throw RequestError(ErrorCode::limit, fmt::format("{}: the context has room for {} tokens; {} makes it larger",
                                                       named(field, std::to_string(tokens)), grouped(context),
                                                       named("context")));
  };
  fits(request.length, "length");
  if (request.task.empty())
    for (const std::int64_t length : request.lengths) fits(length, "lengths");
}

audit::FixPlan plan_of(const model::Model& model, const FixRequest& request, std::span<const model::Token> text) {
  const model::Configuration& c = model.configuration();
  audit::FixPlan plan;
  plan.criterion = {audit::goal_of(request.for_), request.allow};
  plan.search_budget = request.no_search ? 0 : request.budget;
  audit::add_text(plan.material, model.tokenizer(), text, request.tokens, request.length);
  if (!request.task.empty()) {
    audit::add_task_file(plan.material, model.tokenizer(), read_text(request.task), request.task, request.seed);
  } else {
    audit::add_probe(plan.material, model, {.chat = request.chat, .seed = request.seed}, request.lengths, request.questions);
  }
  const std::int64_t room = plan.material.room(model.tokenizer()), context = model::context_of(model, request.model);
  if (!request.task.empty() && room > context)
    throw RequestError(ErrorCode::limit, fmt::format("{}: the longest question takes {} tokens, and the context has room for "
                                                     "{}; {} makes it larger",
                                                     request.task, grouped(room), grouped(context), named("context")));
  std::vector<std::string> texts = request.rule;
  if (texts.empty()) texts = audit::default_rules(c, room);
  for (const std::string& rule : texts) plan.rules.push_back(audit::parse_rule(rule, c));
  return plan;
}

// Of all tokens and answers: a resumed job must have the same.
std::string fingerprint_of(const audit::Material& material) {
  std::uint64_t hash = model::fingerprint_of({});
  for (const audit::Part part : {audit::Part::tuning, audit::Part::held_out}) {
    for (const auto& chunk : material.text(part))
      hash = model::fingerprint_with(hash, fmt::format("{};", fmt::join(chunk, " ")));
    for (const audit::TaskSet& task : material.tasks)
      for (const audit::Question& question : audit::Material::questions(task, part))
        hash = model::fingerprint_with(hash, fmt::format("{}?{};", fmt::join(question.prompt, " "), question.answer));
  }
  return fmt::format("{:016x}", hash);
}

FixSettings settings_of(const model::Model& model, const FixRequest& request, const audit::FixPlan& plan,
                        Listener& listener) {
  FixSettings settings{request, model::settings_of(model, request.model, listener), fingerprint_of(plan.material)};
  settings.text = {.text = model::text_name(request.text)};
  if (!request.task.empty()) {
    settings.lengths.clear();
    const auto asked = audit::Material::questions(plan.material.tasks.front(), audit::Part::tuning);
    settings.questions = static_cast<std::int64_t>(asked.size());
  }
  settings.rule.clear();
  for (const audit::Rule& rule : plan.rules) settings.rule.push_back(rule.text);
  return settings;
}

std::vector<audit::TriedRule> saved_trials(const FixRequest& request, const FixSettings& settings) {
  std::vector<audit::TriedRule> trials;
  const std::string& file = request.saving.json;
  if (!request.saving.resume || !std::filesystem::exists(file)) return trials;
  resume_from(file, kFixSchema, json_of(settings), [&](const Json& json) {
    for (const Json& trial : json.at("trials"))
      trials.push_back(audit::tried_rule_of(audit::fix_trial_in(trial), file, settings.model.layers, settings.model.heads));
  });
  return trials;
}

FixSurvey survey_of(const audit::HeadSurvey& survey) {
  FixSurvey out{.layers = survey.layers, .heads = survey.heads};
  for (const audit::SurveyedHead& head : survey.all) {
    out.kind.emplace_back(name_of(head.kind));
    out.entropy_slope.push_back(head.slope);
    out.short_entropy.push_back(head.short_entropy);
  }
  return out;
}

// What an interrupt will say, and where a resumed job goes on.
void tell_resumption(const Saving& saving, std::size_t trials, Listener& listener) {
  if (saving.json.empty())
    return listener.on_resumption(
        {false, fmt::format("nothing was saved; with {} finished trials are saved, and {} goes on", given("json", "FILE"),
                            flagged("resume")),
         {}});
  listener.on_resumption({true, "finished trials are saved", {}});
  if (saving.resume)
    listener.narrate(fmt::format("resuming: {} {} done", trials, trials == 1 ? "trial is" : "trials are"));
}

// Before the work: a number of questions so small that hardly any outcome, or none, is significant.
void warn_of_few_questions(const audit::FixPlan& plan, Listener& listener) {
  constexpr std::int64_t kEnough = 30;
  if (plan.criterion.goal == audit::Goal::text) return;
  std::int64_t questions = 0, fewest = 1;
  for (const audit::TaskSet& task : plan.material.tasks) questions += static_cast<std::int64_t>(task.held_out.size());
  while (sign_test(fewest, 0) >= audit::kSignificant) ++fewest;
  if (questions >= kEnough) return;
  if (questions < fewest)
    listener.narrate(fmt::format("held-out questions: {}, too few to decide by; even if every answer changes, p stays above {}; "
                                 "the least is {}",
                                 questions, audit::kSignificant, fewest));
  else
    listener.narrate(fmt::format("held-out questions: {}, which show only large gains; at least {} answers must turn right and none turn "
                                 "wrong for p < {}",
                                 questions, fewest, audit::kSignificant));
}

void check_fix(const FixRequest& request) {
  check_fields(request);
  check_together(request);
  check_sharing({request.sharing, request.saving.resume, request.saving.overwrite}, request.saving.json);
  files_of(request, request.saving.overwrite, kFixSchema)
      .writes(named("table"), request.table, results_kind("sharpmax.normalizers/1"))
      .check();
  if (!request.table.empty()) AtomicFile probe(request.table);
}

// As the process that began a shared run named them.
void name_inputs(FixSettings& settings, const SharedJob& job) {
  settings.model.file = job.named_place("model", settings.model.file);
  settings.text.text = job.named_place("text", "-");
  if (!settings.task.empty()) settings.task = job.named_place("task", settings.task);
}

// Does the rest of the run. `json`: file for the results as they come; empty: none.
void carry_out(audit::FixRun& run, const model::Model& model, FixResult& result, const std::string& json,
               Listener& listener) {
  using Clock = std::chrono::steady_clock;
  const auto save = [&] {
    result.trials.clear();
    for (const audit::TriedRule& trial : run.trials()) {
      result.trials.push_back(audit::fix_trial_of(trial));
      result.trials.back().llama_cpp = audit::llama_cpp_setting(trial.table, model.configuration());
    }
    if (!json.empty()) write_text(json, results_text(to_json(result)));
  };
  save();  // a file that cannot be written is known now, not after the work
  const auto start = Clock::now();
  run.go({.on_trial = [&](const auto&) { save(); },
          .on_cost =
              [&](const std::string& name, std::int64_t done, std::int64_t whole) {
                const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
                listener.proceed(
                    name + ": " + share_left(static_cast<double>(done), static_cast<double>(whole), seconds));
              }});
  listener.on_progress("");
  result.complete = true;
  result.survey = survey_of(run.survey());
  save();
}

void write_table(const FixResult& result, const std::string& path) {
  write_text(path, results_text(Json::parse(result.trials[result.use()].normalizers)));
}

}  // namespace

namespace {

// What rank 0 has saved is what all go on from.
void share_trials(Group& group, const FixSettings& settings, std::vector<audit::TriedRule>& trials) {
  if (group.size() == 1) return;
  FixResult found{.settings = settings};
  for (const audit::TriedRule& trial : trials) found.trials.push_back(audit::fix_trial_of(trial));
  const std::string mine = to_json(found).at("trials").dump();
  const Group::Bytes bytes = group.broadcast(std::as_bytes(std::span(mine)), 0);
  const auto* const text = reinterpret_cast<const char*>(bytes.data());
  trials.clear();
  for (const Json& trial : Json::parse(text, text + bytes.size()))
    trials.push_back(
        audit::tried_rule_of(audit::fix_trial_in(trial), "trials of rank 0", settings.model.layers, settings.model.heads));
}

}  // namespace

FixResult fix(const FixRequest& given, Listener& listener) {
  FixRequest request = joined(given, "fix");
  model::check_reading(request.order, request.sharing.directory);
  if (model::only_helps(request.order)) {
    request.saving = {};
    request.table.clear();
  }
  check_fix(request);
  if (!request.order.together) tell_unshared(request.sharing, listener);
  const auto model = model::shared_model(request.model);
  const auto text = model::tokens_of(*model, request.text, 2 * audit::kLeastTokens);
  check_context(*model, request);
  audit::FixPlan plan = plan_of(*model, request, text);
  FixResult result{.provenance = provenance_of(request.command, command_of("fix", request)),
                   .settings = settings_of(*model, request, plan, listener)};
  const std::string settings = model::without_paths(json_of(result.settings)).dump();
  const std::unique_ptr<Group> group = model::reading_group(request.order, settings, listener);
  warn_of_few_questions(plan, listener);
  const std::int64_t room = plan.material.room(model->tokenizer());
  if (model::by_layer(request.order)) {
    model::open_layer_pass(*model, request.model, plan.material.text_room(), listener, group.get());  // if there is room for it
    plan.reading = {true, group.get(),
                    {model::state_file(request.saving, request.order), model::fingerprint_with(model::fingerprint_of({}), settings),
                     request.order.checkpoint_seconds}};
  } else {
    model::check_room(*model, request.model, room, listener);
  }
  const std::filesystem::path state = plan.reading.state.path;
  const bool in_pieces = !request.sharing.directory.empty();
  auto earlier = in_pieces ? std::vector<audit::TriedRule>() : saved_trials(request, result.settings);
  if (group) share_trials(*group, result.settings, earlier);
  std::optional<audit::SharedTrials> shared;
  if (in_pieces) {
    shared.emplace(plan, shared_fields(request), model::without_paths(json_of(result.settings)),
                   SharedWish{request.sharing, request.saving.resume, request.saving.overwrite}, listener);
    plan.measure = [&](const auto& shares, const auto& here) { return shared->measure(shares, here); };
  }
  audit::FixRun run(*model, std::move(plan), model::session_settings(*model, request.model, room, listener),
                    std::move(earlier));
  if (!in_pieces) tell_resumption(request.saving, run.trials().size(), listener);
  carry_out(run, *model, result, in_pieces ? "" : request.saving.json, listener);
  model::remove_state(state);
  if (shared) {
    name_inputs(result.settings, shared->job());
    result = fix_result(shared->job().keep(to_json(result)));
    if (!request.saving.json.empty()) write_text(request.saving.json, results_text(to_json(result)));
  }
  if (!request.table.empty()) write_table(result, request.table);
  return result;
}

RunStatus status_of(const FixRequest& request) { return shared_status("fix", request.sharing, request.command); }

// What the trials of a fix say: comparisons with doing nothing, the choice, the verdict.

namespace {

audit::Criterion criterion_of(const FixSettings& settings) { return {audit::goal_of(settings.for_), settings.allow}; }

std::string held_out_words(const FixComparison& c) {
  return fmt::format(
      "the loss changes by {:+.3f} nats per token ({:+.3f} to {:+.3f}), and {} of {} questions are right instead of {} "
      "({} up, {} down, p = {:.3f})",
      c.text.change, c.text.low, c.text.high, c.task.rule, c.task.questions, c.task.plain, c.task.up, c.task.down,
      c.task.p);
}

}  // namespace

std::vector<std::optional<std::int64_t>> FixResult::question_lengths() const {
  if (!settings.task.empty()) return {std::nullopt};
  return {settings.lengths.begin(), settings.lengths.end()};
}

FixComparison FixResult::on_tuning(std::size_t trial) const {
  return audit::compare(trials.at(0).tuning, trials.at(trial).tuning);
}

FixComparison FixResult::on_held_out(std::size_t trial) const {
  return audit::compare(trials.at(0).held_out.value(), trials.at(trial).held_out.value());
}

double FixResult::score_of(std::size_t trial) const { return audit::score(on_tuning(trial), criterion_of(settings)); }

std::optional<std::size_t> FixResult::chosen() const {
  std::vector<double> scores;
  for (std::size_t i = 0; i < trials.size(); ++i) scores.push_back(score_of(i));
  return audit::best_of(scores);
}

std::optional<FixFinding> FixResult::finding() const {
  const auto best = chosen();
  if (!best) return std::nullopt;
  return audit::judge_held_out(on_held_out(*best), criterion_of(settings));
}

std::size_t FixResult::use() const {
  const auto found = finding();
  return found && found->better ? *chosen() : 0;
}

std::string FixResult::verdict() const {
  const auto best = chosen();
  if (!best) {
    const std::size_t candidates = trials.size() - 1;
    return fmt::format("Leave it as it is: {} better on the data used for selection.",
                       candidates == 1 ? "the only candidate is not"
                                       : fmt::format("none of the {} candidates is", candidates));
  }
  const std::string &name = trials[*best].rule, words = held_out_words(on_held_out(*best));
  if (use() == 0)
    return fmt::format("Leave it as it is: {} came out best on the data used for selection, but on held-out data {}, {}.",
                       name, words, audit::shortfall(*finding(), audit::goal_of(settings.for_)));
  return fmt::format("Use {}: on held-out data {}.", name, words);
}

}  // namespace sharpmax
