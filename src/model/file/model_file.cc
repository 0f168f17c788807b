#include "model/file/model_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include <algorithm>
#include <map>

#include "base/in_quotes.h"
#include "sharpmax/error.h"
#include "storage/files.h"

namespace sharpmax::model {
namespace {

namespace fs = std::filesystem;

// An index has a line for every tensor: the format's own limit for as much is 100 MB.
constexpr JsonLimits kIndexLimits = {.bytes = kSafetensorHeaderLimit, .depth = 8};
constexpr std::string_view kIndexEnding = ".safetensors.index.json";
constexpr std::string_view kTensorEnding = ".safetensors";

[[noreturn]] void fail(const std::string& name, const std::string& what) {
  throw Error(ErrorCode::bad_file, fmt::format("{}: {}", name, what));
}

bool is_index(const fs::path& path) { return path.extension() == ".json"; }

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// The one file in `folder` whose name ends so; empty if there is none.
fs::path only_file(const fs::path& folder, std::string_view ending) {
  fs::path found;
  std::error_code failure;
  for (auto at = fs::directory_iterator(folder, failure); !failure && at != fs::directory_iterator();
       at.increment(failure)) {
    if (!at->path().filename().string().ends_with(ending)) continue;
    if (!found.empty())
      fail(folder.string(), fmt::format("holds several files that end in {}; name one of them", ending));
    found = at->path();
  }
  if (failure)
    throw Error(ErrorCode::io, fmt::format("{} could not be listed: {}", folder.string(), failure.message()));
  return found;
}

// In the order in which transformers looks.
fs::path choose_in(const fs::path& folder) {
  for (const char* name : {"model.safetensors", "model.safetensors.index.json"})
    if (is_there(folder / name)) return folder / name;
  for (const std::string_view ending : {kIndexEnding, kTensorEnding})
    if (fs::path found = only_file(folder, ending); !found.empty()) return found;
  fail(folder.string(), "holds no .safetensors file and no index of such files");
}

// A name from a file becomes part of a path: it must be the plain name of a file in the same folder.
void check_shard_name(const std::string& index, const std::string& name) {
  const bool plain = name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
  if (!plain || !name.ends_with(kTensorEnding))
    fail(index,
         fmt::format("weight_map names the file {}; expected the plain name of a .safetensors file beside it",
                     in_quotes(name)));
}

// tensor -> file
std::map<std::string, std::string> read_weight_map(const fs::path& path) {
  const std::string index = path.string();
  const nlohmann::json found = read_json_object(path, kIndexLimits);
  const auto map = found.find("weight_map");
  if (map == found.end() || !map->is_object()) fail(index, "has no object weight_map; expected tensor: file");
  std::map<std::string, std::string> files;
  for (const auto& [tensor, file] : map->items()) {
    if (!file.is_string())
      fail(index, fmt::format("weight_map has {} for {}; expected the name of a file", file.type_name(),
                              in_quotes(tensor)));
    check_shard_name(index, file.get<std::string>());
    files.emplace(tensor, file.get<std::string>());
  }
  if (files.empty()) fail(index, "weight_map is empty; expected at least one tensor");
  return files;
}

std::optional<TensorType> type_of(SafetensorType type) {
  switch (type) {
    case SafetensorType::f32:
      return TensorType::f32;
    case SafetensorType::f16:
      return TensorType::f16;
    case SafetensorType::bf16:
      return TensorType::bf16;
    default:
      return std::nullopt;
  }
}

}  // namespace

SafetensorsFolder::SafetensorsFolder(const fs::path& path, ForeignTypes foreign) : name_(path.string()) {
  std::error_code ignored;
  const bool folder = fs::is_directory(path, ignored);
  const fs::path chosen = folder ? choose_in(path) : path;
  folder_ = chosen.has_parent_path() ? chosen.parent_path() : fs::path(".");
  if (is_index(chosen))
    open_shards(chosen);
  else
    shards_.emplace_back(chosen);
  if (const fs::path beside = folder_ / "config.json"; is_there(beside))
    configuration_ = std::make_unique<nlohmann::json>(read_json_object(beside));
  collect_tensors(foreign);
}

SafetensorsFolder::~SafetensorsFolder() = default;
SafetensorsFolder::SafetensorsFolder(SafetensorsFolder&&) noexcept = default;
SafetensorsFolder& SafetensorsFolder::operator=(SafetensorsFolder&&) noexcept = default;

// The index and its files must say the same: no tensor missing, none that the index does not name.
void SafetensorsFolder::open_shards(const fs::path& index) {
  const auto weight_map = read_weight_map(index);
  std::map<std::string, std::size_t> opened;
  for (const auto& [tensor, file] : weight_map) {
    const auto [place, fresh] = opened.try_emplace(file, shards_.size());
    if (fresh) shards_.emplace_back(folder_ / file);
    if (!shards_[place->second].find(tensor))
      fail(index.string(), fmt::format("weight_map has tensor {} in {}, which has no such tensor",
                                       in_quotes(tensor), in_quotes(file)));
  }
  for (const auto& [file, place] : opened) {
    for (const SafetensorEntry& entry : shards_[place].tensors()) {
      const auto named = weight_map.find(entry.name);
      if (named == weight_map.end() || named->second != file)
        fail(shards_[place].name(),
             fmt::format("at byte {}: tensor {} is here, but weight_map has it {}", entry.name_offset,
                         in_quotes(entry.name), named == weight_map.end() ? "nowhere" : "in another file"));
    }
  }
}

void SafetensorsFolder::collect_tensors(ForeignTypes foreign) {
  for (const SafetensorsFile& shard : shards_) {
    for (const SafetensorEntry& entry : shard.tensors()) {
      if (auto joined = tensor_with_scales(shard, entry, shards_, configuration_.get())) {
        tensors_.push_back(std::move(*joined));
        continue;
      }
      if (is_part_of_another(entry, shards_)) continue;
      const auto type = type_of(entry.type);
      if (type && entry.elements > 0) {
        tensors_.push_back({entry.name, *type, entry.shape, shard.bytes(entry), entry.begin});
        continue;
      }
      if (entry.type == SafetensorType::f64 && foreign == ForeignTypes::refuse)
        throw Error(ErrorCode::unsupported,
                    fmt::format("{}: at byte {}: tensor {} is of type F64; expected F32, F16 or BF16",
                                shard.name(), entry.name_offset, in_quotes(entry.name)));
      foreign_tensors_.push_back(
          {entry.name, sharpmax::name_of(entry.type), entry.shape, entry.end - entry.begin, entry.begin});
    }
  }
  const auto by_name = [](const auto& a, const auto& b) { return a.name < b.name; };
  std::sort(tensors_.begin(), tensors_.end(), by_name);
  std::sort(foreign_tensors_.begin(), foreign_tensors_.end(), by_name);
}

const StoredTensor* SafetensorsFolder::find_tensor(std::string_view name) const noexcept {
  const auto found = std::lower_bound(
      tensors_.begin(), tensors_.end(), name,
      [](const StoredTensor& tensor, std::string_view wanted) { return tensor.name < wanted; });
  return found == tensors_.end() || found->name != name ? nullptr : &*found;
}

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
    case Kind::gguf:
      return GgufFile(path, foreign);
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

// That of the lines which sha256sum prints for these files, in the order of their names.
std::string checksum_of_lines(const std::map<std::string, Bytes>& parts, const ChecksumListener& on_bytes) {
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

std::string checksum_of(const GgufFile& file, const ChecksumListener& on_bytes) {
  if (file.parts().size() == 1)
    return sha256_of(file.parts().front().file.bytes(), [&](std::size_t done) {
      if (on_bytes) on_bytes(done, file.size());
    });
  std::map<std::string, Bytes> parts;
  for (const GgufPart& part : file.parts()) parts[fs::path(part.name).filename().string()] = part.file.bytes();
  return checksum_of_lines(parts, on_bytes);
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
  return checksum_of_lines(parts, on_bytes);
}

}  // namespace

std::string checksum_of(const ModelFile& file, const ChecksumListener& on_bytes) {
  return std::visit([&](const auto& f) { return checksum_of(f, on_bytes); }, file);
}

using nlohmann::json;

json parse_json_object(std::string_view text, std::string_view name, const JsonLimits& limits) {
  const auto fail = [&](std::uint64_t at, const std::string& what) {
    throw Error(ErrorCode::bad_file, fmt::format("{}: at byte {}: {}", name, at, what));
  };
  if (text.size() > limits.bytes)
    fail(limits.bytes, fmt::format("the file has {} bytes; expected {} at most", text.size(), limits.bytes));
  // The parser would take it for the end of the text.
  if (const auto zero = text.find('\0'); zero != text.npos) fail(zero, "found a zero byte; expected JSON");

  const char* furthest = text.data();
  const auto here = [&] { return static_cast<std::uint64_t>(furthest - text.data()); };
  std::vector<std::set<std::string>> keys;  // of every object that is open
  const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start || event == json::parse_event_t::array_start) {
      if (depth >= limits.depth) fail(here(), fmt::format("nested more than {} deep", limits.depth));
    }
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second)
      fail(here(), fmt::format("{} appears twice", in_quotes(parsed.get<std::string>())));
    return true;
  };
  json found;
  try {
    const char* end = text.data() + text.size();
    found = json::parse(CountingIterator(text.data(), &furthest), CountingIterator(end, &furthest), watch);
  } catch (const json::parse_error& error) {
    // Its position counts the characters read, the offending one included.
    fail(error.byte > 0 ? std::min<std::uint64_t>(error.byte - 1, text.size()) : 0,
         "the file is not JSON from here on");
  } catch (const json::out_of_range&) {
    fail(here(), "found a number that is too large");
  }
  if (!found.is_object()) fail(0, fmt::format("found {}; expected an object", found.type_name()));
  return found;
}

json read_json_object(const std::filesystem::path& path, const JsonLimits& limits) {
  const MappedFile file(path);
  const auto bytes = file.bytes();
  return parse_json_object({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string(),
                           limits);
}

}  // namespace sharpmax::model
