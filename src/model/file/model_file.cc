#include "model/file/model_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sharpmax/error.h"
#include "storage/digest.h"
#include "storage/mapped_file.h"

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
                fmt::format("{}: one of {} files that make up a model; expected them merged into one",
                            file.name(), parts));
}

// "Org/Name" on a hub, which looks like a path.
bool is_name_on_a_hub(const fs::path& path) {
  const std::string text = path.string();
  const bool one_slash = std::count(text.begin(), text.end(), '/') == 1 && text.front() != '/' && text.back() != '/';
  const fs::path ending = path.extension();
  return one_slash && text.front() != '.' && text.front() != '~' && ending != ".gguf" && ending != ".safetensors" &&
         ending != ".json";
}

}  // namespace

ModelFile open_model_file(const fs::path& path, ForeignTypes foreign) {
  std::error_code ignored;
  if (!fs::exists(path, ignored) && is_name_on_a_hub(path))
    throw Error(ErrorCode::io, fmt::format("{0}: there is no such file or folder; if it is the name of a model on Hugging Face, "
                                           "download it first (hf download {0} --local-dir FOLDER) and give the folder",
                                           path.string()));
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
                      "expected GGUF or safetensors",
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

namespace {

namespace fs = std::filesystem;
using Bytes = std::span<const std::byte>;

std::string checksum_of(const GgufFile& file, const ChecksumListener& on_bytes) {
  return sha256_of(file.bytes(), [&](std::size_t done) {
    if (on_bytes) on_bytes(done, file.size());
  });
}

std::string checksum_of(const SafetensorsFolder& folder, const ChecksumListener& on_bytes) {
  std::map<std::string, Bytes> parts;
  std::map<std::string, MappedFile> beside;
  for (const char* name : {"config.json", "tokenizer.json"}) {
    std::error_code ignored;
    if (!fs::exists(folder.folder() / name, ignored)) continue;
    parts[name] = beside.emplace(name, MappedFile(folder.folder() / name)).first->second.bytes();
  }
  for (const SafetensorsFile& shard : folder.shards())
    parts[fs::path(shard.name()).filename().string()] = shard.bytes();
  std::uint64_t whole = 0, before = 0;
  for (const auto& [name, bytes] : parts) whole += bytes.size();
  std::string lines;
  for (const auto& [name, bytes] : parts) {
    lines += sha256_of(bytes, [&](std::size_t done) {
      if (on_bytes) on_bytes(before + done, whole);
    });
    lines += "  " + name + "\n";
    before += bytes.size();
  }
  return sha256_of(std::as_bytes(std::span(lines)));
}

}  // namespace

std::string checksum_of(const ModelFile& file, const ChecksumListener& on_bytes) {
  return std::visit([&](const auto& f) { return checksum_of(f, on_bytes); }, file);
}

}  // namespace sharpmax::model
