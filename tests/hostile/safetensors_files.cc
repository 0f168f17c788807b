// One malformed .safetensors file per defect, each named for it: refused as Error{bad_file}, with the byte.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "sharpmax/error.h"
#include "storage/safetensors.h"
#include "support/files.h"
#include "support/random.h"

namespace sharpmax::test {
namespace {

using namespace std::string_literals;

std::string length_of(std::uint64_t length) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(length >> (8 * i) & 0xff);
  return bytes;
}

std::string file_of(const std::string& header, std::size_t data = 0) {
  return length_of(header.size()) + header + std::string(data, '\1');
}

std::string tensor_entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

// One tensor "a" of two floats, with one field in another's place.
std::string one(const std::string& dtype, const std::string& shape = "[2]",
                const std::string& offsets = "[0,8]", std::size_t data = 8) {
  return file_of(R"({"a":)" + tensor_entry(dtype, shape, offsets) + "}", data);
}

std::string two(const std::string& first, const std::string& second, std::size_t data = 16) {
  return file_of(
      R"({"a":)" + tensor_entry(R"("F32")", "[2]", first) + R"(,"b":)" + tensor_entry(R"("F32")", "[2]", second) + "}",
      data);
}

SafetensorHeader parse_tensors(const std::string& file) {
  return parse_safetensors_header(std::as_bytes(std::span(file)), "file");
}

struct TensorDefect {
  const char* name;
  std::string file;
  std::uint64_t byte;  // where the complaint must point
  const char* words;   // and what it must say
};

// Where the name, the dtype, the shape's bracket and the first offset of one() stand.
//   bytes 0-7 length | 8 {"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}
constexpr std::uint64_t kName = 9, kType = 22, kShape = 36, kOffsets = 56;

std::vector<TensorDefect> of_the_tensor_frame() {
  const std::string f32 = R"("F32")";
  const std::string good = one(f32);
  return {
      {"Empty", "", 0, "within the header's length"},
      {"LengthCutShort", good.substr(0, 7), 7, "within the header's length"},
      {"HeaderLengthZero", length_of(0) + "{}", 0, "length 0"},
      {"HeaderOverTheLimit", length_of(kSafetensorHeaderLimit + 1) + "{}", 0, "at most 100000000"},
      {"HeaderPastTheEnd", length_of(100) + "{}", 0, "but 2 bytes are left"},
      {"HeaderLengthOfAllOnes", std::string(8, '\xff') + "{}", 0, "at most"},
      {"HeaderNotABrace", file_of("[]"), 8, "starts with '['; expected '{'"},
      {"HeaderStartsWithSpace", file_of(" {}"), 8, "expected '{'"},
      {"HeaderStartsWithByteOrderMark", file_of("\xef\xbb\xbf{}"), 8, "'\\xef'"},
      {"HeaderNeverCloses", file_of(R"({"a":)"), 13, "not JSON"},
      {"HeaderNotJson", file_of("{a}"), 9, "not JSON"},
      {"HeaderNotUtf8", file_of("{\"\xff\":1}"), 10, "not JSON"},
      {"TwoObjects", file_of("{}{}"), 10, "not JSON"},
      {"ZeroByteAfterTheBrace", file_of("{}\0\0"s), 10, "follows the closing brace"},
      {"TrailingBytes", file_of("{}", 3), 10, "but 3 bytes follow"},
      {"TrailingBytesAfterTensors", one(f32, "[2]", "[0,8]", 9), good.size(), "but 1 bytes follow"},
      {"DataCutShort", one(f32, "[2]", "[0,8]", 7), kName, "ends at 8 of the data, but the file holds 7"},
      {"Hole", two("[0,8]", "[12,20]", 20), 0, "after a hole"},
      {"HoleAtTheBeginning", one(f32, "[2]", "[4,12]", 12), kName, "after a hole"},
      {"Overlap", two("[0,8]", "[4,12]", 12), 0, "within another tensor"},
      {"SamePlaceTwice", two("[0,8]", "[0,8]", 8), 0, "within another tensor"},
  };
}

std::vector<TensorDefect> of_a_tensor_entry() {
  const std::string f32 = R"("F32")";
  const auto fields = [](const std::string& text) { return file_of(R"({"a":{)" + text + "}}", 8); };
  return {
      {"EntryIsANumber", file_of(R"({"a":1})"), 13, "found the number 1"},
      {"EntryIsNull", file_of(R"({"a":null})"), 13, "found null"},
      {"EntryIsAList", file_of(R"({"a":[]})"), 13, "found '['"},
      {"NameTwice", two("[0,8]", "[8,16]").replace(62, 3, R"("a")"), 62, "'a' is named twice"},
      {"NoType", fields(R"("shape":[2],"data_offsets":[0,8])"), kName, "no dtype"},
      {"NoShape", fields(R"("dtype":"F32","data_offsets":[0,8])"), kName, "no shape"},
      {"NoOffsets", fields(R"("dtype":"F32","shape":[2])"), kName, "no data_offsets"},
      {"TypeTwice", fields(R"("dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8])"), 28,
       "dtype twice"},
      {"ShapeTwice", fields(R"("dtype":"F32","shape":[2],"shape":[2],"data_offsets":[0,8])"), 40,
       "shape twice"},
      {"UnknownField", fields(R"("colour":1)"), 14, "'colour'"},
      {"UnknownType", one(R"("F31")"), kType, "dtype 'F31'; expected one of"},
      {"TypeNotText", one("32"), kType, "in quotes"},
      {"ShapeNotAList", one(f32, "2"), kShape, "expected '[' and shape"},
      {"ShapeNested", one(f32, "[[2]]"), kShape + 1, "found '['"},
      {"ShapeNestedDeeply", one(f32, std::string(100000, '[')), kShape + 1, "found '['"},
      {"ShapeNegative", one(f32, "[-2]"), kShape + 1, "found the number -2"},
      {"ShapeFraction", one(f32, "[2.0]"), kShape + 1, "'2.0'"},
      {"ShapeBeyond64Bits", one(f32, "[99999999999999999999]"), kShape + 1, "'99999999999999999999'"},
      {"ShapeBeyond63Bits", one(f32, "[9223372036854775808]"), kShape + 1, "below 2^63"},
      {"ShapeText", one(f32, R"(["2"])"), kShape + 1, "found '2'"},
      {"ShapeOverflowsInProduct", one(f32, "[4294967296,4294967296]"), kName, "64 bits"},
      {"ShapeOverflowsInBytes", one(f32, "[4611686018427387904]"), kName, "64 bits"},
      {"ShapeOverflowsBesideZero", one(f32, "[0,4294967296,4294967296]", "[0,0]", 0), kName, "64 bits"},
      {"ShapeOf33Dimensions",
       one(f32,
           [] {
             std::string s = "[2";
             for (int i = 0; i < 32; ++i) s += ",1";
             return s + "]";
           }()),
       0, "more than 32"},
      {"ShapeLargerThanTheBytes", one(f32, "[3]"), kName, "ask for 12 bytes, its data_offsets for 8"},
      {"ShapeSmallerThanTheBytes", one(f32, "[1]"), kName, "ask for 4 bytes, its data_offsets for 8"},
      {"TypeLargerThanTheBytes", one(R"("F64")"), kName, "ask for 16 bytes"},
      {"OffsetsReversed", one(f32, "[2]", "[8,0]"), kName, "must not come first"},
      {"OffsetsPastTheEnd", one(f32, "[2]", "[8,16]"), kName, "ends at 16"},
      {"OffsetsNegative", one(f32, "[2]", "[-8,0]"), kOffsets, "found the number -8"},
      {"OneOffset", one(f32, "[2]", "[0]"), kName, "hold 1 numbers"},
      {"ThreeOffsets", one(f32, "[2]", "[0,8,8]"), 0, "more than 2"},
      {"MetadataNotAnObject", file_of(R"({"__metadata__":"x"})"), 24, "words of __metadata__"},
      {"MetadataNotText", file_of(R"({"__metadata__":{"a":1}})"), 29, "text as the value of 'a'"},
      {"MetadataNested", file_of(R"({"__metadata__":{"a":{"b":"c"}}})"), 29, "found '{'"},
      {"MetadataKeyTwice", file_of(R"({"__metadata__":{"a":"x","a":"y"}})"), 33, "'a' twice"},
      {"MetadataTwice", file_of(R"({"__metadata__":{},"__metadata__":{}})"), 27, "named twice"},
      {"UnprintableName", file_of("{\"\\u001b[31m\":1}"), 22, "\\x1b"},
  };
}

