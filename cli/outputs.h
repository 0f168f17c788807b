// Files that one call of a command reads and writes, checked before any work is done.
//
// No output replaces an input of the same call. Files are compared by identity, so links and relative paths
// make no difference. An output replaces an existing file only if that file is of the kind that it writes, or
// if --overwrite is given, which never allows an input to be replaced. Empty files, devices and pipes may
// always be written.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/console.h"

namespace sharpmax::cli {

// Kind of file that an output writes.
struct FileKind {
  std::string name;                                             // "a result of schema sharpmax.fit/1"
  std::function<bool(const std::filesystem::path&)> recognize;  // of a regular file that is not empty
};
FileKind results_kind(std::string schema);  // JSON with this "schema" at its top
FileKind csv_kind(std::string header);      // first line
FileKind npy_kind();
FileKind npz_kind();
FileKind page_kind();    // a report page of ours
FileKind figure_kind();  // an SVG file of ours

class CallFiles {
 public:
  explicit CallFiles(bool overwrite) : overwrite_(overwrite) {}

  // argument: how the user names it, such as --text or MODEL. Empty paths and "-" are no files.
  CallFiles& reads(std::string_view argument, const std::string& path);
  // A model: a file with what belongs to it beside it, or a folder with every file in it.
  CallFiles& reads_model(const std::string& path);
  CallFiles& writes(std::string_view argument, const std::string& path, FileKind kind);
  // Every SVG file in the directory that has the name of a figure.
  CallFiles& writes_figures(std::string_view argument, const std::string& directory);

  // Throws Error{bad_argument} for an output that may not be written.
  void check() const;

 private:
  struct Input {
    std::string argument;
    std::filesystem::path path;
    bool in_folder = false;  // of the model: results that were saved there before are no part of it
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

// Options that every command has alike.
void add_json_option(CLI::App& words, std::string& json, std::string_view schema, const char* group);
void add_overwrite_option(CLI::App& words, bool& overwrite, const char* group);

// Text to a file, or to standard output where that is "-". Nothing for an empty name.
void deliver(const std::string& where, const std::string& text);

// Throws Usage if an option that needs a value is followed by another option or by nothing: CLI11 would take
// the option as the value. A value that begins with a dash is written --option=VALUE, but for numbers.
void check_values(const CLI::App& words, const std::vector<std::string>& typed, std::size_t first);

}  // namespace sharpmax::cli
