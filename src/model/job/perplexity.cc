#include "sharpmax/perplexity.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/numbers.h"
#include "job/call_files.h"
#include "job/field_values.h"
#include "job/json_members.h"
#include "job/saved_results.h"
#include "machine/blas.h"
#include "model/generation/generate.h"
#include "model/job/model_request.h"
#include "storage/files.h"
#include "sweep/shared_job.h"

namespace sharpmax {
namespace {

using Clock = std::chrono::steady_clock;

// `tokens` of them, after those that are left out.
std::vector<model::Token> tokens_after(const model::Model& model, TextRequest text, std::int64_t skip) {
  if (text.tokens) *text.tokens += skip;
  std::vector<model::Token> tokens = model::tokens_of(model, text, skip + 2);
  tokens.erase(tokens.begin(), tokens.begin() + skip);
  return tokens;
}

std::int64_t length_of(const model::Model& model, const PerplexityRequest& request, std::int64_t tokens) {
  const std::int64_t room = model::context_of(model, request.model) - model::tokens_before_text(model);
  if (request.length && *request.length > room)
    throw RequestError(ErrorCode::limit,
                       fmt::format("{}: the context has room for {} tokens; {} makes it larger",
                                   named("length", std::to_string(*request.length)), room, named("context")));
  return std::min(request.length.value_or(room), tokens);
}

// A chunk of one token predicts nothing.
std::int64_t chunks_of(std::int64_t tokens, std::int64_t length) {
  const std::int64_t chunks = (tokens + length - 1) / length;
  return tokens % length == 1 && chunks > 1 ? chunks - 1 : chunks;
}

std::string progress_sentence(std::int64_t done, std::int64_t total, double seconds) {
  const double per_second = static_cast<double>(done) / std::max(seconds, 1e-9);
  return fmt::format("{} of {} tokens ({:.0f} %), {:.0f} tokens/s, {} left", grouped(done), grouped(total),
                     100.0 * static_cast<double>(done) / static_cast<double>(total), per_second,
                     duration(static_cast<double>(total - done) / std::max(per_second, 1e-9)));
}

Json bucket_json(const PositionBucket& b) {
  return {{"from", b.from}, {"to", b.to},     {"tokens", b.tokens}, {"loss", b.loss},
          {"low", b.low},   {"high", b.high}, {"perplexity", std::exp(b.loss)}};
}

PerplexitySettings settings_of(const model::Model& model, const PerplexityRequest& request,
                               std::span<const model::Token> tokens, std::int64_t length, Listener& listener) {
  PerplexitySettings settings{request, model::settings_of(model, request.model, listener),
                              fmt::format("{:016x}", model::fingerprint_of(tokens))};
  settings.text = model::text_settings(request.text, static_cast<std::int64_t>(tokens.size()));
  settings.length = length;
  return settings;
}

std::vector<ChunkLosses> saved_chunks(const PerplexityRequest& request, const PerplexitySettings& settings) {
  std::vector<ChunkLosses> chunks;
  const std::string& file = request.saving.json;
  if (!request.saving.resume || !std::filesystem::exists(file)) return chunks;
  resume_from(file, kPerplexitySchema, json_of(settings), [&](const Json& json) { read_json(json.at("chunks"), chunks); });
  const std::int64_t most = chunks_of(*settings.text.tokens, *settings.length);
  if (static_cast<std::int64_t>(chunks.size()) > most)
    throw Error(ErrorCode::bad_file, fmt::format("{}: it has {} chunks; it must have at most {}", file, chunks.size(), most));
  return chunks;
}

// What an interrupt will say, and where a resumed job goes on.
void tell_resumption(const Saving& saving, std::int64_t measured, std::int64_t chunks, Listener& listener) {
  if (saving.json.empty())
    return listener.on_resumption(
        {false, fmt::format("nothing was saved; with {} finished chunks are saved, and {} goes on", given("json", "FILE"),
                            flagged("resume"))});
  listener.on_resumption({true, "finished chunks are saved"});
  if (saving.resume) listener.narrate(fmt::format("resuming: {} of {} chunks are measured", measured, chunks));
}

}  // namespace

double PerplexityResult::likeliest_right() const {
  std::int64_t right = 0;
  for (const ChunkLosses& chunk : chunks) right += chunk.likeliest;
  return static_cast<double>(right) / static_cast<double>(bucket_of_all(chunks).tokens);
}

namespace {

// A job that knows its model and its chunks.
class ChunkJob {
 public:
  ChunkJob(const PerplexityRequest& request, Listener& listener)
      : request_(request),
        listener_(listener),
        model_(model::shared_model(request.model)),
        tokens_(tokens_after(*model_, request.text, request.skip)),
        length_(length_of(*model_, request, count())),
        result_{.provenance = provenance_of(request.command, command_of("perplexity", request)),
                .settings = settings_of(*model_, request, tokens_, length_, listener)},
        group_(model::reading_group(request.order, model::without_paths(json_of(result_.settings)).dump(), listener)) {}

