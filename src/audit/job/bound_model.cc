// The job bound_model(): certificates of all heads, found here or in pieces that processes share.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <numbers>

#include "audit/certificate/certificate.h"
#include "audit/job/requests.h"
#include "base/numbers.h"
#include "base/threads.h"
#include "job/call_files.h"
#include "job/field_values.h"
#include "job/json_members.h"
#include "job/saved_results.h"
#include "machine/blas.h"
#include "model/job/model_request.h"
#include "sharpmax/bound.h"
#include "storage/files.h"
#include "sweep/shared_job.h"
#include "theory/dispersion.h"

namespace sharpmax {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLongestText = 1e6;  // tokens: as long as the contexts on offer

AttainedToken attained_token(const model::Model& model, model::Token token) { return {token, model::token_text(model, token), {}}; }

AttainedToken attained_key(const model::Model& model, model::Token token, std::int64_t offset) {
  return {token, model::token_text(model, token), offset};
}

HeadBound bound_of(const model::Model& model, const audit::HeadCertificate& head, const ModelBoundResult& result) {
  const double spread = head.spread();
  const double log_length = std::isfinite(spread) ? theory::log_sharp_length(spread, result.peak, result.beta) : spread;
  const double most = head.window > 0 ? static_cast<double>(head.window) : result.horizon;
  HeadBound bound{.layer = head.layer,
                  .head = head.head,
                  .norm_spread = head.norm_spread,
                  .norm_reached = head.norm_reached,
                  .vocabulary_spread = head.vocabulary_spread,
                  .spread = spread,
                  .log10_length = log_length / std::numbers::ln10,
                  .useful = log_length < std::log(most)};
  if (head.window > 0) bound.window = head.window;
  if (const auto& row = head.attained)
    bound.attained = AttainedRow{.length = row->length,
                                 .spread = row->spread,
                                 .peak = row->peak,
                                 .query = attained_token(model, row->query),
                                 .high = attained_key(model, row->high, row->high_offset),
                                 .low = attained_key(model, row->low, row->low_offset)};
  return bound;
}

// The first sentence of the verdict: the bound, and for how many heads it holds.
std::string proved_sentence(const ModelBoundResult& result) {
  std::vector<double> others;  // spreads of heads whose bound is not useful
  bool astronomic = false;
  for (const HeadBound& head : result.heads)
    if (!head.useful) {
      others.push_back(head.spread);
      astronomic = astronomic || head.log10_length > std::log10(result.horizon);
    }
  std::sort(others.begin(), others.end());
  const std::size_t heads = result.heads.size(), useful = heads - others.size();
  const std::string claim = fmt::format(
      "the weights alone prove a length within {} tokens from which no input can give any key more than {:g} of "
      "the weight",
      grouped(std::llround(result.horizon)), result.peak);
  if (others.empty()) return fmt::format("For every one of the {} heads {}.", heads, claim);
  const std::string nothing = fmt::format(
      "the bound says nothing useful: it allows spreads of {} to {}, and so lengths that {}", one_decimal(others.front()),
      one_decimal(others.back()), astronomic ? "are astronomic" : "no window has");
  if (useful == 0) return fmt::format("For all {} heads {}.", heads, nothing);
  return fmt::format("For {} of {} heads {}; for the other {} {}.", useful, heads, claim, others.size(), nothing);
}

// The second: how much of that is slack.
std::string attained_sentence(const ModelBoundResult& result, const model::Configuration& c) {
  std::int64_t heads = 0, sharp = 0, length = 0;
  for (const HeadBound& head : result.heads)
    if (head.attained) {
      ++heads;
      sharp += head.attained->peak > result.peak;
      length = std::max(length, head.attained->length);
    }
  if (heads == 0 && c.query_key_norm != model::QueryKeyNorm::none)
    return fmt::format("Queries and keys are normalized{}, and the weights of these norms bound every head.",
                       c.query_key_norm == model::QueryKeyNorm::width ? ", all heads together" : "");
  if (heads == 0 && c.rope.features > 0)
    return "Positions do not enter layer 0, so its heads, too, are bounded by norms alone.";
  if (heads == 0)
    return "Positions are learned and enter layer 0 with the tokens, so its heads, too, are bounded by norms "
           "alone.";
  return fmt::format(
      "In layer 0, where tokens can be tried, sequences of them were found that still give one key more than "
      "{:g} of the weight at {} tokens in {} of {} heads{}",
      result.peak, grouped(length), sharp, heads,
      sharp > 0 ? ": of those no bound, however tight, could promise otherwise." : ".");
}

// Members after "model".
template <class Result, class Visit>
void each_member_after_model(Result& result, const Visit& visit) {
  visit.fields(result);
  visit("horizon", result.horizon);
  visit("seconds", result.seconds);
  visit("verdict", result.verdict);
  visit("heads", result.heads);
}

}  // namespace

