// The directory of a run: whose it is, and whether its settings are those of this call.
//
//   run.json    the settings; written first
//   FOLDER/     pieces of the run, each written whole; *.partial is what a killed process was writing
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "sharpmax/job.h"

namespace sharpmax {

// What to do where a run is already.
enum class Existing { refuse, resume, overwrite };

struct RunContent {
  Json settings;
  std::vector<std::string> folders;
  // Throws Error{bad_file} for settings in a file that are none. Null: any JSON.
  std::function<void(const Json& found, const std::string& file)> check = {};
};

class RunDirectory {
 public:
  // Makes the directory fit for this run, or throws: {bad_argument} where a run is already and `existing` does not say what
  // to do, or where its settings differ; {bad_file}, {io}. Locks it as long as this lives.
  RunDirectory(const std::filesystem::path& root, const RunContent& content, Existing existing);
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  const std::filesystem::path& root() const noexcept { return root_; }

 private:
  void lock();
  void settle(const RunContent& content, Existing existing) const;

  std::filesystem::path root_;
  int descriptor_ = -1;
};

}  // namespace sharpmax