  // Alone, or together with other processes that read the same chunks.
  PerplexityResult run_alone() {
    result_.chunks = saved_chunks(request_, result_.settings);
    share_saved_chunks();
    open();
    const auto measured = static_cast<std::int64_t>(result_.chunks.size());
    tell_resumption(request_.saving, measured, chunks(), listener_);
    total_ = count() - measured * length_;
    save();  // a file that cannot be written is known now, not after the work
    const std::filesystem::path state = model::state_file(request_.saving, request_.order);
    for (std::int64_t at = measured; at < chunks(); ++at) {
      result_.chunks.push_back(measure(at, state));
      save();
      model::remove_state(state);
    }
    listener_.on_progress("");
    return std::move(result_);
  }

  // The chunks in runs, shared with other processes.
  PerplexityResult run_in_pieces() {
    const std::vector<Piece> pieces = pieces_of_chunks();
    SharedJob job({.verb = "perplexity",
                   .fields = shared_fields(request_),
                   .measured = model::without_paths(json_of(result_.settings)),
                   .pieces = {{"runs of chunks", pieces}},
                   .blas = blas_description()},
                  {request_.sharing, request_.saving.resume, request_.saving.overwrite}, listener_);
    open();
    total_ = count();
    job.carry_out(pieces, [&](std::size_t piece) {
      std::vector<ChunkLosses> losses;
      const std::int64_t first = static_cast<std::int64_t>(piece) * chunks_of_piece();
      const std::filesystem::path file = job.path_of(pieces[piece]), state = file.string() + ".state.npz";
      for (std::int64_t at = first; at < std::min(first + chunks_of_piece(), chunks()); ++at)
        losses.push_back(measure(at, state));
      write_text(file, json_of(losses).dump() + "\n");
      model::remove_state(state);
    });
    for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
      add_piece(job.path_of(pieces[piece]));
      const std::int64_t end = std::min((static_cast<std::int64_t>(piece) + 1) * chunks_of_piece(), chunks());
      if (static_cast<std::int64_t>(result_.chunks.size()) != end)
        throw Error(ErrorCode::bad_file, fmt::format("{}: it does not have the chunks up to {}; delete it to measure again",
                                                     job.path_of(pieces[piece]).string(), end - 1));
    }
    result_.settings.model.file = job.named_place("model", result_.settings.model.file);
    result_.settings.text.text = job.named_place("text", "-");
    note_standing();
    PerplexityResult agreed = perplexity_result(job.keep(to_json(result_)));
    listener_.on_progress("");
    if (!request_.saving.json.empty()) write_text(request_.saving.json, results_text(to_json(agreed)));
    return agreed;
  }

 private:
  std::int64_t count() const { return static_cast<std::int64_t>(tokens_.size()); }
  std::int64_t chunks() const { return chunks_of(count(), length_); }

  // A claim takes a millisecond, so a piece is at least so long.
  static constexpr std::int64_t kTokensOfPiece = 1024;
  std::int64_t chunks_of_piece() const { return std::max<std::int64_t>(1, kTokensOfPiece / length_); }

  std::vector<Piece> pieces_of_chunks() const {
    std::vector<Piece> pieces;
    for (std::int64_t first = 0; first < chunks(); first += chunks_of_piece()) {
      const std::int64_t end = std::min((first + chunks_of_piece()) * length_, count());
      const std::string name = fmt::format("chunks-{}", first);
      pieces.push_back({.name = name, .cost = static_cast<double>(end - first * length_), .file = piece_file(name + ".json")});
    }
    return pieces;
  }

  void add_piece(const std::filesystem::path& file) {
    std::vector<ChunkLosses> losses;
    try {
      read_json(parse_json(read_text(file), file.string()), losses);
    } catch (const Json::exception& error) {
      throw Error(ErrorCode::bad_file,
                  fmt::format("{}: not the losses of chunks: {}; delete it to measure again", file.string(), error.what()));
    }
    for (ChunkLosses& chunk : losses) result_.chunks.push_back(std::move(chunk));
  }

