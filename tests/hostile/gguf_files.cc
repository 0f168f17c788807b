// One malformed GGUF file per defect, each named for it: refused with the byte where it is wrong.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "model/file/gguf.h"
#include "sharpmax/error.h"
#include "support/files.h"
#include "support/gguf_writer.h"
#include "support/random.h"

namespace sharpmax::test {
namespace {

using model::ForeignTypes;
using model::GgufType;
using enum GgufWriter::Tensor;

constexpr std::uint64_t kMax64 = std::numeric_limits<std::uint64_t>::max();

model::GgufHeader parse_header(const std::string& file, ForeignTypes foreign = ForeignTypes::refuse) {
  return model::parse_gguf_header(std::as_bytes(std::span(file)), "file", foreign);
}

// Some metadata and two tensors, to which a test adds what is wrong.
GgufWriter good() {
  GgufWriter writer;
  writer.add("general.architecture", "llama").add("llama.block_count", std::uint32_t{2});
  writer.add("tokenizer.ggml.tokens", std::vector<std::string>{"a", "", "\xff"});
  writer.add("tokenizer.ggml.scores", GgufType::float32, std::vector<float>{1.0f, -2.0f});
  writer.add("flag", true);
  writer.add_tensor("one", f32, {2, 3}, std::string(24, '\1'));
  writer.add_tensor("two", q4_0, {2, 64}, std::string(4 * 18, '\2'));
  return writer;
}

struct HeaderDefect {
  const char* name;
  std::string file;
  std::uint64_t byte;  // where the complaint must point
  const char* words;   // and what it must say
  ErrorCode code = ErrorCode::bad_file;
};

std::vector<HeaderDefect> of_the_frame() {
  const auto with = [](auto change) {
    GgufWriter writer = good();
    change(writer);
    return writer.bytes();
  };
  return {
      {"Empty", "", 0, "the magic word takes 4 bytes"},
      {"WrongMagic", with([](auto& w) { w.magic = "GGML"; }), 0, "opens with 'GGML'; expected 'GGUF'"},
      {"MagicNotPrintable", with([](auto& w) { w.magic = "\x1b[2J"; }), 0, "'\\x1b[2J'"},
      {"VersionZero", with([](auto& w) { w.version = 0; }), 4, "version 0; expected 2 or 3"},
      {"VersionOne", with([](auto& w) { w.version = 1; }), 4, "version 1; expected 2 or 3"},
      {"VersionFour", with([](auto& w) { w.version = 4; }), 4, "version 4; expected 2 or 3"},
      {"BigEndian", with([](auto& w) { w.version = 0x03000000; }), 4, "big-endian"},
      {"TensorCountOfAllOnes", with([](auto& w) { w.tensor_count = kMax64; }), 8,
       "18446744073709551615 tensors"},
      {"TensorCountPastTheEnd", with([](auto& w) { w.tensor_count = 100; }), 8, "100 tensors"},
      {"EntryCountOfAllOnes", with([](auto& w) { w.entry_count = kMax64; }), 16, "metadata entries, but"},
      {"EntryCountPastTheEnd", with([](auto& w) { w.entry_count = 1000; }), 16, "1000 metadata entries"},
      {"EntryCountTooSmall", with([](auto& w) { w.entry_count = 1; }), 0, "file: at byte"},
      {"EntryCountTooLarge", with([](auto& w) { w.entry_count = 7; }), 0, "file: at byte"},
  };
}

// An entry of which `value` are the bytes after the key and type 4 (or another).
HeaderDefect wrong_entry(const char* name, std::uint32_t type, const std::string& value, std::uint64_t byte,
             const char* words, ErrorCode code = ErrorCode::bad_file) {
  GgufWriter writer;
  writer.add_raw("k", type, value);
  const std::uint64_t type_at = writer.entry_at(0) + 8 + 1;
  return {name, writer.bytes(), type_at + byte, words, code};
}

// Bytes count from the type of the value.
std::vector<HeaderDefect> of_an_entry() {
  const auto array = static_cast<std::uint32_t>(GgufType::array);
  const auto string = static_cast<std::uint32_t>(GgufType::string);
  const auto boolean = static_cast<std::uint32_t>(GgufType::boolean);
  const auto element = [](GgufType type) { return raw(static_cast<std::uint32_t>(type)); };
  GgufWriter long_key, twice;
  long_key.add_raw("k", 0, std::string(8, '\0'));
  std::string key_past_the_end = long_key.bytes();
  key_past_the_end.replace(24, 8, raw(std::uint64_t{1} << 62));
  twice.add("k", std::uint32_t{1}).add("k", std::uint32_t{1});
  return {
      {"KeyPastTheEnd", key_past_the_end, 24, "a key has length 4611686018427387904, but"},
      {"KeyTwice", twice.bytes(), twice.entry_at(1), "key 'k' appears twice"},
      wrong_entry("TypeUnknown", 13, "\1", 0, "type 13; expected 0 to 12"),
      wrong_entry("TypeOfAllOnes", 0xffffffff, "\1", 0, "type 4294967295"),
      wrong_entry("ValueCutShort", static_cast<std::uint32_t>(GgufType::uint64), "1234567", 4,
            "but the file ends after 7"),
      wrong_entry("TextPastTheEnd", string, raw(std::uint64_t{9}) + "12345678", 4,
            "length 9, but 8 bytes are left"),
      wrong_entry("TextOfAllOnes", string, raw(kMax64) + "12345678", 4, "has length 18446744073709551615"),
      wrong_entry("TruthOfTwo", boolean, "\2", 4, "truth value 2; expected 0 or 1"),
      wrong_entry("TruthOfTwoInAnArray", array, element(GgufType::boolean) + raw(std::uint64_t{3}) + "\1\1\2", 18,
            "truth value 2"),
      wrong_entry("ArrayOfUnknownType", array, raw(std::uint32_t{77}) + raw(std::uint64_t{1}) + "1", 4, "type 77"),
      wrong_entry("ArrayOfArrays", array, element(GgufType::array) + raw(std::uint64_t{1}) + std::string(24, '\0'),
            4, "array of arrays", ErrorCode::unsupported),
      wrong_entry("ArrayPastTheEnd", array, element(GgufType::uint32) + raw(std::uint64_t{3}) + "12345678", 8,
            "there should be 3 elements in 'k', but 8 bytes are left"),
      // 2^62 elements of 4 bytes: the product is 0 in 64 bits.
      wrong_entry("ArrayWhoseSizeOverflows", array,
            element(GgufType::uint32) + raw(std::uint64_t{1} << 62) + "12345678", 8, "but 8 bytes are left"),
      wrong_entry("ArrayOfTextsPastTheEnd", array,
            element(GgufType::string) + raw(std::uint64_t{2}) + raw_text("12345678"), 32,
            "takes 8 bytes, but the file ends after 0"),
      wrong_entry("TextInAnArrayPastTheEnd", array,
            element(GgufType::string) + raw(std::uint64_t{1}) + raw(std::uint64_t{1} << 63), 16,
            "but 0 bytes are left"),
  };
}

HeaderDefect alignment(const char* name, GgufType type, const std::string& value, const char* words) {
  GgufWriter writer;
  writer.add_raw("general.alignment", static_cast<std::uint32_t>(type), value);
  writer.add_tensor("one", f32, {1}, "1234");
  return {name, writer.bytes(), writer.entry_at(0) + 8 + 17 + 4, words};
}

std::vector<HeaderDefect> of_the_alignment() {
  return {
      alignment("AlignmentOfWrongType", GgufType::uint64, raw(std::uint64_t{32}),
                "type uint64; expected uint32"),
      alignment("AlignmentZero", GgufType::uint32, raw(0u), "is 0; expected a power of two"),
      alignment("AlignmentNotAPowerOfTwo", GgufType::uint32, raw(24u), "is 24; expected a power of two"),
      alignment("AlignmentAboveAMebibyte", GgufType::uint32, raw(2u << 20), "1048576 at most"),
  };
}

// A tensor described so, after 1024 bytes of data exist; the byte counts from its name's end.
HeaderDefect tensor(const char* name, std::uint32_t type, const std::vector<std::uint64_t>& shape,
              std::uint64_t offset, std::int64_t byte, const char* words,
              ErrorCode code = ErrorCode::bad_file) {
  GgufWriter writer;
  writer.add_tensor("data", f32, {8}, std::string(1024, '\1'));
  writer.describe("t", type, shape, offset);
  return {name, writer.bytes(), writer.tensor_at(1) + 9 + static_cast<std::uint64_t>(byte), words, code};
}

std::vector<HeaderDefect> of_a_tensor() {
  const std::uint64_t big = std::uint64_t{1} << 40;
  const ErrorCode unsupported = ErrorCode::unsupported;
  GgufWriter twice, past;
  twice.add_tensor("t", f32, {1}, "1234").add_tensor("t", f32, {1}, "1234");
  past.add_tensor("data", f32, {8}, std::string(32, '\1'));
  std::string name_past_the_end = past.bytes();
  name_past_the_end.replace(past.tensor_at(0), 8, raw(std::uint64_t{1} << 40));
  return {
      {"TensorTwice", twice.bytes(), twice.tensor_at(1), "tensor 't' appears twice"},
      {"TensorNamePastTheEnd", name_past_the_end, past.tensor_at(0), "name has length 1099511627776"},
      tensor("FiveDimensions", f32, {1, 1, 1, 1, 1}, 32, 0, "5 dimensions; expected 4 at most"),
      tensor("ExtentZero", f32, {2, 0}, 32, 4, "an extent of 0"),
      tensor("ExtentNegative", f32, {kMax64}, 32, 4, "an extent of 18446744073709551615"),
      tensor("ElementsOverflow", f32, {big, big}, 32, 20, "needs more than 63 bits"),
      tensor("BytesOverflow", f32, {big, std::uint64_t{1} << 22}, 32, 20, "more than 2^63 bytes"),
      tensor("RowsNotWholeBlocks", q4_0, {32, 33}, 32, 20, "rows of 33; Q4_0 wants a multiple of 32"),
      tensor("RowsNotWholeSuperBlocks", q4_k, {128}, 32, 12, "rows of 128; Q4_K wants a multiple of 256"),
      tensor("ScalarOfBlocks", q4_0, {}, 32, 4, "rows of 1"),
      tensor("TypeUnknown", 42, {8}, 32, 12, "type 42, which we do not know"),
      tensor("TypeOfAllOnes", 0xffffffff, {8}, 32, 12, "which we do not know"),
      tensor("TypeRemoved", 4, {32}, 32, 12, "Q4_2, which the format no longer has", unsupported),
      tensor("TypeNotOurs", iq2_s, {256}, 32, 12, "IQ2_S, which cannot be multiplied here", unsupported),
      tensor("TypeOfIntegers", i32, {8}, 32, 12, "I32", unsupported),
      tensor("OffsetMisaligned", f32, {8}, 33, 16, "lies at 33 of the data; expected a multiple of 32"),
      tensor("OffsetPastTheEnd", f32, {8}, 1024 + 32, -9,
             "takes 32 bytes from 1056 of the data, which have 1024"),
      tensor("OffsetOfAllOnes", f32, {8}, kMax64 - 31, -9, "takes 32 bytes from 18446744073709551584"),
      tensor("EndPastTheEnd", f32, {9}, 1024 - 32, -9, "takes 36 bytes from 992"),
      tensor("Overlap", f32, {1}, 0, -9, "within 'data'"),
  };
}

std::vector<HeaderDefect> all_defects() {
  std::vector<HeaderDefect> all;
  for (const auto& some : {of_the_frame(), of_an_entry(), of_the_alignment(), of_a_tensor()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

TEST(HostileGguf, EveryDefectIsRefusedWithItsByte) {
  for (const HeaderDefect& defect : all_defects()) {
    SCOPED_TRACE(defect.name);
    try {
      parse_header(defect.file);
      ADD_FAILURE() << "was accepted";
    } catch (const Error& error) {
      const std::string words = error.what();
      EXPECT_EQ(error.code(), defect.code) << words;
      EXPECT_NE(words.find(defect.words), std::string::npos) << words;
      const bool any = defect.byte == 0 && std::string_view(defect.words) == "file: at byte";
      const std::string at = any ? "at byte " : "at byte " + std::to_string(defect.byte) + ":";
      EXPECT_NE(words.find(at), std::string::npos) << words << "\nwanted " << at;
      for (const char c : words) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << words;
    }
  }
}

TEST(HostileGguf, WhatIsWellFormedIsRead) {
  for (const std::uint32_t version : {2u, 3u}) {
    GgufWriter writer = good();
    writer.version = version;
    const std::string file = writer.bytes();
    const auto header = parse_header(file);
    EXPECT_EQ(header.version, version);
    ASSERT_EQ(header.entries.size(), 5u);
    ASSERT_EQ(header.tensors.size(), 2u);
    EXPECT_EQ(header.tensors[0].shape, (std::vector<std::int64_t>{2, 3}));
    EXPECT_EQ(header.tensors[0].bytes.size(), 24u);
    EXPECT_EQ(header.tensors[1].bytes[0], std::byte{2});
    EXPECT_EQ(header.tensors[1].offset, header.data_offset + 32);
  }
}

TEST(HostileGguf, TypesThatAreNotOursCanBeListed) {
  GgufWriter writer;
  writer.add_tensor("a", iq2_s, {2, 256}, std::string(164, '\1')).add_tensor("b", f32, {1}, "1234");
  const std::string file = writer.bytes();
  const auto header = parse_header(file, ForeignTypes::keep);
  ASSERT_EQ(header.foreign_tensors.size(), 1u);
  EXPECT_EQ(header.foreign_tensors[0].type, "IQ2_S");
  EXPECT_EQ(header.foreign_tensors[0].bytes, 164u);
  ASSERT_EQ(header.tensors.size(), 1u);
}

TEST(HostileGguf, CutAtAnyByteItIsRefused) {
  const std::string whole = good().bytes();
  ASSERT_NO_THROW(parse_header(whole));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    // Of its own memory, so that a sanitizer sees a read past the end.
    const std::string cut(whole, 0, length);
    EXPECT_THROW(parse_header(cut), Error) << length;
  }
}

TEST(HostileGguf, AnyByteChangedIsAnErrorOrAFile) {
  const std::string whole = good().bytes();
  for_each_seed(3000, [&](Random& random) {
    std::string file = whole;
    for (std::size_t i = random.size(1, 3); i > 0; --i)
      file[random.size(0, file.size() - 1)] = static_cast<char>(random.size(0, 255));
    try {
      for (const auto& tensor : parse_header(file, ForeignTypes::keep).tensors) {
        EXPECT_GE(tensor.bytes.data(), std::as_bytes(std::span(file)).data());
        EXPECT_LE(tensor.offset + tensor.bytes.size(), file.size());
      }
    } catch (const Error&) {
    }
  });
}

// Values of the wrong type are found before any cast.
class GgufValues : public testing::Test {
 protected:
  model::GgufFile open() {
    put(folder_ / "m.gguf", writer_.bytes());
    return model::GgufFile(folder_ / "m.gguf");
  }
  Folder folder_{"gguf-values"};
  GgufWriter writer_ = good();
};

TEST_F(GgufValues, AreWhatWasWritten) {
  writer_.add_raw("i8", 1, raw(std::int8_t{-3})).add_raw("u64", 10, raw(std::uint64_t{1} << 40));
  writer_.add_raw("f64", 12, raw(0.1)).add("f32", 0.5f);
  writer_.add("bools", GgufType::boolean, std::vector<std::uint8_t>{1, 0});
  writer_.add("i16s", GgufType::int16, std::vector<std::int16_t>{-5, 7});
  const auto file = open();
  EXPECT_EQ(file.text("general.architecture"), "llama");
  EXPECT_EQ(file.integer("llama.block_count"), 2);
  EXPECT_EQ(file.integer("i8"), -3);
  EXPECT_EQ(file.integer("u64"), std::int64_t{1} << 40);
  EXPECT_EQ(file.number("f64"), 0.1);
  EXPECT_EQ(file.number("f32"), 0.5);
  EXPECT_EQ(file.number("i8"), -3.0);
  EXPECT_EQ(file.boolean("flag"), true);
  EXPECT_EQ(file.texts("tokenizer.ggml.tokens"), (std::vector<std::string_view>{"a", "", "\xff"}));
  EXPECT_EQ(file.numbers("tokenizer.ggml.scores"), (std::vector<float>{1.0f, -2.0f}));
  EXPECT_EQ(file.integers("bools"), (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(file.integers("i16s"), (std::vector<std::int64_t>{-5, 7}));
  EXPECT_EQ(file.integer("absent"), std::nullopt);
  EXPECT_EQ(file.texts("absent"), std::nullopt);
  ASSERT_NE(file.find_tensor("two"), nullptr);
  EXPECT_EQ(file.find_tensor("three"), nullptr);
}

TEST_F(GgufValues, OfAnotherTypeAreRefusedWithTheirByte) {
  writer_.add_raw("large", 10, raw(kMax64));
  writer_.add("large numbers", GgufType::uint64, std::vector<std::uint64_t>{1, kMax64});
  const auto file = open();
  const auto at = [&](const char* key) { return file.find(key)->value.offset; };
  const auto refused = [&](const char* key, const std::string& words, auto read, std::uint64_t further = 0) {
    SCOPED_TRACE(words);
    expect_refused([&] { read(key); }, words, at(key) + further);
  };
  const auto integer = [&](const char* key) { file.integer(key); };
  const auto integers = [&](const char* key) { file.integers(key); };
  refused("general.architecture", "is string; expected a whole number", integer);
  refused("flag", "is boolean; expected a whole number", integer);
  refused("tokenizer.ggml.scores", "is an array of float32; expected a whole number", integer);
  refused("large", "2^63 or more", integer);
  refused("large numbers", "2^63 or more", integers, 8);
  refused("llama.block_count", "is uint32; expected an array of whole numbers", integers);
  refused("tokenizer.ggml.scores", "expected an array of whole numbers", integers);
  refused("flag", "expected a number", [&](const char* key) { file.number(key); });
  refused("llama.block_count", "expected boolean", [&](const char* key) { file.boolean(key); });
  refused("llama.block_count", "expected string", [&](const char* key) { file.text(key); });
  refused("tokenizer.ggml.scores", "expected an array of string", [&](const char* key) { file.texts(key); });
  refused("tokenizer.ggml.tokens", "expected an array of float32", [&](const char* key) { file.numbers(key); });
}

}  // namespace
}  // namespace sharpmax::test
