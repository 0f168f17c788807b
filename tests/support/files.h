// Files that tests write and read, and what a refusal of a malformed one must say.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "sharpmax/error.h"

namespace sharpmax::test {

// The folder of the sources, in a file that CMake writes: as a definition for every unit it would keep a build of another
// clone from finding these objects in the compiler's cache.
std::filesystem::path source_folder();

// A folder of this process's own, gone with the object.
class Folder {
 public:
  explicit Folder(const std::string& name)
      : path_(std::filesystem::temp_directory_path() /
              ("sharpmax-" + name + "-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

inline std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void put(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// read() throws one Error{bad_file} in printable ASCII that has these words and names the byte (0: any).
template <class Read>
void expect_refused(const Read& read, const std::string& words_wanted, std::size_t byte) {
  try {
    read();
    ADD_FAILURE() << "was accepted";
  } catch (const Error& error) {
    const std::string words = error.what();
    EXPECT_EQ(error.code(), ErrorCode::bad_file);
    EXPECT_NE(words.find(words_wanted), std::string::npos) << words;
    const std::string at = byte == 0 ? "at byte " : "at byte " + std::to_string(byte) + ":";
    EXPECT_NE(words.find(at), std::string::npos) << words;
    for (const char c : words) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << words;
  }
}

}  // namespace sharpmax::test