namespace {

struct HeadsOfPiece {
  std::int64_t layer = 0, first = 0, end = 0;  // heads
};

// A layer each; in layer 0 a head each if every pair of tokens is tried, which takes most of the time.
std::vector<HeadsOfPiece> heads_of_pieces(const model::Model& model) {
  const model::Configuration& c = model.configuration();
  std::vector<HeadsOfPiece> heads;
  for (std::int64_t layer = 0; layer < c.layers; ++layer) {
    const std::int64_t step = layer == 0 && audit::bounded_by_vocabulary(model) ? 1 : c.heads;
    for (std::int64_t first = 0; first < c.heads; first += step) heads.push_back({layer, first, first + step});
  }
  return heads;
}

std::vector<Piece> pieces_of_heads(const model::Model& model, const std::vector<HeadsOfPiece>& heads) {
  std::vector<Piece> pieces;
  for (const auto& [layer, first, end] : heads) {
    const std::string name = end - first == 1 ? fmt::format("layer-{}-head-{}", layer, first) : fmt::format("layer-{}", layer);
    pieces.push_back({.name = name,
                      .cost = static_cast<double>(end - first) * audit::certificate_work(model, layer),
                      .file = piece_file(name + ".json")});
  }
  return pieces;
}

std::vector<audit::HeadCertificate> certificates_in(const std::filesystem::path& file, const HeadsOfPiece& of) {
  std::vector<audit::HeadCertificate> heads;
  const Json json = parse_json(read_text(file), file.string());
  const auto refuse = [&](const char* why) {
    throw Error(ErrorCode::bad_file,
                fmt::format("{}: not the bounds of heads: {}; delete it to find them again", file.string(), why));
  };
  try {
    for (const Json& head : json) heads.push_back(audit::certificate_in(head));
  } catch (const Json::exception& error) {
    refuse(error.what());
  } catch (const Error& error) {
    refuse(error.what());
  }
  if (static_cast<std::int64_t>(heads.size()) != of.end - of.first) refuse("there are not as many as the piece has");
  for (std::int64_t i = 0; i < of.end - of.first; ++i)
    if (const auto& head = heads[static_cast<std::size_t>(i)]; head.layer != of.layer || head.head != of.first + i)
      refuse("they are of other heads");
  return heads;
}

// Certifies the heads of the pieces that nobody else does. Each thread takes pieces of its own.
std::vector<audit::HeadCertificate> certify_in_pieces(const model::Model& model, const ModelBoundRequest& request,
                                                      SharedJob& job, Listener& listener) {
  const std::vector<HeadsOfPiece> heads = heads_of_pieces(model);
  const std::vector<Piece> pieces = pieces_of_heads(model, heads);
  const int threads = threads_for(request.model.threads.value_or(0));
  {
    const SerialBlas serial;
    std::mutex one_at_a_time;
    job.carry_out(
        pieces,
        [&](std::size_t piece) {
          {
            const std::lock_guard lock(one_at_a_time);
            listener.proceed(fmt::format("bounding {}: {}", pieces[piece].name, job.standing()));
          }
          Json found = Json::array();
          for (std::int64_t head = heads[piece].first; head < heads[piece].end; ++head)
            found.push_back(audit::to_json(audit::certify_head(model, heads[piece].layer, head, {.beta = request.beta})));
          write_text(job.path_of(pieces[piece]), found.dump() + "\n");
        },
        threads);
  }
  std::vector<audit::HeadCertificate> all;
  for (std::size_t piece = 0; piece < pieces.size(); ++piece)
    for (audit::HeadCertificate& head : certificates_in(job.path_of(pieces[piece]), heads[piece])) all.push_back(std::move(head));
  return all;
}

SharedJob shared_bound(const model::Model& model, const ModelBoundRequest& request, const ModelBoundResult& result,
                       Listener& listener) {
  Json measured;
  ModelSettings::each_fact(result.model, internal::Writer{measured["model"]});
  return SharedJob({.verb = "bound",
                    .fields = shared_fields(request),
                    .measured = model::without_paths(std::move(measured)),
                    .pieces = {{"groups of heads", pieces_of_heads(model, heads_of_pieces(model))}},
                    .blas = blas_description()},
                   {request.sharing, request.resume, request.file.overwrite}, listener);
}

std::vector<audit::HeadCertificate> certify_alone(const model::Model& model, const ModelBoundRequest& request,
                                                  Listener& listener) {
  listener.on_resumption({false, fmt::format("nothing was saved; with {} finished heads are saved, and {} goes on",
                                             given("directory", "DIR"), flagged("resume")),
                          {}});
  const auto start = Clock::now();
  audit::CertificateSettings settings{.beta = request.beta, .threads = request.model.threads.value_or(0)};
  settings.progress = [&](double share) {
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    listener.proceed(fmt::format("{:.0f} % of the bounds, {} left", 100.0 * share,
                                 duration(seconds * (1.0 - share) / std::max(share, 1e-9))));
  };
  return audit::certify_heads(model, settings);
}

}  // namespace

