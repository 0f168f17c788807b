#include "retrieval/run/run_parts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "job/json_members.h"
#include "retrieval/task/settings.h"
#include "retrieval/training/head_file.h"
#include "sharpmax/error.h"
#include "storage/files.h"

namespace sharpmax::retrieval {
namespace {

namespace fs = std::filesystem;

constexpr std::array kFolders = {"checkpoints", "heads", "tested"};
constexpr const char* kSettings = "run.json";

void make(const fs::path& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (!failed && !fs::is_directory(folder, failed)) failed = std::make_error_code(std::errc::not_a_directory);
  if (failed)
    throw Error(ErrorCode::io, fmt::format("{} could not be made: {}", folder.string(), failed.message()));
}

void erase(const fs::path& path) {
  std::error_code failed;
  fs::remove_all(path, failed);
  if (failed)
    throw Error(ErrorCode::io, fmt::format("{} could not be removed: {}", path.string(), failed.message()));
}

// Files of a folder of a run; those of other names are not ours to remove.
void erase_files(const fs::path& folder) {
  std::error_code problem;
  std::vector<fs::path> ours;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, problem)) {
    const fs::path ending = entry.path().extension();
    if (ending == ".safetensors" || ending == ".json" || ending == ".partial") ours.push_back(entry.path());
  }
  for (const fs::path& file : ours) erase(file);
}

// A directory without run.json is no run: files that have the names of one are somebody else's.
void refuse_foreign_files(const fs::path& root) {
  for (const char* name : kFolders) {
    std::error_code problem;
    for (const fs::directory_entry& entry : fs::directory_iterator(root / name, problem))
      if (entry.path().extension() != ".partial")
        throw RequestError(ErrorCode::bad_argument,
                           fmt::format("{} exists, but {} holds no run ({} is missing); choose another {}, or give {} to begin "
                                       "one here",
                                       entry.path().string(), root.string(), kSettings, named("directory"),
                                       flagged("overwrite")));
  }
}

// What a killed process was writing.
void remove_partial_files(const fs::path& folder) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().extension() == ".partial") fs::remove(entry.path(), ignored);
}

}  // namespace

RunDirectory::RunDirectory(const RunSettings& settings, const RunOptions& options)
    : root_(options.directory) {
  make(root_);
  lock();
  try {
    settle(settings, options.existing);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

RunDirectory::~RunDirectory() { ::close(descriptor_); }

void RunDirectory::lock() {
  descriptor_ = ::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ < 0)
    throw Error(ErrorCode::io,
                fmt::format("{} could not be opened: {}", root_.string(), std::strerror(errno)));
  // File systems without locks do without.
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(descriptor_);
    throw RequestError(ErrorCode::bad_argument,
                       fmt::format("another process is at work in {}; wait for it, or choose another {}", root_.string(),
                                   named("directory")));
  }
}

void RunDirectory::settle(const RunSettings& settings, Existing existing) const {
  const fs::path settings_file = root_ / kSettings;
  const auto here = json_of(settings);
  bool begun = fs::exists(settings_file);
  if (begun && existing == Existing::refuse)
    throw RequestError(ErrorCode::bad_argument,
                       fmt::format("{} holds a run already; give {} to go on with it, {} to begin again, or another {}",
                                   root_.string(), flagged("resume"), flagged("overwrite"), named("directory")));
  if (begun && existing == Existing::resume) {
    const auto there = parse_json(read_text(settings_file), settings_file.string());
    run_from(there, settings_file.string());
    if (const std::string difference = first_difference(there, here); !difference.empty())
      throw RequestError(ErrorCode::bad_argument,
                         fmt::format("{}: {} was begun with other settings: {}; give the same, or {}", flagged("resume"),
                                     root_.string(), difference, flagged("overwrite")));
  }
  if (existing == Existing::overwrite) {
    for (const char* folder : kFolders) erase_files(root_ / folder);
    erase(root_ / "results.json");
    erase(settings_file);  // last: killed before this, the directory still says what was in it
    begun = false;
  }
  if (!begun && existing != Existing::overwrite) refuse_foreign_files(root_);
  remove_partial_files(root_);
  for (const char* folder : kFolders) {
    make(root_ / folder);
    remove_partial_files(root_ / folder);
  }
  if (!begun) write_text(settings_file, here.dump(2) + "\n");
}

fs::path RunDirectory::checkpoint(std::string_view arm, std::uint64_t seed) const {
  return root_ / "checkpoints" / fmt::format("{}-{}.safetensors", arm, seed);
}
fs::path RunDirectory::head(std::string_view arm, std::uint64_t seed) const {
  return root_ / "heads" / fmt::format("{}-{}.safetensors", arm, seed);
}
fs::path RunDirectory::tested(std::string_view arm, std::uint64_t seed, std::int64_t n) const {
  return root_ / "tested" / fmt::format("{}-{}-{}.json", arm, seed, n);
}

namespace {

using Json = nlohmann::ordered_json;

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
