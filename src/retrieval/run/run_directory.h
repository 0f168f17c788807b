// Where the files of a run are, and whose the directory is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "retrieval/run/run.h"

namespace sharpmax::retrieval {

class RunDirectory {
 public:
  // Makes the directory fit for these settings, or throws: see run(). Locks it as long as this lives.
  RunDirectory(const RunSettings& settings, const RunOptions& options);
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  std::filesystem::path checkpoint(std::string_view arm, std::uint64_t seed) const;
  std::filesystem::path head(std::string_view arm, std::uint64_t seed) const;
  std::filesystem::path tested(std::string_view arm, std::uint64_t seed, std::int64_t n) const;
  const std::filesystem::path& root() const noexcept { return root_; }

 private:
  void lock();
  void settle(const RunSettings& settings, Existing existing) const;

  std::filesystem::path root_;
  int descriptor_ = -1;
};

}  // namespace sharpmax::retrieval
