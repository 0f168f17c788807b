#include "sweep/run_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "job/saved_results.h"
#include "sharpmax/machine.h"
#include "storage/files.h"
#include "sweep/deal.h"

namespace sharpmax {
namespace {

namespace fs = std::filesystem;

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
    if (ending == ".safetensors" || ending == ".npz" || ending == ".json" || ending == ".partial") ours.push_back(entry.path());
  }
  for (const fs::path& file : ours) erase(file);
}

// A directory without run.json is not a run: files that have the names of one are somebody else's.
void refuse_foreign_files(const fs::path& root, std::span<const std::string> folders) {
  for (const std::string& name : folders) {
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

Json engine_of(const std::string& blas) {
  return {{"sharpmax", version()}, {"target", current_target()}, {"blas", blas}};
}

RunDirectory::RunDirectory(const fs::path& root, const RunContent& content, Existing existing)
    : root_(root), claims_(root / kClaims) {
  make(root_);
  open();
  try {
    if (existing == Existing::join) {
      lock_with_others();
      settle_with_others(content);
    } else {
      lock_alone();
      settle(content, existing);
      lock_with_others();
    }
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

RunDirectory::~RunDirectory() { ::close(descriptor_); }

void RunDirectory::open() {
  descriptor_ = ::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ < 0)
    throw Error(ErrorCode::io,
                fmt::format("{} could not be opened: {}", root_.string(), std::strerror(errno)));
}

// File systems without locks do without. Those that lock directories only for one machine have the claims.
void RunDirectory::lock_alone() {
  const bool held = ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (held || claims_.any_held())
    throw RequestError(ErrorCode::bad_argument,
                       fmt::format("another process is at work in {}; give {} to help it, wait for it, or choose another {}",
                                   root_.string(), flagged("join"), named("directory")));
}

// A process that begins a run has the directory alone for a moment; one that keeps it is of a version without `join`.
void RunDirectory::lock_with_others() {
  constexpr int kAttempts = 100;
  for (int attempt = 0; ::flock(descriptor_, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK; ++attempt) {
    if (attempt == kAttempts)
      throw RequestError(ErrorCode::bad_argument,
                         fmt::format("another process has {} to itself; wait for it, or choose another {}", root_.string(),
                                     named("directory")));
    wait_for_others();
  }
}

namespace {

void check_settings(const RunContent& content, const fs::path& root, const std::string& flag) {
  const fs::path file = root / kSettings;
  Json there = parse_json(read_text(file), file.string()), here = content.settings;
  if (content.check) content.check(there, file.string());
  for (Json* const settings : {&there, &here})
    for (const std::string& member : content.not_compared)
      if (settings->is_object()) settings->erase(member);
  if (const std::string difference = first_difference(there, here); !difference.empty())
    throw RequestError(ErrorCode::bad_argument,
                       fmt::format("{}: {} was begun with other settings: {}; give the same, or {}", flag, root.string(),
                                   difference, flagged("overwrite")));
}

void check_engine(const RunContent& content, const fs::path& root) {
  const fs::path file = root / kEngine;
  const Json there = parse_json(read_text(file), file.string());
  if (const std::string difference = first_difference(there, content.engine); !difference.empty())
    throw RequestError(ErrorCode::bad_argument,
                       fmt::format("{}: processes in {} compute differently: {}; the last bits would differ. Give all the "
                                   "same version, SHARPMAX_TARGET and OPENBLAS_CORETYPE",
                                   flagged("join"), root.string(), difference));
}

// A process alone may go on with another engine, as it always could.
void keep_engine(const fs::path& root, const Json& engine) {
  const fs::path file = root / kEngine;
  const std::string text = engine.dump(2) + "\n";
  if (!engine.is_null() && (!fs::exists(file) || read_text(file) != text)) write_text(file, text);
}

}  // namespace

void RunDirectory::settle(const RunContent& content, Existing existing) const {
  const fs::path settings_file = root_ / kSettings;
  bool begun = fs::exists(settings_file);
  if (begun && existing == Existing::refuse)
    throw RequestError(ErrorCode::bad_argument,
                       fmt::format("{} holds a run already; give {} to go on with it, {} to begin again, or another {}",
                                   root_.string(), flagged("resume"), flagged("overwrite"), named("directory")));
  if (begun && existing == Existing::resume) check_settings(content, root_, flagged("resume"));
  if (existing == Existing::overwrite) {
    for (const std::string& folder : content.folders) erase_files(root_ / folder);
    erase(root_ / kResults);
    erase(settings_file);  // last: killed before this, the directory still says what was in it
    begun = false;
  }
  if (!begun && existing != Existing::overwrite) refuse_foreign_files(root_, content.folders);
  remove_partial_files(root_);
  for (const std::string& folder : content.folders) {
    make(root_ / folder);
    remove_partial_files(root_ / folder);
  }
  claims_.clear();
  keep_engine(root_, content.engine);
  if (!begun) write_text(settings_file, content.settings.dump(2) + "\n");
}

void RunDirectory::settle_with_others(const RunContent& content) const {
  const fs::path settings_file = root_ / kSettings;
  try {
    if (!fs::exists(settings_file)) refuse_foreign_files(root_, content.folders);
  } catch (const RequestError&) {
    if (!fs::exists(settings_file)) throw;  // else another process began the run meanwhile
  }
  for (const std::string& folder : content.folders) make(root_ / folder);
  const auto put = [&](const char* name, const Json& json) {
    return fs::exists(root_ / name) || !write_first_text(root_ / name, json.dump(2) + "\n");
  };
  if (!content.engine.is_null() && put(kEngine, content.engine)) check_engine(content, root_);
  if (put(kSettings, content.settings)) check_settings(content, root_, flagged("join"));
}

namespace {

Json without(Json results, std::span<const std::string_view> members) {
  for (const std::string_view member : members) results.erase(std::string(member));
  return results;
}

// Waits for it. Whoever has it is the only one to write the results.
Claim results_claim(const Claims& claims, const fs::path& root, const std::function<void()>& pause) {
  std::optional<Claim> claim;
  while (!(claim = claims.take("results"))) {
    pause();
    wait_for_others();
  }
  if (claim->locked())
    for (const char* name : {kSettings, kEngine, kResults}) remove_partial_files_of(root / name);
  return std::move(*claim);
}

}  // namespace

void keep_results(const fs::path& root, std::string_view text, const std::function<void()>& pause) {
  const Claims claims(root / kClaims);
  {
    const Claim claim = results_claim(claims, root, pause);
    write_text(root / kResults, text);
  }
  claims.clear();
}

Json agree_on_results(const fs::path& root, std::string_view text, std::span<const std::string_view> of_one_process,
                      const std::function<void()>& pause) {
  const Claims claims(root / kClaims);
  const fs::path file = root / kResults;
  Json agreed;
  {
    const Claim claim = results_claim(claims, root, pause);
    if (fs::exists(file)) agreed = parse_json(read_text(file), file.string());
    const Json own = Json::parse(text);
    if (agreed.is_null() || without(agreed, of_one_process) != without(own, of_one_process)) {
      write_text(file, text);
      agreed = own;
    }
  }
  claims.clear();
  return agreed;
}

}  // namespace sharpmax
