// The job of `sharpmax audit` by length: read excerpts, save as it goes, tell what was found.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>

#include "audit/measure/findings_json.h"
#include "audit/measure/reading.h"
#include "audit/measure/sketch_json.h"
#include "cli/audit.h"
#include "cli/interrupt.h"
#include "cli/table.h"
#include "sharpmax/error.h"
#include "sharpmax/machine.h"
#include "storage/files.h"

namespace sharpmax::cli {
namespace {

using Clock = std::chrono::steady_clock;

// Longer by default takes minutes; --lengths asks for more.
constexpr std::int64_t kLongestByDefault = 8192;
constexpr double kSecondsBetweenSaves = 15;

class LengthAudit {
 public:
  LengthAudit(const AuditOptions& o, const model::Model& model, std::vector<model::Token> text)
      : o_(o), model_(model), text_(std::move(text)), before_(tokens_before_text(model)) {
    plan();
    settings_ = {{"model", model_json(model_, o_.model)},
                 {"text", o_.text.text},
                 {"text_tokens", text_.size()},
                 {"special", o_.text.special},
                 {"lengths", plan_.lengths},
                 {"starts", plan_.starts},
                 {"block", o_.model.block.value_or(model::SessionSettings{}.block)}};
    fingerprint_ = fingerprint_with(fingerprint_of(text_), settings_.dump());
    readings_ = audit::no_readings(plan_);
    if (o_.resume && std::filesystem::exists(rows_file()))
      readings_ = audit::read_readings(rows_file(), plan_, model_.configuration(), fingerprint_);
  }

  const audit::ReadingPlan& reading_plan() const { return plan_; }

  void run() {
    const auto session = open_session(model_, o_.model, plan_.lengths.back());
    tell_resumption();
    if (saves()) write_text(o_.json, results(false).dump(1) + "\n");  // known now, not after the work
    try {
      read_all(*session);
    } catch (const Interrupted&) {
      if (saves()) write_saved();
      throw;
    }
  }

  audit::Findings findings() const {
    audit::Findings found = audit::find(plan_, readings_, model_.configuration(), o_.thresholds);
    found.softmax = o_.model.normalizers.empty() &&
                    (o_.model.normalizer.empty() || AnyNormalizer::parse(o_.model.normalizer) == Softmax{});
    return found;
  }

  Json results(bool complete) const {
    Json json{{"schema", kAuditSchema}, {"sharpmax", version()}, {"command", command_line()},
              {"created", utc_now()}, {"settings", settings_}, {"complete", complete}};
    if (!audit::finished_lengths(readings_).empty()) {
      const audit::Findings found = findings();
      json["verdict"] = verdict_of(found);
      json["attention"] = audit::to_json(found);
    }
    return json;
  }

  // The same for everyone who wants them; not made before somebody does.
  const Json& final_results() {
    if (final_.is_null()) {
      final_ = results(true);
      if (o_.sketch > 0) final_["sketches"] = sketches();
    }
    return final_;
  }

  bool saves() const { return !o_.json.empty() && o_.json != "-"; }

 private:
  void plan() {
    const std::int64_t tokens = static_cast<std::int64_t>(text_.size()) + before_;
    const std::int64_t context = model_.configuration().context;
    auto lengths = o_.lengths;
    if (lengths.empty())
      lengths =
          audit::default_lengths(std::min({o_.model.context.value_or(context), tokens, kLongestByDefault}));
    const std::int64_t asked = *std::max_element(lengths.begin(), lengths.end());
    plan_ = audit::plan_reading(lengths, tokens, o_.excerpts);
    if (asked > tokens)
      narrate(fmt::format("the text has {} tokens: lengths beyond are left out, and {} is measured instead",
                          grouped(tokens), grouped(plan_.lengths.back())));
  }

  void read_all(model::Session& session) {
    Progress progress(Progress::Elsewhere::lines);
    const auto start = Clock::now();
    std::int64_t left = 0, done = 0;
    for (const auto& excerpt : readings_) left += is_read(excerpt) ? 0 : plan_.lengths.back();
    for (std::size_t e = 0; e < readings_.size(); ++e) {
      if (is_read(readings_[e])) continue;
      const auto tokens = with_beginning(model_, excerpt(e));
      audit::read_excerpt(session, tokens, plan_.lengths,
                          {.on_tokens =
                               [&](std::int64_t read) {
                                 const double seconds =
                                     std::chrono::duration<double>(Clock::now() - start).count();
                                 progress.show(progress_sentence(e, done + read, left, seconds));
                               },
                           .on_length =
                               [&](std::size_t i, audit::KeptRows rows) {
                                 readings_[e][i] = std::move(rows);
                                 save(i + 1 == plan_.lengths.size());
                               }});
      done += plan_.lengths.back();
    }
    progress.show("");
  }

