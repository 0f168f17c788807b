// Files that one call of a command reads and writes, checked before any work is done.
//
// No output replaces an input of the same call. Files are compared by identity, so links and relative paths
// make no difference. An output replaces an existing file only if that file is of the kind that it writes, or
// if `overwrite` is given, which never allows an input to be replaced. Empty files, devices and pipes may
// always be written.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sharpmax/job.h"

namespace sharpmax {

// Kind of file that an output writes.
struct FileKind {
  std::string name;                                             // "a result of schema sharpmax.fit/1"
  std::function<bool(const std::filesystem::path&)> recognize;  // of a regular file that is not empty
};
FileKind results_kind(std::string schema);  // JSON with this "schema" at its top
FileKind csv_kind(std::string header);      // first line
FileKind npy_kind();
FileKind npz_kind();
std::string head_of(const std::filesystem::path& path);  // its first 4096 bytes, to recognize it by
std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder);  // regular ones, in order

// Whether results are saved in this file; "-" is standard output, and nothing goes on from there.
inline bool is_file(const std::string& path) { return !path.empty() && path != "-"; }

class CallFiles {
 public:
  explicit CallFiles(bool overwrite) : overwrite_(overwrite) {}

  // argument: the field, as named() has it in sentences. Empty paths and "-" are not files.
  CallFiles& reads(std::string_view argument, const std::string& path);
  // A model: a file with what belongs to it beside it, or a folder with every file in it.
  CallFiles& reads_model(const std::string& path);
  CallFiles& writes(std::string_view argument, const std::string& path, FileKind kind);

  // Throws Error{bad_argument} for an output that may not be written.
  void check() const;

 private:
  struct Input {
    std::string argument;
    std::filesystem::path path;
    bool in_folder = false;  // of the model: results that were saved there before do not belong to it
  };
  struct Output {
    std::string argument;
    std::filesystem::path path;
    FileKind kind;
  };

  void check_inputs(const Output& output) const;
  void check_existing(const Output& output) const;
  void check_apart() const;

  bool overwrite_;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
};

// The files of a request: its fields of kind input are read, its model too, and `json` is written as results of `schema`,
// as is results.json in its `directory`.
template <class Request>
CallFiles files_of(const Request& request, bool overwrite, std::string_view schema) {
  CallFiles call(overwrite);
  Request::each_field(request, [&](const Field& field, const auto& value) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, std::string>) {
      if (field.name == "model") call.reads_model(value);
      if (field.kind == Field::Kind::input || field.kind == Field::Kind::table) call.reads(named(field.name), value);
      if (field.name == "json") call.writes(named(field.name), value, results_kind(std::string(schema)));
      if (field.name == "directory" && !value.empty())
        call.writes(named(field.name), (std::filesystem::path(value) / "results.json").string(),
                    results_kind(std::string(schema)));
    }
  });
  return call;
}

}  // namespace sharpmax
