// audit_model(): reads excerpts, saves the rows that it keeps as they come, and reports what they show.
#include "sharpmax/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "audit/job/requests.h"
#include "audit/measure/findings.h"
#include "audit/measure/reading.h"
#include "base/in_quotes.h"
#include "base/numbers.h"
#include "job/field_values.h"
#include "job/json_members.h"
#include "job/saved_results.h"
#include "machine/blas.h"
#include "model/job/model_request.h"
#include "storage/files.h"
#include "sweep/shared_job.h"

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
    const Json kept = json_of(of_kept_rows(result_.settings));
    fingerprint_ = model::fingerprint_with(model::fingerprint_of(text_), kept.dump());
    group_ = model::reading_group(
        request.order, fmt::format("{}, text {:016x}", model::without_paths(kept).dump(), model::fingerprint_of(text_)), listener);
    readings_ = audit::no_readings(plan_);
    if (request.sharing.directory.empty() && request.saving.resume && std::filesystem::exists(rows_file()))
      readings_ = audit::read_readings(rows_file(), plan_, model_->configuration(), fingerprint_);
    if (group_) audit::share_readings(*group_, plan_, readings_);
  }

  AuditResult run() { return request_.sharing.directory.empty() ? run_alone() : run_in_pieces(); }

 private:
  AuditResult run_alone() {
    read();
    find();
    if (request_.sketch > 0) result_.sketches = sketches();
    result_.complete = true;
    if (saves()) write_results();
    return std::move(result_);
  }

  // Excerpts, and the maps of the heads, shared with other processes.
  AuditResult run_in_pieces() {
    Json measured = model::without_paths(json_of(of_kept_rows(result_.settings)));
    measured["fingerprint"] = fmt::format("{:016x}", model::fingerprint_of(text_));
    fingerprint_ = model::fingerprint_with(model::fingerprint_of(text_), measured.dump());
    const std::vector<Piece> excerpts = excerpt_pieces(), maps = map_pieces();
    PiecesByKind kinds = {{"excerpts", excerpts}};
    if (!maps.empty()) kinds.emplace_back("sets of maps", maps);
    SharedJob job({.verb = "audit",
                   .fields = shared_fields(request_),
                   .measured = std::move(measured),
                   .pieces = kinds,
                   .blas = blas_description()},
                  {request_.sharing, request_.saving.resume, request_.saving.overwrite}, listener_);
    std::vector<Piece> pieces = excerpts;
    pieces.insert(pieces.end(), maps.begin(), maps.end());
    read_pieces(job, pieces);
    for (std::size_t e = 0; e < excerpts.size(); ++e)
      readings_[e] = audit::read_readings(job.path_of(excerpts[e]), plan_, model_->configuration(), fingerprint_)[e];
    find();
    if (!maps.empty()) result_.sketches = sketches_of(job.path_of(maps[0]));
    result_.complete = true;
    result_.settings.model.file = job.named_place("model", result_.settings.model.file);
    result_.settings.text.text = job.named_place("text", "-");
    result_ = audit_result(job.keep(to_json(result_)));
    if (saves()) write_results();
    return std::move(result_);
  }

  std::vector<Piece> excerpt_pieces() const {
    std::vector<Piece> pieces;
    for (std::size_t e = 0; e < plan_.starts.size(); ++e)
      pieces.push_back({.name = fmt::format("excerpt-{}", e),
                        .cost = static_cast<double>(plan_.lengths.back()),
                        .file = piece_file(fmt::format("excerpt-{}.npz", e))});
    return pieces;
  }
  std::vector<Piece> map_pieces() const {
    if (request_.sketch == 0) return {};
    return {{.name = "maps", .cost = static_cast<double>(sketch_tokens()), .file = piece_file("maps.json")}};
  }

  void open() {
    if (model::by_layer(request_.order))
      pass_ = model::open_layer_pass(*model_, request_.model, plan_.lengths.back(), listener_, group_.get());
    else
      session_ = model::open_session(*model_, request_.model, plan_.lengths.back(), listener_);
  }

  // state: file for the state of a pass layer by layer; empty: none.
  void read_one(std::size_t e, const audit::ReadingListener& listener, const std::filesystem::path& state) {
    const auto tokens = model::with_beginning(*model_, excerpt(e));
    if (!pass_) return audit::read_excerpt(*session_, tokens, plan_.lengths, listener);
    const std::uint64_t print = model::fingerprint_with(fingerprint_, fmt::format("excerpt {}", e));
    audit::read_excerpt(*pass_, tokens, plan_.lengths, listener, {state, print, request_.order.checkpoint_seconds});
  }

  void read_pieces(SharedJob& job, const std::vector<Piece>& pieces) {
    open();
    const auto start = Clock::now();
    std::int64_t done = 0;
    const std::int64_t total = plan_.lengths.back() * static_cast<std::int64_t>(plan_.starts.size());
    job.carry_out(pieces, [&](std::size_t piece) {
      if (piece >= plan_.starts.size())
        return write_text(job.path_of(pieces[piece]), results_text(audit::to_json(sketches())));
      audit::Readings own = audit::no_readings(plan_);
      const auto tell = [&](std::int64_t read) {
        listener_.proceed(progress_sentence(piece, done + read, total, seconds_since(start)));
      };
      const auto keep = [&](std::size_t i, audit::KeptRows rows) { own[piece][i] = std::move(rows); };
      const std::filesystem::path file = job.path_of(pieces[piece]), state = file.string() + ".state.npz";
      read_one(piece, {.on_tokens = tell, .on_length = keep}, state);
      audit::write_readings(file, own, plan_, model_->configuration(), fingerprint_);
      model::remove_state(state);
      done += plan_.lengths.back();
    });
    listener_.on_progress("");
  }

  Sketches sketches_of(const std::filesystem::path& file) const {
    const model::Configuration& c = model_->configuration();
    try {
      return audit::sketches_in(parse_json(read_text(file), file.string()), c.layers, c.heads);
    } catch (const Json::exception& error) {
      throw Error(ErrorCode::bad_file,
                  fmt::format("{}: not the maps of heads: {}; delete it to draw them again", file.string(), error.what()));
    }
  }

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
    open();
    tell_resumption();
    if (saves()) {  // a file that cannot be written is known now, not after the work
      find();
      write_results();
    }
    try {
      read_all();
    } catch (const Interrupted&) {
      if (saves()) write_saved();
      throw;
    }
  }

  void read_all() {
    const auto start = Clock::now();
    std::int64_t left = 0, done = 0;
    const std::filesystem::path state = model::state_file(request_.saving, request_.order);
    for (const auto& excerpt : readings_) left += is_read(excerpt) ? 0 : plan_.lengths.back();
    for (std::size_t e = 0; e < readings_.size(); ++e) {
      if (is_read(readings_[e])) continue;
      const auto tell = [&](std::int64_t read) {
        listener_.proceed(progress_sentence(e, done + read, left, seconds_since(start)));
      };
      const auto keep = [&](std::size_t i, audit::KeptRows rows) {
        readings_[e][i] = std::move(rows);
        if (saves() && (i + 1 == plan_.lengths.size() || seconds_since(saved_) >= kSecondsBetweenSaves)) write_saved();
      };
      read_one(e, {.on_tokens = tell, .on_length = keep}, state);
      model::remove_state(state);
      done += plan_.lengths.back();
    }
    listener_.on_progress("");
  }

  // Reads the beginning of the first excerpt again: the rows that were kept do not hold it.
  Sketches sketches() const {
    const std::int64_t tokens = sketch_tokens();
    listener_.proceed(fmt::format("drawing every head over {} tokens", grouped(tokens)));
    ModelRequest whole = request_.model;
    whole.block = tokens;
    const auto session = model::open_session(*model_, whole, tokens, listener_);
    const auto read = model::with_beginning(*model_, excerpt(0));
    Sketches found = audit::sketch_heads(*session, std::span(read).first(static_cast<std::size_t>(tokens)));
    listener_.on_progress("");
    return found;
  }

  std::int64_t sketch_tokens() const {
    return std::min({request_.sketch, plan_.lengths.back(), model_->configuration().context});
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
  std::unique_ptr<Group> group_;             // that reads together; null: none
  std::unique_ptr<model::Session> session_;  // or
  std::unique_ptr<model::LayerPass> pass_;
  AuditResult result_;
  std::uint64_t fingerprint_ = 0;
  Clock::time_point saved_ = Clock::now();
};

}  // namespace

AuditResult audit_model(const AuditRequest& given, Listener& listener) {
  AuditRequest request = joined(given, "audit");
  check_fields(request);
  model::check_reading(request.order, request.sharing.directory);
  if (model::only_helps(request.order)) request.saving = {};
  check_sharing({request.sharing, request.saving.resume, request.saving.overwrite}, request.saving.json);
  files_of_audit(request).check();
  if (!request.order.together) tell_unshared(request.sharing, listener);
  return LengthAudit(request, listener).run();
}

RunStatus status_of(const AuditRequest& request) { return shared_status("audit", request.sharing, request.command); }

}  // namespace sharpmax
