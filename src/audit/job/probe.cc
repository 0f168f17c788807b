// probe_model(): asks at every length, saves each length when it is done; a ProbeResult as JSON and back.
#include "sharpmax/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "audit/job/requests.h"
#include "audit/probe/measure_probe.h"
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

constexpr std::int64_t kShortestPrompt = 128, kLongestPrompt = 2048;  // by default

std::vector<std::int64_t> probed_lengths(const ProbeRequest& request, std::int64_t context) {
  std::vector<std::int64_t> lengths = request.lengths;
  if (lengths.empty())
    for (std::int64_t length = kShortestPrompt; length <= std::min(kLongestPrompt, context); length *= 2)
      lengths.push_back(length);
  if (lengths.empty())
    throw RequestError(ErrorCode::bad_argument,
                       fmt::format("the context has room for {} tokens, and the shortest prompt has {}; {} must name "
                                   "shorter ones",
                                   context, kShortestPrompt, named("lengths")));
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  return lengths;
}

// The lengths of results under these settings.
std::vector<ProbedLength> lengths_in(const Json& results, const ProbeSettings& settings) {
  std::vector<ProbedLength> lengths;
  for (const Json& length : results.at("probe").at("lengths").get_ref<const Json::array_t&>())
    lengths.push_back(audit::probed_length_in(length, settings.model.layers, settings.model.heads));
  if (lengths.size() > settings.lengths.size())
    throw Error(ErrorCode::bad_file, fmt::format("the results have {} lengths; they must have at most {}", lengths.size(),
                                                 settings.lengths.size()));
  return lengths;
}

std::vector<ProbedLength> saved_lengths(const Saving& saving, const ProbeSettings& settings) {
  std::vector<ProbedLength> lengths;
  if (!saving.resume || !std::filesystem::exists(saving.json)) return lengths;
  resume_from(saving.json, kAuditSchema, json_of(settings),
              [&](const Json& json) { lengths = lengths_in(json, settings); });
  return lengths;
}

// What an interrupt will say, and where a resumed probe goes on.
void tell_resumption(const Saving& saving, const ProbeResult& result, Listener& listener) {
  if (saving.json.empty())
    return listener.on_resumption(
        {false, fmt::format("nothing was saved; with {} finished lengths are saved, and {} goes on", given("json", "FILE"),
                            flagged("resume"))});
  listener.on_resumption({true, "finished lengths are saved"});
  if (saving.resume)
    listener.narrate(fmt::format("resuming: {} of {} lengths are measured", result.lengths.size(),
                                 result.settings.lengths.size()));
}

audit::Probe probe_of(const ProbeQuestions& questions) {
  return {audit::probe_kind_of(questions.probe), questions.chat, questions.question_seed};
}

// Asks at the lengths that are left. Work is counted in tokens of one question per length.
void ask_all(model::Session& session, ProbeResult& result, Listener& listener, const std::function<void()>& save) {
  const auto& lengths = result.settings.lengths;
  double total = 0, before = 0;
  for (std::size_t i = result.lengths.size(); i < lengths.size(); ++i) total += static_cast<double>(lengths[i]);
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = result.lengths.size(); i < lengths.size(); ++i) {
    const auto length = static_cast<double>(lengths[i]);
    const auto tell = [&](const audit::ProbeProgress& p) {
      const double done = before + length * static_cast<double>(p.done) / static_cast<double>(p.questions);
      listener.proceed(fmt::format("{} tokens: question {} of {}, {} left", grouped(lengths[i]), p.done, p.questions,
                                       duration(seconds_since(start) * (total - done) / done)));
    };
    const ProbeQuestions& questions = result.settings.questions;
    result.lengths.push_back(
        audit::measure_probe(session, probe_of(questions), lengths[i], questions.questions, tell));
    before += length;
    save();
  }
  listener.on_progress("");
}

}  // namespace

