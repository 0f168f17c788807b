// audit_model(): reads excerpts, saves the rows that it keeps as they come, and reports what they show.
#include "sharpmax/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "audit/job/audit_forms.h"
#include "audit/measure/findings.h"
#include "audit/measure/reading.h"
#include "base/in_quotes.h"
#include "base/numbers.h"
#include "job/field_values.h"
#include "job/json_members.h"
#include "job/saved_results.h"
#include "model/job/model_request.h"
#include "storage/files.h"

namespace sharpmax {
namespace {

using Clock = std::chrono::steady_clock;

// Longer lengths take minutes, so they must be asked for.
constexpr std::int64_t kLongestByDefault = 8192;
constexpr double kSecondsBetweenSaves = 15;

std::string in_tokens(double length) { return grouped(std::llround(length)); }

std::string verdict_of(const Findings& f) {
  const auto& blunt = f.blunt_heads;
  const auto& outside = f.typical(RowField::peak_outside);
  const std::size_t last = f.lengths.size() - 1;
  const std::string at_last =
      fmt::format("At {} tokens {} of {} heads {} (median peak weight outside the first token below {})",
                  in_tokens(f.lengths[last]), blunt[last], f.by_head.size(), last == 0 ? "do not pick" : "no longer pick",
                  f.thresholds.blunt);
  if (last == 0)
    return fmt::format("{}. The median head's peak is {:.2f}; one length alone says nothing of others.", at_last,
                       outside[0]);
  const double far = 8 * f.lengths[last];
  const auto foreseen = std::count_if(f.by_head.begin(), f.by_head.end(), [&](const HeadFindings& head) {
    return head.blunting.how == Blunting::How::forecast && head.blunting.length <= far;
  });
  const std::string more = foreseen == 0   ? "no more heads are"
                           : foreseen == 1 ? "1 more head is"
                                           : fmt::format("{} more heads are", foreseen);
  return fmt::format("{}; at {} tokens it was {}. The median head's peak goes from {:.2f} to {:.2f}; by {} tokens {} "
                     "forecast to go blunt.",
                     at_last, in_tokens(f.lengths[0]), blunt[0], outside[0], outside[last], in_tokens(far), more);
}

bool is_read(const std::vector<std::optional<audit::KeptRows>>& excerpt) {
  return std::all_of(excerpt.begin(), excerpt.end(), [](const auto& rows) { return rows.has_value(); });
}

// The settings that kept rows depend on; the others are as they are by default.
AuditSettings of_kept_rows(AuditSettings settings) {
  settings.threshold = AuditChoices{}.threshold;
  settings.sketch = AuditChoices{}.sketch;
  return settings;
}

class LengthAudit {
 public:
  LengthAudit(const AuditRequest& request, Listener& listener)
      : request_(request), listener_(listener), model_(model::shared_model(request.model)),
        text_(model::tokens_of(*model_, request.text, kLeastLength)), before_(model::tokens_before_text(*model_)) {
    plan();
    result_.provenance = provenance_of(request.command, command_of("audit", request));
    result_.settings = {request, model::settings_of(*model_, request.model, listener), plan_.starts, request.model.block};
    result_.settings.text = model::text_settings(request.text, static_cast<std::int64_t>(text_.size()));
    result_.settings.lengths = plan_.lengths;
    result_.settings.excerpts = static_cast<std::int64_t>(plan_.starts.size());
    fingerprint_ = model::fingerprint_with(model::fingerprint_of(text_), json_of(of_kept_rows(result_.settings)).dump());
    readings_ = audit::no_readings(plan_);
    if (request.saving.resume && std::filesystem::exists(rows_file()))
      readings_ = audit::read_readings(rows_file(), plan_, model_->configuration(), fingerprint_);
  }

  AuditResult run() {
    read();
    find();
    if (request_.sketch > 0) result_.sketches = sketches();
    result_.complete = true;
    if (saves()) write_results();
    return std::move(result_);
  }

 private:
  void plan() {
    const std::int64_t tokens = static_cast<std::int64_t>(text_.size()) + before_;
    const std::int64_t context = request_.model.context.value_or(model_->configuration().context);
    auto lengths = request_.lengths;
    if (lengths.empty()) lengths = audit::default_lengths(std::min({context, tokens, kLongestByDefault}));
    const std::int64_t asked = *std::max_element(lengths.begin(), lengths.end());
    plan_ = audit::plan_reading(lengths, tokens, request_.excerpts);
    if (asked > tokens)
      listener_.narrate(fmt::format("the text has {} tokens: lengths beyond are left out, and {} is measured instead",
                                    grouped(tokens), grouped(plan_.lengths.back())));
  }

