// One malformed .npy or .npz file per defect, each named for it: refused as Error{bad_file}, with the byte.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "sharpmax/error.h"
#include "storage/files.h"
#include "storage/npy.h"
#include "support/files.h"

namespace sharpmax::test {
namespace {

using namespace std::string_literals;

std::string header(const std::string& dictionary, int major = 1) {
  std::string file = "\x93NUMPY"s;
  file += static_cast<char>(major);
  file += '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i)
    file += static_cast<char>(dictionary.size() >> (8 * i) & 0xff);
  return file + dictionary;
}

std::string dictionary(const std::string& descr, const std::string& shape,
                       const std::string& order = "False") {
  return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

std::string sound(const std::string& shape, std::size_t bytes, const std::string& descr = "'<f4'") {
  return header(dictionary(descr, shape)) + std::string(bytes, '\1');
}

NpyArray parse_array(const std::string& file) { return parse_npy(std::as_bytes(std::span(file)), "file"); }

struct ArrayDefect {
  const char* name;
  std::string file;
  std::uint64_t byte;  // where the complaint must point
  const char* words;   // and what it must say
};

std::vector<ArrayDefect> defects() {
  const std::string good = sound("(2,)", 8);
  const auto text = [](const std::string& words) { return header(words) + std::string(8, '\1'); };
  return {
      {"Empty", "", 0, "empty"},
      {"NotNpy", "PK\3\4 something else", 0, "not a .npy"},
      {"MagicCutShort", good.substr(0, 5), 0, "not a .npy"},
      {"EndsBeforeVersion", good.substr(0, 7), 7, "version"},
      {"VersionZero", std::string(good).replace(6, 1, 1, '\0'), 6, "version 0.0"},
      {"VersionFour", std::string(good).replace(6, 1, 1, '\4'), 6, "version 4.0"},
      {"MinorVersionOne", std::string(good).replace(7, 1, 1, '\1'), 6, "version 1.1"},
      {"EndsBeforeHeaderLength", good.substr(0, 9), 9, "length of its header"},
      {"HeaderPastTheEnd", std::string(good).replace(8, 2, "\xff\xff"), 8, "are left"},
      {"HeaderPastTheEndVersion2", "\x93NUMPY\x02\x00\xff\xff\xff\xff{"s, 8, "are left"},
      {"HeaderOverTheLimit", header(std::string(kNpyHeaderLimit + 1, ' '), 2), 8, "refused"},
      {"HeaderEmpty", header(""), 10, "ends before a '{'"},
      {"NoBrace", text("'descr'"), 10, "expected '{'"},
      {"BraceNeverCloses", text("{'descr': '<f4'"), 25, "'}'"},
      {"QuoteNeverCloses", text("{'descr: <f4}"), 11, "never ends"},
      {"NoDescr", text("{'fortran_order': False, 'shape': (2,), }"), 51, "no 'descr'"},
      {"NoOrder", text("{'descr': '<f4', 'shape': (2,), }"), 43, "no 'fortran_order'"},
      {"NoShape", text("{'descr': '<f4', 'fortran_order': False, }"), 52, "no 'shape'"},
      {"DescrTwice", text("{'descr': '<f4', 'descr': '<f4', }"), 27, "twice"},
      {"UnknownEntry", text("{'colour': 1}"), 11, "unknown entry 'colour'"},
      {"UnprintableEntry", text("{'\x1b[31m': 1}"), 11, "\\x1b"},
      {"TextAfterTheBrace", text(dictionary("'<f4'", "(2,)") + "x"), 0, "follows the closing brace"},
      {"BigEndian", sound("(2,)", 8, "'>f4'"), 20, "big-endian"},
      {"PythonObjects", sound("(2,)", 8, "'|O'"), 20, "never read"},
      {"Structured", sound("(2,)", 8, "[('a', '<f4')]"), 20, "structured"},
      {"Int32", sound("(2,)", 8, "'<i4'"), 20, "'<i4'"},
      {"Complex", sound("(2,)", 16, "'<c8'"), 20, "'<c8'"},
      {"TypeNotQuoted", sound("(2,)", 8, "4"), 20, "quoted word"},
      {"OrderNotBool", header(dictionary("'<f4'", "(2,)", "0")) + std::string(8, '\1'), 0, "True or False"},
      {"ShapeNotTuple", sound("2", 8), 0, "expected '('"},
      {"ShapeWithoutComma", sound("(2)", 8), 0, "(n,)"},
      {"ShapeNegative", sound("(-2,)", 8), 0, "negative"},
      {"ShapeFraction", sound("(2.0,)", 8), 0, "(n,)"},
      {"ShapeOverflowsOneExtent", sound("(99999999999999999999,)", 8), 0, "64 bits"},
      {"ShapeOverflowsInProduct", sound("(4294967296, 4294967296)", 8), 0, "64 bits"},
      {"ShapeOverflowsInBytes", sound("(4611686018427387904,)", 8), 0, "64 bits"},
      {"ShapeOverflowsBesideZero", sound("(0, 4294967296, 4294967296)", 0), 0, "64 bits"},
      {"ShapeOf33Dimensions",
       sound(
           "(" +
               [] {
                 std::string s;
                 for (int i = 0; i < 33; ++i) s += "1,";
                 return s;
               }() +
               ")",
           4),
       0, "more than 32"},
      {"DataOneByteShort", sound("(2,)", 7), 0, "asks for 8 bytes of data, but 7 are left"},
      {"DataOneByteLong", sound("(2,)", 9), 0, "asks for 8 bytes of data, but 9 follow"},
      {"DataMissing", sound("(1000000000000,)", 0), 0, "but 0 are left"},
      {"BoolOfTwo", header(dictionary("'|b1'", "(2,)")) + "\1\2", 0, "a bool is 2"},
  };
}

TEST(NpyFiles, EveryDefectIsOneErrorThatNamesTheByte) {
  for (const ArrayDefect& defect : defects()) {
    SCOPED_TRACE(defect.name);
    expect_refused([&] { parse_array(defect.file); }, defect.words, defect.byte);
  }
}

TEST(NpyFiles, EveryPrefixOfASoundFileIsRefused) {
  const std::string file = sound("(2, 3)", 24);
  ASSERT_EQ(parse_array(file).elements(), 6);
  for (std::size_t length = 0; length < file.size(); ++length) {
    EXPECT_THROW(parse_array(file.substr(0, length)), Error) << length;
  }
}

TEST(NpyFiles, VersionsTypesAndRanksThatNumpyWritesAreRead) {
  for (const int major : {1, 2, 3}) {
    const NpyArray array = parse_array(header(dictionary("'<f8'", "(3, 1)"), major) + std::string(24, '\0'));
    EXPECT_EQ(array.type, NpyType::float64);
    EXPECT_EQ(array.shape, (std::vector<std::int64_t>{3, 1}));
  }
  EXPECT_EQ(parse_array(sound("()", 4)).elements(), 1);
  EXPECT_EQ(parse_array(sound("(0, 7)", 0)).elements(), 0);
  EXPECT_EQ(parse_array(sound("(3,)", 6, "'<u2'")).type, NpyType::uint16);
  EXPECT_EQ(parse_array(sound("(3,)", 6, "'<f2'")).type, NpyType::float16);
  EXPECT_EQ(parse_array(sound("(3,)", 24, "'<i8'")).type, NpyType::int64);
}

TEST(NpyFiles, FortranOrderArrivesInCOrder) {
  // [[0, 1, 2], [3, 4, 5]] saved column by column.
  const std::int64_t columns[] = {0, 3, 1, 4, 2, 5};
  std::string file = header(dictionary("'<i8'", "(2, 3)", "True"));
  file.append(reinterpret_cast<const char*>(columns), sizeof columns);
  const NpyArray array = parse_array(file);
  std::int64_t rows[6];
  std::memcpy(rows, array.bytes.data(), sizeof rows);
  for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(rows[i], i);
}

ErrorCode code_of_arrays(const std::function<void()>& action, std::string* words = nullptr) {
  try {
    action();
  } catch (const Error& error) {
    if (words) *words = error.what();
    return error.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorCode::bad_argument;
}

TEST(NpyFiles, WhatIsWrittenReadsBack) {
  const Folder folder("npy");
  const double numbers[] = {1.5, -2.25, 0.0, 3e300, 1e-300, 6.0};
  write_npy(folder / "a.npy", {NpyType::float64, {2, 3}, numbers});
  const NpyArray array = read_npy(folder / "a.npy");
  EXPECT_EQ(array.shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(std::memcmp(array.bytes.data(), numbers, sizeof numbers), 0);
  EXPECT_EQ((contents(folder / "a.npy").size() - sizeof numbers) % 64, 0u);
}

TEST(NpyFiles, FoldersDevicesAndMissingFilesAreRefusedInWords) {
  const Folder folder("npy");
  EXPECT_EQ(code_of_arrays([&] { read_npy(folder / "missing.npy"); }), ErrorCode::io);
  EXPECT_EQ(code_of_arrays([&] { read_npy(folder / ""); }), ErrorCode::bad_file);
  EXPECT_EQ(code_of_arrays([&] { read_npy("/dev/zero"); }), ErrorCode::bad_file);
  EXPECT_EQ(code_of_arrays([&] { read_npz(folder / "missing.npz"); }), ErrorCode::io);
  EXPECT_EQ(code_of_arrays([&] { read_npz("/dev/zero"); }), ErrorCode::bad_file);
}

TEST(NpyFiles, AFailedWriteLeavesTheEarlierFileAndNoOther) {
  const Folder folder("npy");
  put(folder / "kept.npy", "earlier");
  {
    AtomicFile file(folder / "kept.npy");
    file.write(std::as_bytes(std::span("half", 4)));
    EXPECT_EQ(contents(folder / "kept.npy"), "earlier");
  }  // given up, as an exception would
  EXPECT_EQ(contents(folder / "kept.npy"), "earlier");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / ""), {}), 1);
  std::string words;
  EXPECT_EQ(code_of_arrays(
                [] {
                  write_npy("/dev/full", {NpyType::boolean, {4}, "\0\0\0\0"});
                },
                &words),
            ErrorCode::io);
  EXPECT_NE(words.find("No space left"), std::string::npos) << words;
  EXPECT_EQ(code_of_arrays([&] {
              write_npy(folder / "no/such/a.npy", {NpyType::boolean, {1}, "\0"});
            }),
            ErrorCode::io);
}

class NpzFiles : public testing::Test {
 protected:
  NpzFiles() {
    write_npz(folder_ / "good.npz",
              {{"a", {NpyType::float32, {2, 3}, numbers_}}, {"b", {NpyType::float32, {6}, numbers_}}});
    good_ = contents(folder_ / "good.npz");
  }
  void refuses(const std::string& bytes, const char* wanted) {
    put(folder_ / "bad.npz", bytes);
    std::string words;
    EXPECT_EQ(code_of_arrays([&] { read_npz(folder_ / "bad.npz"); }, &words), ErrorCode::bad_file);
    EXPECT_NE(words.find(wanted), std::string::npos) << words;
  }
  // Replaces `count` bytes `distance` after the k-th occurrence of `mark`.
  std::string patched(const std::string& mark, int k, std::size_t distance, const std::string& bytes) const {
    std::size_t at = good_.find(mark);
    while (k-- > 0) at = good_.find(mark, at + 1);
    return std::string(good_).replace(at + distance, bytes.size(), bytes);
  }

