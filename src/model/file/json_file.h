// JSON that lies beside a model: read with suspicion.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace sharpmax::model {

struct JsonLimits {
  std::uint64_t bytes = std::uint64_t{16} << 20;
  int depth = 64;
};

// The object in `text`; `name` opens every message. Error{bad_file} with the byte for what is not JSON, not
// an object, larger or deeper than the limits, or has a key twice in one object.
nlohmann::json parse_json_object(std::string_view text, std::string_view name, const JsonLimits& limits = {});
nlohmann::json read_json_object(const std::filesystem::path& path, const JsonLimits& limits = {});

}  // namespace sharpmax::model