  void read() {
    const auto session = model::open_session(*model_, request_.model, plan_.lengths.back(), listener_);
    tell_resumption();
    if (saves()) {  // a file that cannot be written is known now, not after the work
      find();
      write_results();
    }
    try {
      read_all(*session);
    } catch (const Interrupted&) {
      if (saves()) write_saved();
      throw;
    }
  }

  void read_all(model::Session& session) {
    const auto start = Clock::now();
    std::int64_t left = 0, done = 0;
    for (const auto& excerpt : readings_) left += is_read(excerpt) ? 0 : plan_.lengths.back();
    for (std::size_t e = 0; e < readings_.size(); ++e) {
      if (is_read(readings_[e])) continue;
      const auto tokens = model::with_beginning(*model_, excerpt(e));
      const auto tell = [&](std::int64_t read) {
        listener_.proceed(progress_sentence(e, done + read, left, seconds_since(start)));
      };
      const auto keep = [&](std::size_t i, audit::KeptRows rows) {
        readings_[e][i] = std::move(rows);
        if (saves() && (i + 1 == plan_.lengths.size() || seconds_since(saved_) >= kSecondsBetweenSaves)) write_saved();
      };
      audit::read_excerpt(session, tokens, plan_.lengths, {.on_tokens = tell, .on_length = keep});
      done += plan_.lengths.back();
    }
    listener_.on_progress("");
  }

  // Reads the beginning of the first excerpt again: the rows that were kept do not hold it.
  Sketches sketches() const {
    const std::int64_t tokens = std::min({request_.sketch, plan_.lengths.back(), model_->configuration().context});
    listener_.proceed(fmt::format("drawing every head over {} tokens", grouped(tokens)));
    ModelRequest whole = request_.model;
    whole.block = tokens;
    const auto session = model::open_session(*model_, whole, tokens, listener_);
    const auto read = model::with_beginning(*model_, excerpt(0));
    Sketches found = audit::sketch_heads(*session, std::span(read).first(static_cast<std::size_t>(tokens)));
    listener_.on_progress("");
    return found;
  }

  std::span<const model::Token> excerpt(std::size_t e) const {
    const auto tokens = static_cast<std::size_t>(plan_.lengths.back() - before_);
    return std::span(text_).subspan(static_cast<std::size_t>(plan_.starts[e]), tokens);
  }

  bool saves() const { return !request_.saving.json.empty(); }
  std::filesystem::path rows_file() const { return request_.saving.json + kRowsEnding; }

  // What an interrupt will say, and where a resumed audit goes on.
  void tell_resumption() const {
    if (!saves())
      return listener_.on_resumption({false, fmt::format("nothing was saved; with {} what is read is saved, and {} goes on",
                                                         given("json", "FILE"), flagged("resume"))});
    listener_.on_resumption({true, "the lengths that were read are saved"});
    if (!request_.saving.resume) return;
    std::size_t excerpts = 0, lengths = 0;
    for (const auto& excerpt : readings_) {
      excerpts += is_read(excerpt) ? 1 : 0;
      lengths += static_cast<std::size_t>(
          std::count_if(excerpt.begin(), excerpt.end(), [](const auto& rows) { return rows.has_value(); }));
    }
    listener_.narrate(fmt::format("resuming: {} of {} excerpts are read; {} of {} lengths in all", excerpts,
                                  readings_.size(), lengths, readings_.size() * plan_.lengths.size()));
  }

  // The findings of the rows that are there.
  void find() {
    if (audit::finished_lengths(readings_).empty()) return;
    Thresholds thresholds;
    thresholds.blunt = request_.threshold;
    const std::string& normalizer = request_.model.normalizer;
    const bool softmax = request_.model.normalizers.empty() &&
                         (normalizer.empty() ? model_->trained_with_softmax() : AnyNormalizer::parse(normalizer) == Softmax{});
    result_.findings = audit::find(plan_, readings_, model_->configuration(), thresholds, softmax);
    result_.verdict = verdict_of(*result_.findings);
  }

  // The rows first: a resumed audit goes on from them.
  void write_saved() {
    audit::write_readings(rows_file(), readings_, plan_, model_->configuration(), fingerprint_);
    find();
    if (result_.findings) write_results();
    saved_ = Clock::now();
  }

