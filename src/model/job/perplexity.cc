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
#include "model/generation/generate.h"
#include "model/job/model_request.h"
#include "storage/files.h"

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

PerplexityResult perplexity(const PerplexityRequest& request, Listener& listener) {
  check_fields(request);
  check_resume(request.saving.resume, request.saving.json);
  files_of(request, request.saving.overwrite, kPerplexitySchema).check();
  const auto model = model::shared_model(request.model);
  const std::vector<model::Token> tokens = tokens_after(*model, request.text, request.skip);
  const auto count = static_cast<std::int64_t>(tokens.size());
  const std::int64_t length = length_of(*model, request, count), chunks = chunks_of(count, length);

  PerplexityResult result{.provenance = provenance_of(request.command, command_of("perplexity", request)),
                          .settings = settings_of(*model, request, tokens, length, listener)};
  result.chunks = saved_chunks(request, result.settings);
  const auto session = model::open_session(*model, request.model, length, listener);  // the last token is not read
  const auto measured = static_cast<std::int64_t>(result.chunks.size());
  tell_resumption(request.saving, measured, chunks, listener);
  const auto start = Clock::now();
  const auto save = [&] {
    result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    result.complete = static_cast<std::int64_t>(result.chunks.size()) == chunks;
    if (!request.saving.json.empty()) write_text(request.saving.json, results_text(to_json(result)));
  };
  save();  // a file that cannot be written is known now, not after the work
  for (std::int64_t at = measured; at < chunks; ++at) {
    const std::int64_t first = at * length, part = std::min(length, count - first), before = measured * length;
    const auto chunk = model::with_beginning(
        *model, std::span(tokens).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(part)));
    result.chunks.push_back(model::chunk_losses(*session, chunk, request.skip + first, [&](std::int64_t done) {
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      if (done % 32 == 0) listener.proceed(progress_sentence(first - before + done, count - before, seconds));
    }));
    save();
  }
  listener.on_progress("");
  return result;
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