  const Folder folder_{"npy"};
  const float numbers_[6] = {1, 2, 3, 4, 5, 6};
  std::string good_;
};

TEST_F(NpzFiles, WhatIsWrittenReadsBack) {
  const auto arrays = read_npz(folder_ / "good.npz");
  ASSERT_EQ(arrays.size(), 2u);
  EXPECT_EQ(arrays[0].name, "a");
  EXPECT_EQ(arrays[0].array.shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(std::memcmp(arrays[1].array.bytes.data(), numbers_, sizeof numbers_), 0);
}

TEST_F(NpzFiles, NotAnArchive) { refuses("nothing of the kind", "not a sound .npz"); }
TEST_F(NpzFiles, Empty) { refuses("", "not"); }
TEST_F(NpzFiles, CutShort) { refuses(good_.substr(0, good_.size() - 10), "not a sound .npz"); }

TEST_F(NpzFiles, DataThatBelieTheirChecksum) {
  std::string bytes = good_;
  bytes[bytes.find("NUMPY") + 130] ^= 1;  // in the numbers
  refuses(bytes, "CRC");
}

TEST_F(NpzFiles, SameNameTwice) {
  std::string bytes = good_;
  for (std::size_t at = 0; (at = bytes.find("b.npy", at)) != std::string::npos;) bytes[at] = 'a';
  refuses(bytes, "two members have the same name");
}

TEST_F(NpzFiles, MemberThatIsNotNpy) {
  std::string bytes = good_;
  for (std::size_t at = 0; (at = bytes.find("a.npy", at)) != std::string::npos;)
    bytes.replace(at, 5, "a.pkl");
  refuses(bytes, "not a .npy");
}

// Sizes stand at 18 and 22 in a local header, at 20 and 24 in the directory.
TEST_F(NpzFiles, ClaimedSizeBeyondWhatTheBytesCanHold) {
  std::string bytes = patched("PK\3\4", 0, 22, "\xff\xff\xff\x7f");
  bytes.replace(bytes.find("PK\1\2") + 24, 4, "\xff\xff\xff\x7f");
  refuses(bytes, "cannot hold");
}

TEST_F(NpzFiles, UnknownCompression) {
  std::string bytes = patched("PK\3\4", 0, 8, "\x0c");
  bytes.replace(bytes.find("PK\1\2") + 10, 1, "\x0c");
  refuses(bytes, "compression method 12");
}

TEST_F(NpzFiles, AFullDiskIsReported) {
  std::string words;
  EXPECT_EQ(code_of_arrays(
                [&] {
                  write_npz("/dev/full", {{"a", {NpyType::float32, {6}, numbers_}}});
                },
                &words),
            ErrorCode::io);
  EXPECT_NE(words.find("No space left"), std::string::npos) << words;
}

}  // namespace
}  // namespace sharpmax::test
