#include "retrieval/run/run_directory.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "retrieval/task/settings_json.h"

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

}  // namespace sharpmax::retrieval
