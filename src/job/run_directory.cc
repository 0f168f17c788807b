#include "job/run_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "job/saved_results.h"
#include "storage/files.h"

namespace sharpmax {
namespace {

namespace fs = std::filesystem;

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

RunDirectory::RunDirectory(const fs::path& root, const RunContent& content, Existing existing) : root_(root) {
  make(root_);
  lock();
  try {
    settle(content, existing);
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

void RunDirectory::settle(const RunContent& content, Existing existing) const {
  const fs::path settings_file = root_ / kSettings;
  bool begun = fs::exists(settings_file);
  if (begun && existing == Existing::refuse)
    throw RequestError(ErrorCode::bad_argument,
                       fmt::format("{} holds a run already; give {} to go on with it, {} to begin again, or another {}",
                                   root_.string(), flagged("resume"), flagged("overwrite"), named("directory")));
  if (begun && existing == Existing::resume) {
    const auto there = parse_json(read_text(settings_file), settings_file.string());
    if (content.check) content.check(there, settings_file.string());
    if (const std::string difference = first_difference(there, content.settings); !difference.empty())
      throw RequestError(ErrorCode::bad_argument,
                         fmt::format("{}: {} was begun with other settings: {}; give the same, or {}", flagged("resume"),
                                     root_.string(), difference, flagged("overwrite")));
  }
  if (existing == Existing::overwrite) {
    for (const std::string& folder : content.folders) erase_files(root_ / folder);
    erase(root_ / "results.json");
    erase(settings_file);  // last: killed before this, the directory still says what was in it
    begun = false;
  }
  if (!begun && existing != Existing::overwrite) refuse_foreign_files(root_, content.folders);
  remove_partial_files(root_);
  for (const std::string& folder : content.folders) {
    make(root_ / folder);
    remove_partial_files(root_ / folder);
  }
  if (!begun) write_text(settings_file, content.settings.dump(2) + "\n");
}

}  // namespace sharpmax