  // Read anew from the first excerpt: what was kept of a resumed audit does not hold it.
  Json sketches() const {
    const std::int64_t tokens = std::min({o_.sketch, plan_.lengths.back(), model_.configuration().context});
    Progress progress(Progress::Elsewhere::lines);
    progress.show(fmt::format("drawing every head over {} tokens", grouped(tokens)));
    ModelOptions whole = o_.model;
    whole.block = tokens;
    const auto session = open_session(model_, whole, tokens);
    const auto read = with_beginning(model_, excerpt(0));
    const auto found = audit::sketch_heads(*session, std::span(read).first(static_cast<std::size_t>(tokens)));
    std::vector<std::string> texts;
    for (const model::Token token : found.tokens) texts.push_back(token_text(model_, token));
    return audit::to_json(found, texts);
  }

  static bool is_read(const std::vector<std::optional<audit::KeptRows>>& excerpt) {
    return std::all_of(excerpt.begin(), excerpt.end(), [](const auto& rows) { return rows.has_value(); });
  }

  std::span<const model::Token> excerpt(std::size_t e) const {
    const auto tokens = static_cast<std::size_t>(plan_.lengths.back() - before_);
    return std::span(text_).subspan(static_cast<std::size_t>(plan_.starts[e]), tokens);
  }

  std::filesystem::path rows_file() const { return o_.json + kRowsEnding; }

  // What an interrupt will say, and where a resumed audit goes on.
  void tell_resumption() const {
    if (!saves())
      return cannot_resume("nothing was saved; with --json FILE what is read is saved, and --resume goes on");
    can_resume("the lengths that were read are saved");
    if (!o_.resume) return;
    std::size_t excerpts = 0, lengths = 0;
    for (const auto& excerpt : readings_) {
      excerpts += is_read(excerpt) ? 1 : 0;
      lengths += static_cast<std::size_t>(
          std::count_if(excerpt.begin(), excerpt.end(), [](const auto& rows) { return rows.has_value(); }));
    }
    narrate(fmt::format("resuming: {} of {} excerpts are read; {} of {} lengths in all", excerpts,
                        readings_.size(), lengths, readings_.size() * plan_.lengths.size()));
  }

  // The rows first: they are what a resumed run goes on from.
  void save(bool excerpt_is_read) {
    const double seconds = std::chrono::duration<double>(Clock::now() - saved_).count();
    if (!saves() || (!excerpt_is_read && seconds < kSecondsBetweenSaves)) return;
    write_saved();
  }

  void write_saved() {
    audit::write_readings(rows_file(), readings_, plan_, model_.configuration(), fingerprint_);
    if (!audit::finished_lengths(readings_).empty()) write_text(o_.json, results(false).dump(1) + "\n");
    saved_ = Clock::now();
  }

  std::string progress_sentence(std::size_t e, std::int64_t done, std::int64_t total, double seconds) const {
    const double per_second = static_cast<double>(done) / std::max(seconds, 1e-9);
    return fmt::format("excerpt {} of {}: {} of {} tokens ({:.0f} %), {:.0f} tokens/s, {} left", e + 1,
                       readings_.size(), grouped(done), grouped(total),
                       100.0 * static_cast<double>(done) / static_cast<double>(total), per_second,
                       duration(static_cast<double>(total - done) / std::max(per_second, 1e-9)));
  }

  const AuditOptions& o_;
  const model::Model& model_;
  std::vector<model::Token> text_;
  std::int64_t before_;
  audit::ReadingPlan plan_;
  audit::Readings readings_;
  Json settings_, final_;
  std::uint64_t fingerprint_ = 0;
  Clock::time_point saved_ = Clock::now();
};

}  // namespace

int audit_lengths(const AuditOptions& o) {
  if (std::isnan(o.thresholds.blunt))
    throw Error(ErrorCode::bad_argument, "--threshold is not a number; one from 0 to 1 was wanted");
  const model::Model model = open_model(o.model);
  const model::Configuration& c = model.configuration();
  std::optional<audit::HeadPlace> head;
  if (!o.head.empty()) head = parse_head(o.head, c.layers, c.heads);
  std::vector<model::Token> text = tokens_of(model, o.text, audit::kLeastLength);
  const auto text_tokens = static_cast<std::int64_t>(text.size());
  LengthAudit job(o, model, std::move(text));
  job.run();
  if (job.saves()) write_text(o.json, job.final_results().dump(1) + "\n");
  if (o.report.wanted()) write_report_files(o.report, job.final_results());
  hand_over([&] { return job.final_results(); });
  if (o.json == "-") {
    print(job.final_results().dump(1) + "\n");
    return kOk;
  }
  const audit::Findings findings = job.findings();
  if (head) {
    print(head_report(findings,
                      findings.by_head[static_cast<std::size_t>(head->layer * c.heads + head->head)],
                      colour_wanted()));
  } else {
    print(report_of({model.name(), o.text.text, text_tokens}, findings, o.all, colour_wanted()));
  }
  return kOk;
}

}  // namespace sharpmax::cli