  void open() {
    if (model::by_layer(request_.order))
      pass_ = model::open_layer_pass(*model_, request_.model, length_, listener_, group_.get());
    else
      session_ = model::open_session(*model_, request_.model, length_, listener_);  // the last token is not read
    start_ = Clock::now();
  }
  // What rank 0 found is what all go on from.
  void share_saved_chunks() {
    if (!group_ || group_->size() == 1) return;
    const std::string mine = json_of(result_.chunks).dump();
    const Group::Bytes bytes = group_->broadcast(std::as_bytes(std::span(mine)), 0);
    const auto* const text = reinterpret_cast<const char*>(bytes.data());
    result_.chunks.clear();
    read_json(Json::parse(text, text + bytes.size()), result_.chunks);
  }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  // state: file for the state of a pass layer by layer; empty: none.
  ChunkLosses measure(std::int64_t at, const std::filesystem::path& state = {}) {
    const std::int64_t first = at * length_, part = std::min(length_, count() - first);
    const auto chunk = model::with_beginning(
        *model_, std::span(tokens_).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(part)));
    ChunkLosses losses =
        pass_ ? losses_by_layer(chunk, request_.skip + first, {state, chunk_print(at), request_.order.checkpoint_seconds})
              : model::chunk_losses(*session_, chunk, request_.skip + first, [&](std::int64_t done) {
                  if (done % 32 == 0) listener_.proceed(progress_sentence(done_ + done, total_, seconds()));
                });
    done_ += part;
    return losses;
  }

  std::uint64_t chunk_print(std::int64_t at) const {
    const Json settings = model::without_paths(json_of(result_.settings));
    return model::fingerprint_with(model::fingerprint_of(tokens_), fmt::format("{} {}", settings.dump(), at));
  }

  ChunkLosses losses_by_layer(std::span<const model::Token> chunk, std::int64_t first, const model::PassFile& file) {
    const std::int64_t layers = model_->configuration().layers, read = static_cast<std::int64_t>(chunk.size()) - 1;
    const bool saves = pass_->agreed(!file.path.empty());
    if (saves) pass_->load(file.path, file.fingerprint, read);
    auto saved = Clock::now();
    return model::chunk_losses(
        *pass_, chunk, first,
        {.on_block =
             [&](std::int64_t layer, std::int64_t tokens) {
               listener_.proceed(progress_sentence(done_ + std::max<std::int64_t>((layer * read + tokens) / layers, 1), total_,
                                                   seconds()));
             },
         .on_layer =
             [&](std::int64_t) {
               if (!saves || !pass_->agreed(std::chrono::duration<double>(Clock::now() - saved).count() >= file.seconds)) return;
               pass_->save(file.path, file.fingerprint, {});
               saved = Clock::now();
             }});
  }

  void note_standing() {
    result_.seconds = seconds();
    result_.complete = static_cast<std::int64_t>(result_.chunks.size()) == chunks();
  }
  void save() {
    note_standing();
    if (!request_.saving.json.empty()) write_text(request_.saving.json, results_text(to_json(result_)));
  }

  const PerplexityRequest& request_;
  Listener& listener_;
  std::shared_ptr<const model::Model> model_;
  std::vector<model::Token> tokens_;
  std::int64_t length_;
  PerplexityResult result_;
  std::unique_ptr<Group> group_;             // that reads together; null: none
  std::unique_ptr<model::Session> session_;  // or
  std::unique_ptr<model::LayerPass> pass_;
  std::int64_t done_ = 0, total_ = 0;  // tokens read here, and those to read
  Clock::time_point start_ = Clock::now();
};

}  // namespace

PerplexityResult perplexity(const PerplexityRequest& given, Listener& listener) {
  PerplexityRequest request = joined(given, "perplexity");
  check_fields(request);
  model::check_reading(request.order, request.sharing.directory);
  if (model::only_helps(request.order)) request.saving = {};
  check_sharing({request.sharing, request.saving.resume, request.saving.overwrite}, request.saving.json);
  files_of(request, request.saving.overwrite, kPerplexitySchema).check();
  if (!request.order.together) tell_unshared(request.sharing, listener);
  ChunkJob job(request, listener);
  return request.sharing.directory.empty() ? job.run_alone() : job.run_in_pieces();
}

RunStatus status_of(const PerplexityRequest& request) {
  return shared_status("perplexity", request.sharing, request.command);
}

Json to_json(const PerplexityResult& result) {
  Json json = header_of(kPerplexitySchema, result.provenance);
  json["settings"] = json_of(result.settings);
  json["complete"] = result.complete;
  json["seconds"] = result.seconds;
  if (!result.chunks.empty()) {
    json["all"] = bucket_json(bucket_of_all(result.chunks));
    json["likeliest_right"] = result.likeliest_right();
    json["buckets"] = Json::array();
    for (const PositionBucket& bucket : buckets_of(result.chunks)) json["buckets"].push_back(bucket_json(bucket));
  }
  json["chunks"] = json_of(result.chunks);
  return json;
}

PerplexityResult perplexity_result(const Json& json) {
  return read_results(json, kPerplexitySchema, [](const Json& results) {
    PerplexityResult result{.provenance = provenance_in(results)};
    read_json(results.at("settings"), result.settings);
    read_json(results.at("complete"), result.complete);
    read_json(results.at("seconds"), result.seconds);
    read_json(results.at("chunks"), result.chunks);
    return result;
  });
}

}  // namespace sharpmax