TEST(SafetensorsFiles, EveryDefectIsOneErrorThatNamesTheByte) {
  std::vector<TensorDefect> all = of_the_tensor_frame();
  for (const TensorDefect& defect : of_a_tensor_entry()) all.push_back(defect);
  for (const TensorDefect& defect : all) {
    SCOPED_TRACE(defect.name);
    expect_refused([&] { parse_tensors(defect.file); }, defect.words, defect.byte);
  }
}

TEST(SafetensorsFiles, EveryPrefixOfASoundFileIsRefused) {
  const std::string file = two("[0,8]", "[8,16]");
  ASSERT_EQ(parse_tensors(file).tensors.size(), 2u);
  for (std::size_t length = 0; length < file.size(); ++length) {
    EXPECT_THROW(parse_tensors(file.substr(0, length)), Error) << length;
  }
}

TEST(SafetensorsFiles, WhatOthersWriteIsRead) {
  EXPECT_EQ(parse_tensors(file_of("{}")).tensors.size(), 0u);
  EXPECT_EQ(parse_tensors(file_of("{} \n\t  ")).tensors.size(), 0u);
  EXPECT_EQ(parse_tensors(one(R"("F32")", "[]", "[0,4]", 4)).tensors[0].elements, 1u);
  EXPECT_EQ(parse_tensors(one(R"("F32")", "[0,7]", "[0,0]", 0)).tensors[0].elements, 0u);
  const SafetensorHeader swapped = parse_tensors(two("[8,16]", "[0,8]"));  // in any order of names
  EXPECT_EQ(swapped.tensors[0].name, "b");
  const SafetensorHeader spaced =
      parse_tensors(file_of("{ \"__metadata__\" : { \"format\" : \"pt\" } , \"x\" :\n{\"shape\": [ 1 , 2 ], "
                    "\"data_offsets\" : [0, 4],\"dtype\":\"BF16\"} }   ",
                    4));
  EXPECT_EQ(spaced.metadata.at("format"), "pt");
  EXPECT_EQ(spaced.tensors[0].type, SafetensorType::bf16);
}

