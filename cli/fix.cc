// `sharpmax fix`: rules tried on one part of a text and of a task, and judged on the other.
#include "cli/fix.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include "audit/fix/fix_json.h"
#include "audit/fix/llama_cpp_setting.h"
#include "base/in_quotes.h"
#include "cli/interrupt.h"
#include "cli/outputs.h"
#include "cli/resumed_results.h"
#include "cli/table.h"
#include "model/transformer/normalizer_table.h"
#include "sharpmax/error.h"
#include "sharpmax/machine.h"
#include "storage/files.h"

namespace sharpmax::cli {
namespace {

constexpr const char* kSchema = "sharpmax.fix/1";
constexpr const char* kFooter =
    "Rules are tried on one part of the text and the questions; the best by --for is\n"
    "then tested once on the other part. Unless that shows it to be better, the\n"
    "answer is to leave the model as it is. With --json FILE every finished trial is\n"
    "saved immediately; after an interrupt or a kill, --resume goes on from there to\n"
    "the same answer.\n"
    "\n"
    "A rule is NORMALIZER[@HEADS][;rope=HOW], HEADS all, steepest (the fifth whose\n"
    "entropy grows fastest), sink, local, sharp, dispersing, mixed, layers=A-B, or\n"
    "one of these after but-.\n"
    "\n"
    "Examples:\n"
    "  sharpmax fix SmolLM2.gguf --text book.txt --table table.json -o fix.html\n"
    "  sharpmax fix SmolLM2.gguf --text book.txt --for task --lengths 594 \\\n"
    "      --rule softmax:beta=1.35 --rule softmax:beta=1.35@but-steepest\n"
    "  sharpmax fix SmolLM2.gguf --text book.txt --task questions.jsonl\n"
    "  sharpmax run SmolLM2.gguf --normalizers table.json --prompt \"...\"";

using Clock = std::chrono::steady_clock;

[[noreturn]] void refuse(const std::string& sentence) { throw Error(ErrorCode::bad_argument, sentence); }

void check(const FixOptions& o) {
  if (!o.model.normalizer.empty() || !o.model.normalizers.empty())
    refuse("--normalizer and --normalizers: fix compares with plain softmax; --rule names what to try");
  if (o.resume && (o.json.empty() || o.json == "-")) refuse("--resume goes with --json FILE");
  if (o.chat && !o.task.empty())
    refuse("--chat is for generated questions; those of --task are taken as they are");
  audit::goal_of(o.goal);
  if (o.report.page.ends_with(".json"))
    refuse(fmt::format("-o {}: -o writes the report, a page; --table writes the table of normalizers",
                       in_quotes(o.report.page)));
  CallFiles call(o.overwrite);
  call.reads_model(o.model.model).reads("--text", o.text.text).reads("--task", o.task);
  call.writes("--json", o.json, results_kind(kSchema));
  call.writes("--table", o.table, results_kind("sharpmax.normalizers/1"));
  declare_report_files(call, o.report);
  call.check();
  check_report_files(o.report);
  if (!o.table.empty()) AtomicFile probe(o.table);
}

void check_lengths(const model::Model& model, const FixOptions& o) {
  const std::int64_t context = context_of(model, o.model);
  const auto fits = [&](std::int64_t tokens, const char* option) {
    if (tokens > context)
      throw Limit(fmt::format("{} {}: the context has room for {} tokens; --context makes it larger", option,
                              tokens, grouped(context)));
  };
  fits(o.length, "--length");
  if (o.task.empty())
    for (const std::int64_t length : o.lengths) fits(length, "--lengths");
}

audit::FixPlan plan_of(const model::Model& model, const FixOptions& o, std::span<const model::Token> text) {
  const model::Configuration& c = model.configuration();
  audit::FixPlan plan;
  plan.criterion = {audit::goal_of(o.goal), o.allow};
  plan.search_budget = o.no_search ? 0 : o.budget;
  audit::add_text(plan.material, model.tokenizer(), text, o.tokens, o.length);
  if (!o.task.empty()) {
    audit::add_task_file(plan.material, model.tokenizer(), read_text(o.task), o.task, o.seed);
  } else {
    audit::add_probe(plan.material, model, {.chat = o.chat, .seed = o.seed}, o.lengths, o.questions);
  }
  const std::int64_t room = plan.material.room(model.tokenizer());
  if (!o.task.empty() && room > context_of(model, o.model))
    throw Limit(
        fmt::format("{}: the longest question takes {} tokens, and the context has room for {}; --context "
                    "makes it larger",
                    o.task, grouped(room), grouped(context_of(model, o.model))));
  auto texts = o.rules;
  if (texts.empty()) texts = audit::default_rules(c, room);
  for (const std::string& rule : texts) plan.rules.push_back(audit::parse_rule(rule, c));
  return plan;
}

// Of all tokens and answers: a resumed run must be of the same.
std::string fingerprint(const audit::Material& material) {
  std::uint64_t hash = fingerprint_of({});
  for (const audit::Part part : {audit::Part::tuning, audit::Part::held_out}) {
    for (const auto& chunk : material.text(part))
      hash = fingerprint_with(hash, fmt::format("{};", fmt::join(chunk, " ")));
    for (const audit::TaskSet& task : material.tasks)
      for (const audit::Question& question : audit::Material::questions(task, part))
        hash =
            fingerprint_with(hash, fmt::format("{}?{};", fmt::join(question.prompt, " "), question.answer));
  }
  return fmt::format("{:016x}", hash);
}

Json settings_of(const model::Model& model, const FixOptions& o, const audit::FixPlan& plan) {
  Json rules = Json::array();
  for (const audit::Rule& rule : plan.rules) rules.push_back(rule.text);
  Json json{{"model", model_json(model, o.model)}, {"text", o.text.text}};
  json["task"] = o.task.empty() ? Json() : Json(o.task);
  json["fingerprint"] = fingerprint(plan.material);
  if (o.task.empty()) json["lookup"] = {{"lengths", o.lengths}, {"questions", o.questions}, {"chat", o.chat}};
  json["tokens"] = o.tokens;
  json["length"] = o.length;
  json["seed"] = o.seed;
  json["for"] = o.goal;
  json["allow"] = o.allow;
  json["budget"] = plan.search_budget;
  json["rules"] = std::move(rules);
  return json;
}

std::vector<audit::TriedRule> earlier_trials(const FixOptions& o, const Json& settings,
                                             const model::Configuration& c) {
  std::vector<audit::TriedRule> trials;
  if (!o.resume || !std::filesystem::exists(o.json)) return trials;
  resume_from(o.json, kSchema, settings, [&](const Json& json) {
    for (const Json& trial : json.at("trials"))
      trials.push_back(audit::tried_rule_in(trial, o.json, c.layers, c.heads));
  });
  return trials;
}

Json results_json(const Json& settings, const audit::FixRun& run, const std::vector<audit::TriedRule>& trials,
                  const FixAnswer* answer) {
  Json json{{"schema", kSchema},    {"sharpmax", version()}, {"command", command_line()},
            {"created", utc_now()}, {"settings", settings},  {"complete", answer != nullptr}};
  if (answer) {
    json["answer"] = answer_json(*answer);
    json["survey"] = audit::to_json(run.survey());
  }
  json["trials"] = Json::array();
  for (std::size_t i = 0; i < trials.size(); ++i) {
    Json trial = audit::to_json(trials[i]);
    if (answer && i > 0) {
      const auto setting = audit::llama_cpp_setting(trials[i].table, answer->configuration);
      trial["llama_cpp"] = setting ? Json(*setting) : Json();
      const auto& tasks = run.plan().material.tasks;
      trial["score"] = run.score_of(i);
      trial["against_nothing"]["tuning"] = audit::to_json(run.compared(i, audit::Part::tuning), tasks);
      if (trials[i].held_out)
        trial["against_nothing"]["held_out"] = audit::to_json(run.compared(i, audit::Part::held_out), tasks);
    }
    json["trials"].push_back(std::move(trial));
  }
  return json;
}

std::string progress_sentence(const std::string& name, std::int64_t done, std::int64_t whole,
                              double seconds) {
  const double share = static_cast<double>(done) / static_cast<double>(whole);
  return fmt::format("{}: {:.0f} %, {} left", name, 100.0 * share, duration(seconds * (1.0 - share) / share));
}

// What an interrupt will say, and where a resumed run goes on.
void tell_resumption(const FixOptions& o, std::size_t trials) {
  if (o.json.empty() || o.json == "-")
    return cannot_resume(
        "nothing was saved; with --json FILE finished trials are saved, and --resume goes on");
  can_resume("finished trials are saved");
  if (o.resume) narrate(fmt::format("resuming: {} {} done", trials, trials == 1 ? "trial is" : "trials are"));
}

int fix(const FixOptions& o) {
  check(o);
  model::Model model = open_model(o.model);
  const auto text = tokens_of(model, o.text, 2 * audit::kLeastTokens);
  check_lengths(model, o);
  audit::FixPlan plan = plan_of(model, o, text);
  const Json settings = settings_of(model, o, plan);
  auto earlier = earlier_trials(o, settings, model.configuration());
  open_session(model, o.model, plan.material.room(model.tokenizer()));  // throws where it does not fit
  model::SessionSettings session;
  session.cache = o.model.cache == "float16" ? model::CacheType::float16 : model::CacheType::float32;
  session.threads = o.model.threads;
  if (o.model.block) session.block = *o.model.block;
  session.on_layer = pause;
  audit::FixRun run(model, std::move(plan), session, std::move(earlier));
  const auto save = [&](const Json& results) {
    if (!o.json.empty() && o.json != "-") write_text(o.json, results.dump(1) + "\n");
  };
  const auto save_unfinished = [&] { save(results_json(settings, run, run.trials(), nullptr)); };
  tell_resumption(o, run.trials().size());
  save_unfinished();  // a file that cannot be written is known now, not after the work
  {
    Progress progress(Progress::Elsewhere::lines);
    const auto start = Clock::now();
    run.go({.on_trial = [&](const auto&) { save_unfinished(); },
            .on_cost =
                [&](const std::string& name, std::int64_t done, std::int64_t whole) {
                  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
                  progress.show(progress_sentence(name, done, whole, seconds));
                }});
  }
  const FixAnswer answer = answer_of(run, model.configuration());
  const Json results = results_json(settings, run, run.trials(), &answer);
  save(results);
  if (!o.table.empty())
    write_text(o.table, model::to_json(run.trials()[answer.use].table.normalizers).dump(1) + "\n");
  write_report_files(o.report, results);
  hand_over([&] { return results; });
  if (o.json == "-") {
    print(results.dump(1) + "\n");
  } else {
    print(report_of(answer, colour_wanted()) + how_to_use(answer, o));
  }
  return kOk;
}

void add_material(CLI::App& words, FixOptions& o) {
  constexpr const char *kText = "Text", *kTask = "Task";
  words.add_option("--text", o.text.text, "The text on which the loss is measured")
      ->option_text("FILE")
      ->group(kText);
  words.add_option("--tokens", o.tokens, "Of the text to choose by; as many are held out (default 4096)")
      ->option_text("N")
      ->check(CLI::Range(audit::kLeastTokens, std::int64_t{1} << 40))
      ->group(kText);
  words.add_option("--length", o.length, "Tokens that are read together (default 2048)")
      ->option_text("N")
      ->check(CLI::Range(audit::kLeastTokens, std::int64_t{1} << 30))
      ->group(kText);
  words
      .add_option("--task", o.task,
                  "Questions, a line each: {\"prompt\": ..., \"answer\": ...} (default: generated look-up)")
      ->option_text("FILE")
      ->group(kTask);
  words.add_option("--lengths", o.lengths, "Tokens of the generated questions (default 512,1024)")
      ->option_text("N,N")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{16}, std::int64_t{1} << 30))
      ->excludes("--task")
      ->group(kTask);
  words
      .add_option("--questions", o.questions,
                  "To choose by, of each length; as many are held out (default 40)")
      ->option_text("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20))
      ->excludes("--task")
      ->group(kTask);
  words.add_flag("--chat", o.chat, "Ask in the model's chat template (ChatML only)")->group(kTask);
  words.add_option("--seed", o.seed, "Of the questions (default 0)")->option_text("N")->group(kTask);
}

void add_choice(CLI::App& words, FixOptions& o) {
  constexpr const char *kRules = "Rules", *kResults = "Results";
  words.add_option("--rule", o.rules, "Try this one, may be repeated (default: a list)")
      ->option_text("RULE")
      ->take_all()
      ->allow_extra_args(false)
      ->group(kRules);
  words.add_option("--for", o.goal, "Choose by the loss on text, by the task, or both (default)")
      ->option_text("GOAL")
      ->group(kRules);
  words.add_option("--allow", o.allow, "--for both: how much the loss may rise, nats a token (default 0.02)")
      ->option_text("X")
      ->check(CLI::Range(0.0, 100.0))
      ->group(kRules);
  words.add_option("--budget", o.budget, "Trials of the greedy search over heads (default 12)")
      ->option_text("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30))
      ->group(kRules);
  words.add_flag("--no-search", o.no_search, "No search over heads")->excludes("--budget")->group(kRules);
  words.add_option("--table", o.table, "Write the table for `sharpmax run --normalizers`")
      ->option_text("FILE")
      ->group(kResults);
  add_json_option(words, o.json, kSchema, kResults);
  add_report_files(words, o.report, kResults);
  add_overwrite_option(words, o.overwrite, kResults);
  words.add_flag("--resume", o.resume, "Go on from what is in the file of --json")->group(kResults);
}

}  // namespace

Command add_fix(CLI::App& program) {
  auto options = std::make_shared<FixOptions>();
  CLI::App* words =
      program.add_subcommand("fix", "Try normalizers on a real model; say which helps, or that none does");
  words->footer(kFooter);
  add_model_options(*words, options->model);
  add_material(*words, *options);
  add_choice(*words, *options);
  return {words, [options] { return fix(*options); }};
}

}  // namespace sharpmax::cli
