#include "model/file/model_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "sharpmax/error.h"

namespace sharpmax::model {
namespace {

namespace fs = std::filesystem;

enum class Kind { gguf, safetensors, index, pickle, unknown };

Kind kind_of(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("GGUF")) return Kind::gguf;
  if (text.starts_with("PK\x03\x04") || text.starts_with("\x80\x02")) return Kind::pickle;
  if (text.size() > 8 && text[8] == '{') return Kind::safetensors;
  const auto first = text.find_first_not_of(" \t\r\n");
  return first != text.npos && text[first] == '{' ? Kind::index : Kind::unknown;
}

// A part of a model has all of its metadata and some of its tensors.
void refuse_parts(const GgufFile& file) {
  const std::int64_t parts = file.integer("split.count").value_or(1);
  if (parts > 1)
    throw Error(ErrorCode::unsupported,
                fmt::format("{}: one of {} files that make up a model; wanted them merged into one",
                            file.name(), parts));
}

}  // namespace

ModelFile open_model_file(const fs::path& path, ForeignTypes foreign) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return SafetensorsFolder(path, foreign);
  switch (kind_of(MappedFile(path).bytes())) {
    case Kind::gguf: {
      GgufFile file(path, foreign);
      if (foreign == ForeignTypes::refuse) refuse_parts(file);
      return file;
    }
    case Kind::pickle:
      throw Error(
          ErrorCode::bad_file,
          fmt::format("{}: a pickle or an archive of PyTorch, which could run any program and is never read; "
                      "wanted GGUF or safetensors",
                      path.string()));
    case Kind::unknown:
      throw Error(ErrorCode::bad_file,
                  fmt::format("{}: at byte 0: this is the start of neither a GGUF nor a safetensors file",
                              path.string()));
    case Kind::index:
    case Kind::safetensors:
      break;
  }
  return SafetensorsFolder(path, foreign);
}

}  // namespace sharpmax::model
