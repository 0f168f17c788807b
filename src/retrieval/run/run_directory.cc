#include "retrieval/run/run_parts.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <vector>

#include "job/json_members.h"
#include "retrieval/task/settings.h"
#include "retrieval/training/head_file.h"
#include "sharpmax/error.h"
#include "storage/files.h"
#include "storage/sealed_tensors.h"

namespace sharpmax::retrieval {
namespace {

RunContent content_of(const RunSettings& settings) {
  return {.settings = json_of(settings),
          .folders = {"checkpoints", "heads", "tested"},
          .check = [](const Json& found, const std::string& file) { run_from(found, file); }};
}

}  // namespace

RunDirectory::RunDirectory(const RunSettings& settings, const RunOptions& options)
    : sharpmax::RunDirectory(options.directory, content_of(settings), options.existing) {}

std::filesystem::path RunDirectory::checkpoint(std::string_view arm, std::uint64_t seed) const {
  return root() / "checkpoints" / fmt::format("{}-{}.safetensors", arm, seed);
}
std::filesystem::path RunDirectory::head(std::string_view arm, std::uint64_t seed) const {
  return root() / "heads" / fmt::format("{}-{}.safetensors", arm, seed);
}
std::filesystem::path RunDirectory::tested(std::string_view arm, std::uint64_t seed, std::int64_t n) const {
  return root() / "tested" / fmt::format("{}-{}-{}.json", arm, seed, n);
}

namespace {

constexpr const char* kSchema = "sharpmax.retrieval.tested/1";

std::string fingerprint(const Head& head) {
  return fmt::format("{:016x}", Checksum()
                                    .add(json_of(head.training).dump())
                                    .add(std::as_bytes(std::span(head.parameters)))
                                    .add(std::as_bytes(std::span(head.normalizer_parameters)))
                                    .value());
}

std::string checksum_of(const Json& body) {
  return fmt::format("{:016x}", Checksum().add(body.dump()).value());
}

Json body_of(const Head& head, const Evaluation& evaluation) {
  return {{"arm", head.arm},
          {"seed", head.seed},
          {"head", fingerprint(head)},
          {"bound_violations", evaluation.bound_violations},
          {"measurements", sharpmax::json_of(evaluation.measurements)},
          {"heat_maps", sharpmax::json_of(evaluation.heat_maps)}};
}

Evaluation evaluation_from(const Json& body) {
  Evaluation evaluation;
  read_json(body.at("bound_violations"), evaluation.bound_violations);
  read_json(body.at("measurements"), evaluation.measurements);
  read_json(body.at("heat_maps"), evaluation.heat_maps);
  return evaluation;
}

bool answers(const Evaluation& evaluation, const EvaluationRequest& request) {
  if (evaluation.measurements.size() != request.normalizers.size()) return false;
  for (std::size_t i = 0; i < request.normalizers.size(); ++i) {
    const Measurement& m = evaluation.measurements[i];
    if (m.normalizer != request.normalizers[i].text() || m.n != request.n || m.sets != request.sets)
      return false;
  }
  return true;
}

}  // namespace

void save_tested(const std::filesystem::path& path, const Head& head, const Evaluation& evaluation) {
  const Json body = body_of(head, evaluation);
  const Json file = {{"schema", kSchema}, {"checksum", checksum_of(body)}, {"tested", body}};
  write_text(path, file.dump() + "\n");
}

Evaluation load_tested(const std::filesystem::path& path, const Head& head,
                       const EvaluationRequest& request) {
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorCode::bad_file,
                fmt::format("{}: {}; delete it to test this size again", path.string(), what));
  };
  Json file;
  try {
    file = parse_json(read_text(path), path.string());
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}; delete it to test this size again", error.what()));
  }
  try {
    if (file.at("schema") != kSchema) fail(fmt::format("the schema is not {}", kSchema));
    const Json& body = file.at("tested");
    if (file.at("checksum") != checksum_of(body)) fail("at byte 0: its checksum is wrong: it was damaged");
    if (body.at("head") != fingerprint(head)) fail("it is of another head");
    Evaluation evaluation = evaluation_from(body);
    if (!answers(evaluation, request)) fail("it is of other sizes, sets or normalizers");
    return evaluation;
  } catch (const Json::exception&) {
    fail("a value is missing or of another kind");
  }
  return {};
}

}  // namespace sharpmax::retrieval