namespace {

constexpr const char* kProbeVerb = "probe";

// Lengths shared with other processes.
ProbeResult probe_in_pieces(model::Session& session, ProbeResult result, const ProbeRequest& request, Listener& listener) {
  const std::vector<std::int64_t>& lengths = result.settings.lengths;
  std::vector<Piece> pieces;
  for (const std::int64_t length : lengths) {
    const std::string name = fmt::format("length-{}", length);
    pieces.push_back({.name = name, .cost = static_cast<double>(length), .file = piece_file(name + ".json")});
  }
  SharedJob job({.verb = kProbeVerb,
                 .fields = shared_fields(request),
                 .measured = model::without_paths(json_of(result.settings)),
                 .pieces = {{"lengths", pieces}},
                 .blas = blas_description()},
                {request.sharing, request.saving.resume, request.saving.overwrite}, listener);
  const ProbeQuestions& questions = result.settings.questions;
  const std::int64_t heads = result.settings.model.heads;
  job.carry_out(pieces, [&](std::size_t piece) {
    const auto tell = [&](const audit::ProbeProgress& p) {
      listener.proceed(fmt::format("{} tokens: question {} of {}", grouped(lengths[piece]), p.done, p.questions));
    };
    const ProbedLength found = audit::measure_probe(session, probe_of(questions), lengths[piece], questions.questions, tell);
    write_text(job.path_of(pieces[piece]), audit::to_json(found, heads).dump() + "\n");
  });
  for (const Piece& piece : pieces) {
    const std::filesystem::path file = job.path_of(piece);
    try {
      result.lengths.push_back(
          audit::probed_length_in(parse_json(read_text(file), file.string()), result.settings.model.layers, heads));
    } catch (const Json::exception& error) {
      throw Error(ErrorCode::bad_file, fmt::format("{}: not the answers at a length: {}; delete it to ask again",
                                                   file.string(), error.what()));
    }
  }
  result.settings.model.file = job.named_place("model", result.settings.model.file);
  result = probe_result(job.keep(to_json(result)));
  listener.on_progress("");
  if (!request.saving.json.empty()) write_text(request.saving.json, results_text(to_json(result)));
  return result;
}

}  // namespace

RunStatus status_of(const ProbeRequest& request) { return shared_status(kProbeVerb, request.sharing, request.command); }

ProbeResult probe_model(const ProbeRequest& given, Listener& listener) {
  const ProbeRequest request = joined(given, kProbeVerb);
  check_fields(request);
  check_sharing({request.sharing, request.saving.resume, request.saving.overwrite}, request.saving.json);
  if (request.questions.probe.empty())
    throw RequestError(ErrorCode::bad_argument, fmt::format("no probe was named; {} must be max or lookup", named("probe")));
  files_of(request, request.saving.overwrite, kAuditSchema).check();
  tell_unshared(request.sharing, listener);
  const auto model = model::shared_model(request.model);
  ProbeResult result{.provenance = provenance_of(request.command, command_of("audit", request))};
  result.settings.questions = request.questions;
  result.settings.lengths = probed_lengths(request, model::context_of(*model, request.model));
  result.settings.model = model::settings_of(*model, request.model, listener);
  const bool in_pieces = !request.sharing.directory.empty();
  if (!in_pieces) result.lengths = saved_lengths(request.saving, result.settings);
  const std::int64_t room = audit::probe_room(result.settings.lengths.back());
  const auto session = model::open_session(*model, request.model, room, listener);
  if (in_pieces) return probe_in_pieces(*session, std::move(result), request, listener);
  tell_resumption(request.saving, result, listener);
  const auto save = [&] {
    if (!request.saving.json.empty()) write_text(request.saving.json, results_text(to_json(result)));
  };
  save();  // a file that cannot be written is known now, not after the work
  ask_all(*session, result, listener, save);
  return result;
}

Json to_json(const ProbeResult& result) {
  Json json = header_of(kAuditSchema, result.provenance);
  json["settings"] = json_of(result.settings);
  json["complete"] = result.complete();
  const ProbeQuestions& q = result.settings.questions;
  Json& probe = json["probe"] = {
      {"kind", q.probe}, {"chat", q.chat}, {"seed", q.question_seed}, {"heads", result.settings.model.heads}};
  probe["lengths"] = Json::array();
  for (const ProbedLength& length : result.lengths)
    probe["lengths"].push_back(audit::to_json(length, result.settings.model.heads));
  return json;
}

ProbeResult probe_result(const Json& json) {
  return read_results(json, kAuditSchema, [](const Json& results) {
    check_form(results, AuditForm::probe);
    ProbeResult result{.provenance = provenance_in(results)};
    read_json(results.at("settings"), result.settings);
    result.lengths = lengths_in(results, result.settings);
    return result;
  });
}

}  // namespace sharpmax
