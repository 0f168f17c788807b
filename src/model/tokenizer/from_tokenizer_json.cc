// tokenizer.json of a folder, and what beside it says how texts begin and end.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/in_quotes.h"
#include "model/file/json_file.h"
#include "model/tokenizer/json_tokenizer.h"
#include "sharpmax/error.h"

namespace sharpmax::model {
namespace {

constexpr JsonLimits kLimits{.bytes = std::uint64_t{256} << 20, .depth = 64};  // Gemma's has 34 MB

nlohmann::json object_or_null(const std::filesystem::path& path) {
  return std::filesystem::exists(path) ? read_json_object(path) : nlohmann::json();
}

}  // namespace

std::unique_ptr<const Tokenizer> make_json_tokenizer(const nlohmann::json& file,
                                                     const JsonSurroundings& beside) {
  try {
    return std::make_unique<JsonTokenizer>(file, beside);
  } catch (const nlohmann::json::exception& error) {  // a value of another kind than the format has there
    throw Error(ErrorCode::bad_file,
                fmt::format("tokenizer.json: is not laid out as a tokenizer: {}", in_quotes(error.what())));
  }
}

std::unique_ptr<const Tokenizer> make_json_tokenizer(const std::filesystem::path& folder,
                                                     const nlohmann::json* config) {
  const std::filesystem::path path = folder / "tokenizer.json";
  if (!std::filesystem::exists(path))
    throw Error(ErrorCode::unsupported,
                fmt::format("{}: has no tokenizer.json, the only tokenizer of a folder that "
                            "is read",
                            folder.string()));
  const nlohmann::json tokenizer_config = object_or_null(folder / "tokenizer_config.json");
  const nlohmann::json generation_config = object_or_null(folder / "generation_config.json");
  return make_json_tokenizer(read_json_object(path, kLimits),
                             {&tokenizer_config, &generation_config, config});
}

}  // namespace sharpmax::model