ModelBoundResult bound_model(const ModelBoundRequest& given, Listener& listener) {
  const ModelBoundRequest request = joined(given, "bound");
  check_fields(request);
  require_field("peak", request.peak, theory::kShare);
  require_field("beta", request.beta, theory::kPositive);
  check_sharing({request.sharing, request.resume, request.file.overwrite}, "");
  files_of(request, request.file.overwrite, kModelBoundSchema).check();
  tell_unshared(request.sharing, listener);
  const auto model = model::shared_model(request.model);
  audit::check_certifiable(*model);
  ModelBoundResult result{.provenance = provenance_of(request.command, command_of("bound", request)),
                          .model = model::settings_of(*model, request.model, listener),
                          .peak = request.peak,
                          .beta = request.beta,
                          .horizon = std::max(kLongestText, static_cast<double>(model->configuration().context))};
  const auto start = Clock::now();
  const auto finish = [&](const std::vector<audit::HeadCertificate>& heads) {
    for (const audit::HeadCertificate& head : heads) result.heads.push_back(bound_of(*model, head, result));
    result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    listener.on_progress("");
    result.verdict = proved_sentence(result) + " " + attained_sentence(result, model->configuration());
  };
  if (request.sharing.directory.empty()) {
    finish(certify_alone(*model, request, listener));
  } else {
    SharedJob job = shared_bound(*model, request, result, listener);
    finish(certify_in_pieces(*model, request, job, listener));
    result.model.file = job.named_place("model", result.model.file);
    result = model_bound_result(job.keep(to_json(result)));
  }
  if (!request.file.json.empty()) write_text(request.file.json, results_text(to_json(result)));
  return result;
}

RunStatus status_of(const ModelBoundRequest& request) { return shared_status("bound", request.sharing, request.command); }

Json to_json(const ModelBoundResult& result) {
  Json json = header_of(kModelBoundSchema, result.provenance);
  ModelSettings::each_fact(result.model, internal::Writer{json["model"]});
  each_member_after_model(result, internal::Writer{json});
  return json;
}

ModelBoundResult model_bound_result(const Json& json) {
  return read_results(json, kModelBoundSchema, [](const Json& results) {
    ModelBoundResult result{.provenance = provenance_in(results)};
    ModelSettings::each_fact(result.model, internal::Reader{results.at("model")});
    each_member_after_model(result, internal::Reader{results});
    return result;
  });
}

}  // namespace sharpmax
