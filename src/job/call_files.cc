#include "job/call_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/in_quotes.h"
#include "sharpmax/error.h"

namespace sharpmax {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHeadBytes = 4096;

}  // namespace

std::string head_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string head(kHeadBytes, '\0');
  file.read(head.data(), kHeadBytes);
  head.resize(static_cast<std::size_t>(file.gcount()));
  return head;
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code problem;
  for (fs::directory_iterator at(folder, problem), end; !problem && at != end; at.increment(problem))
    if (at->is_regular_file(problem)) files.push_back(at->path());
  std::sort(files.begin(), files.end());
  return files;
}

namespace {

// Reads JSON up to the "schema" of its top object. Results have it first, so a long file costs nothing.
class SchemaReader : public nlohmann::json_sax<Json> {
 public:
  std::string schema;

  bool key(string_t& name) override {
    at_schema_ = depth_ == 1 && name == "schema";
    return true;
  }
  bool string(string_t& text) override {
    if (at_schema_) schema = text;
    return !at_schema_;
  }
  bool null() override { return !at_schema_; }
  bool boolean(bool) override { return !at_schema_; }
  bool number_integer(number_integer_t) override { return !at_schema_; }
  bool number_unsigned(number_unsigned_t) override { return !at_schema_; }
  bool number_float(number_float_t, const string_t&) override { return !at_schema_; }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override {
    ++depth_;
    return !at_schema_;
  }
  bool end_object() override {
    --depth_;
    return depth_ > 0;
  }
  bool start_array(std::size_t) override { return depth_ > 0 && !at_schema_; }  // results are an object
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  int depth_ = 0;
  bool at_schema_ = false;
};

FileKind beginning_with(std::string name, std::string beginning) {
  return {std::move(name), [beginning = std::move(beginning)](const fs::path& path) {
            return head_of(path).starts_with(beginning);
          }};
}

bool same_file(const fs::path& a, const fs::path& b) {
  struct stat one {
  }, other{};
  if (::stat(a.c_str(), &one) == 0 && ::stat(b.c_str(), &other) == 0)
    return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
  std::error_code ignored;
  return fs::weakly_canonical(fs::absolute(a, ignored), ignored) ==
         fs::weakly_canonical(fs::absolute(b, ignored), ignored);
}

// Files that are not regular are written, not replaced.
bool is_written_through(const fs::path& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  return fs::exists(status) && !fs::is_regular_file(status);
}

bool holds_something(const fs::path& path) {
  std::error_code problem;
  return fs::is_regular_file(path, problem) && fs::file_size(path, problem) > 0 && !problem;
}

// Files beside a .safetensors file that a model is opened with.
bool belongs_to_tensors(const fs::path& path) {
  constexpr std::array kNames = {"config.json", "tokenizer.json", "tokenizer_config.json",
                                 "generation_config.json"};
  const std::string name = path.filename().string();
  return name.ends_with(".safetensors") || name.ends_with(".safetensors.index.json") ||
         std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

// Whole, however long: a path that is cut says nothing of the file.
std::string shown(const fs::path& path) { return "'" + escaped(path.string()) + "'"; }

[[noreturn]] void refuse(const std::string& sentence) { throw RequestError(ErrorCode::bad_argument, sentence); }

}  // namespace

FileKind results_kind(std::string schema) {
  return {"a result of schema " + schema, [schema](const fs::path& path) {
            std::ifstream file(path, std::ios::binary);
            SchemaReader reader;
            Json::sax_parse(file, &reader);
            return reader.schema == schema;
          }};
}

FileKind csv_kind(std::string header) {
  return beginning_with("a CSV file with the columns that are written", std::move(header) + "\n");
}

FileKind npy_kind() { return beginning_with("a .npy file", "\x93NUMPY"); }

FileKind npz_kind() { return beginning_with("a .npz file", "PK\x03\x04"); }

CallFiles& CallFiles::reads(std::string_view argument, const std::string& path) {
  if (!path.empty() && path != "-") inputs_.push_back({std::string(argument), path});
  return *this;
}

CallFiles& CallFiles::reads_model(const std::string& path) {
  reads(named("model"), path);
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    for (const fs::path& file : files_in(path)) inputs_.push_back({named("model"), file, true});
  } else if (path.ends_with(".safetensors") || path.ends_with(".json")) {
    const fs::path folder = fs::path(path).parent_path();
    for (const fs::path& file : files_in(folder.empty() ? "." : folder))
      if (belongs_to_tensors(file)) inputs_.push_back({named("model"), file});
  }
  return *this;
}

CallFiles& CallFiles::writes(std::string_view argument, const std::string& path, FileKind kind) {
  if (!path.empty() && path != "-") outputs_.push_back({std::string(argument), path, std::move(kind)});
  return *this;
}

void CallFiles::check_inputs(const Output& output) const {
  for (const Input& input : inputs_) {
    if (!same_file(output.path, input.path)) continue;
    if (input.in_folder && holds_something(output.path) && output.kind.recognize(output.path)) continue;
    refuse(fmt::format("{}: {} is an input of this call ({}); an output never replaces an input",
                       output.argument, shown(output.path), input.argument));
  }
}

void CallFiles::check_existing(const Output& output) const {
  if (overwrite_ || !holds_something(output.path) || output.kind.recognize(output.path)) return;
  refuse(fmt::format("{}: {} exists and is not {}; choose another name, or give {} to replace it",
                     output.argument, shown(output.path), output.kind.name, flagged("overwrite")));
}

void CallFiles::check_apart() const {
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (!is_written_through(outputs_[i].path) && same_file(outputs_[i].path, outputs_[j].path))
        refuse(fmt::format("{} and {} name the same file, {}; each needs its own", outputs_[j].argument,
                           outputs_[i].argument, shown(outputs_[i].path)));
}

void CallFiles::check() const {
  for (const Output& output : outputs_)
    if (!is_written_through(output.path)) check_inputs(output);
  check_apart();
  for (const Output& output : outputs_) check_existing(output);
}

}  // namespace sharpmax
