// Where the files of a run are.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "job/run_directory.h"
#include "retrieval/run/run.h"

namespace sharpmax::retrieval {

class RunDirectory : public sharpmax::RunDirectory {
 public:
  RunDirectory(const RunSettings& settings, const RunOptions& options);

  std::filesystem::path checkpoint(std::string_view arm, std::uint64_t seed) const;
  std::filesystem::path head(std::string_view arm, std::uint64_t seed) const;
  std::filesystem::path tested(std::string_view arm, std::uint64_t seed, std::int64_t n) const;
};

}  // namespace sharpmax::retrieval