  void write_results() const { write_text(request_.saving.json, results_text(to_json(result_))); }

  std::string progress_sentence(std::size_t e, std::int64_t done, std::int64_t total, double seconds) const {
    const double per_second = static_cast<double>(done) / std::max(seconds, 1e-9);
    return fmt::format("excerpt {} of {}: {} of {} tokens ({:.0f} %), {:.0f} tokens/s, {} left", e + 1, readings_.size(),
                       grouped(done), grouped(total), 100.0 * static_cast<double>(done) / static_cast<double>(total),
                       per_second, duration(static_cast<double>(total - done) / std::max(per_second, 1e-9)));
  }

  const AuditRequest& request_;
  Listener& listener_;
  std::shared_ptr<const model::Model> model_;
  std::vector<model::Token> text_;
  std::int64_t before_;
  audit::ReadingPlan plan_;
  audit::Readings readings_;
  AuditResult result_;
  std::uint64_t fingerprint_ = 0;
  Clock::time_point saved_ = Clock::now();
};

}  // namespace

AuditResult audit_model(const AuditRequest& request, Listener& listener) {
  check_fields(request);
  check_resume(request.saving.resume, request.saving.json);
  files_of_audit(request).check();
  return LengthAudit(request, listener).run();
}

namespace {

std::string_view name_of(AuditForm form) {
  switch (form) {
    case AuditForm::by_length:
      return "an audit by length";
    case AuditForm::analysis:
      return "an analysis";
    case AuditForm::probe:
      break;
  }
  return "a probe";
}

AuditForm form_of(const Json& settings) {
  if (settings.contains("probe")) return AuditForm::probe;
  return settings.contains("analysis") ? AuditForm::analysis : AuditForm::by_length;
}

}  // namespace

CallFiles files_of_audit(const AuditRequest& request) {
  CallFiles call = files_of(request, request.saving.overwrite, kAuditSchema);
  if (is_file(request.saving.json)) call.writes(named("json"), request.saving.json + kRowsEnding, npz_kind());
  return call;
}

void check_form(const Json& results, AuditForm expected) {
  const AuditForm form = form_of(results.at("settings"));
  if (form != expected)
    throw Error(ErrorCode::bad_file, fmt::format("these are results of {}; expected {}", name_of(form), name_of(expected)));
}

HeadPlace parse_head(std::string_view text, std::int64_t layers, std::int64_t heads) {
  HeadPlace place;
  const char* const end = text.data() + text.size();
  const auto layer = std::from_chars(text.data(), end, place.layer);
  const bool dotted = layer.ec == std::errc() && layer.ptr != end && *layer.ptr == '.';
  const auto head = dotted ? std::from_chars(layer.ptr + 1, end, place.head) : layer;
  if (!dotted || head.ec != std::errc() || head.ptr != end)
    throw RequestError(ErrorCode::bad_argument,
                       fmt::format("{} is {}; expected LAYER.HEAD, both counted from 0, such as 3.5", named("head"),
                                   in_quotes(text)));
  if (place.layer < 0 || place.layer >= layers || place.head < 0 || place.head >= heads)
    throw RequestError(ErrorCode::bad_argument,
                       fmt::format("{}: there is no such head; layers go from 0 to {} and heads from 0 to {}",
                                   named("head", text), layers - 1, heads - 1));
  return place;
}

// An AuditResult as JSON and back.

Json to_json(const AuditResult& result) {
  Json json = header_of(kAuditSchema, result.provenance);
  json["settings"] = json_of(result.settings);
  json["complete"] = result.complete;
  if (result.findings) {
    json["verdict"] = result.verdict;
    json["attention"] = audit::to_json(*result.findings);
  }
  if (result.sketches) json["sketches"] = audit::to_json(*result.sketches);
  return json;
}

AuditResult audit_result(const Json& json) {
  return read_results(json, kAuditSchema, [](const Json& results) {
    check_form(results, AuditForm::by_length);
    AuditResult result{.provenance = provenance_in(results)};
    read_json(results.at("settings"), result.settings);
    const ModelSettings& model = result.settings.model;
    read_json(results.at("complete"), result.complete);
    if (results.contains("attention")) {
      read_json(results.at("verdict"), result.verdict);
      result.findings = audit::findings_in(results.at("attention"), model.layers, model.heads);
    }
    if (results.contains("sketches"))
      result.sketches = audit::sketches_in(results.at("sketches"), model.layers, model.heads);
    return result;
  });
}

}  // namespace sharpmax