struct Owned {
  SafetensorView view;
  std::string bytes;
};

Owned random_tensor(Random& random, const std::string& name) {
  constexpr SafetensorType kAll[] = {SafetensorType::f64,  SafetensorType::f32,    SafetensorType::f16,
                                     SafetensorType::bf16, SafetensorType::f8_e4m3, SafetensorType::i64, SafetensorType::i32,
                                     SafetensorType::u8,   SafetensorType::boolean};
  Owned tensor{.view = {.name = name, .type = kAll[random.size(0, 7)]}};
  std::size_t elements = 1;
  for (std::size_t rank = random.size(0, 3); rank > 0; --rank) {
    tensor.view.shape.push_back(static_cast<std::int64_t>(random.size(0, 5)));
    elements *= static_cast<std::size_t>(tensor.view.shape.back());
  }
  for (std::size_t i = 0; i < elements * size_of(tensor.view.type); ++i)
    tensor.bytes += static_cast<char>(random.size(0, 1));
  return tensor;
}

TEST(SafetensorsFiles, WhatIsWrittenReadsBackAndIsAligned) {
  const Folder folder("safetensors");
  for_each_seed(50, [&](Random& random) {
    std::vector<Owned> tensors;
    for (std::size_t i = random.size(0, 6); i > 0; --i)
      tensors.push_back(random_tensor(random, "tensor \"" + std::to_string(i) + "\"\n\xc3\xa9"));
    std::vector<SafetensorView> views;
    for (Owned& tensor : tensors) {
      tensor.view.data = tensor.bytes.data();
      views.push_back(tensor.view);
    }
    const SafetensorMetadata metadata = {{"format", "test"}, {"settings", "{\"a\": [1, \"\\n\"]}"}};
    write_safetensors(folder / "a.safetensors", views, metadata);
    const SafetensorsFile file(folder / "a.safetensors");
    EXPECT_EQ(file.metadata(), metadata);
    ASSERT_EQ(file.tensors().size(), tensors.size());
    for (const Owned& tensor : tensors) {
      const SafetensorEntry* found = file.find(tensor.view.name);
      ASSERT_NE(found, nullptr);
      EXPECT_EQ(found->type, tensor.view.type);
      EXPECT_EQ(found->shape, tensor.view.shape);
      EXPECT_EQ(found->begin % size_of(found->type), 0u);
      const auto bytes = file.bytes(*found);
      ASSERT_EQ(bytes.size(), tensor.bytes.size());
      EXPECT_TRUE(bytes.empty() || std::memcmp(bytes.data(), tensor.bytes.data(), bytes.size()) == 0);
    }
    EXPECT_EQ(file.find("no such"), nullptr);
  });
}

ErrorCode code_of_tensors(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorCode::unsupported;
}

TEST(SafetensorsFiles, FoldersDevicesAndNamesThatDoNotDoAreRefusedInWords) {
  const Folder folder("safetensors");
  EXPECT_EQ(code_of_tensors([&] { SafetensorsFile file(folder / "missing"); }), ErrorCode::io);
  EXPECT_EQ(code_of_tensors([&] { SafetensorsFile file(folder / ""); }), ErrorCode::bad_file);
  EXPECT_EQ(code_of_tensors([] { SafetensorsFile file("/dev/zero"); }), ErrorCode::bad_file);
  const float number = 1;
  const auto writes = [&](std::vector<SafetensorView> tensors) {
    return code_of_tensors([&] { write_safetensors(folder / "b", tensors); });
  };
  const SafetensorView scalar = {.name = "x", .data = &number};
  EXPECT_EQ(writes({scalar, scalar}), ErrorCode::bad_argument);
  EXPECT_EQ(writes({{.name = "__metadata__", .data = &number}}), ErrorCode::bad_argument);
  EXPECT_EQ(writes({{.name = "\xff", .data = &number}}), ErrorCode::bad_argument);
  EXPECT_EQ(writes({{.name = "x", .shape = {-1}, .data = &number}}), ErrorCode::bad_argument);
  EXPECT_FALSE(std::filesystem::exists(folder / "b"));
  EXPECT_EQ(code_of_tensors([&] { write_safetensors("/dev/full", std::vector{scalar}); }), ErrorCode::io);
}

}  // namespace
}  // namespace sharpmax::test
