// One malformed model folder per defect: index, shards, config.json. What is wrong within a .safetensors file
// is in safetensors_files.cc.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <tuple>

#include "model/file/model_file.h"
#include "storage/safetensors.h"
#include "support/files.h"
#include "support/gguf_writer.h"

namespace sharpmax::test {
namespace {

using model::ForeignTypes;
using model::open_model_file;
using model::SafetensorsFolder;
using nlohmann::json;

class HostileFolder : public testing::Test {
 protected:
  void shard(const std::string& file, const std::vector<std::string>& tensors,
             SafetensorType type = SafetensorType::f32) {
    static const double kData[4] = {1, 2, 3, 4};
    std::vector<SafetensorView> views;
    for (const std::string& name : tensors) views.push_back({name, type, {2, 2}, kData});
    write_safetensors(folder_ / file, views);
  }
  void index(const json& weight_map) {
    put(folder_ / "model.safetensors.index.json", json{{"weight_map", weight_map}}.dump());
  }
  // Two shards and their index.
  void two_shards() {
    shard("model-1.safetensors", {"a", "b"});
    shard("model-2.safetensors", {"c"});
    index(good_map_);
  }
  void expect_refusal(const std::string& words, ErrorCode code = ErrorCode::bad_file) {
    try {
      SafetensorsFolder{folder_ / ""};
      ADD_FAILURE() << "was accepted; wanted: " << words;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
      for (const char c : std::string(error.what())) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << error.what();
    }
  }

  Folder folder_{"hostile-folder"};
  json good_map_ = {{"a", "model-1.safetensors"}, {"b", "model-1.safetensors"}, {"c", "model-2.safetensors"}};
};

TEST_F(HostileFolder, GoodShardsAreOneModel) {
  two_shards();
  put(folder_ / "config.json", R"({"model_type": "llama"})");
  for (const char* path : {"", "model.safetensors.index.json"}) {
    const SafetensorsFolder model(folder_ / path);
    ASSERT_EQ(model.tensors().size(), 3u);
    EXPECT_EQ(model.tensors()[2].name, "c");
    ASSERT_NE(model.find_tensor("b"), nullptr);
    EXPECT_EQ(model.find_tensor("b")->bytes.size(), 16u);
    EXPECT_EQ(model.find_tensor("d"), nullptr);
    ASSERT_NE(model.configuration(), nullptr);
    EXPECT_EQ(model.configuration()->at("model_type"), "llama");
  }
}

TEST_F(HostileFolder, OneFileNeedsNoConfiguration) {
  shard("weights.safetensors", {"a"});
  for (const char* path : {"", "weights.safetensors"}) {
    const SafetensorsFolder model(folder_ / path);
    EXPECT_EQ(model.tensors().size(), 1u);
    EXPECT_EQ(model.configuration(), nullptr);
  }
}

TEST_F(HostileFolder, WithoutAModelIsRefused) { expect_refusal("holds no .safetensors file"); }

TEST_F(HostileFolder, WithSeveralFilesAndNoIndexIsRefused) {
  shard("one.safetensors", {"a"});
  shard("two.safetensors", {"b"});
  expect_refusal("holds several files that end in .safetensors");
}

TEST_F(HostileFolder, ShardNamesThatLeaveTheFolderAreRefused) {
  two_shards();
  for (const std::string name :
       {"../model-1.safetensors", "/etc/model.safetensors", "sub/model-1.safetensors",
        "..\\model-1.safetensors", "..", ".", "", "model-1.bin"}) {
    SCOPED_TRACE(name);
    index({{"a", name}});
    expect_refusal("expected the plain name of a .safetensors file");
  }
  index({{"a", std::string("model-1.safetensors\0.safetensors", 32)}});
  expect_refusal("\\x00");
}

TEST_F(HostileFolder, IndexAndShardsThatDisagreeAreRefused) {
  two_shards();
  json missing = good_map_;
  missing["d"] = "model-2.safetensors";
  index(missing);
  expect_refusal("tensor 'd' in 'model-2.safetensors', which has no such tensor");

  json unnamed = good_map_;
  unnamed.erase("b");
  index(unnamed);
  expect_refusal("tensor 'b' is here, but weight_map has it nowhere");

  shard("model-2.safetensors", {"b", "c"});
  index(good_map_);
  expect_refusal("tensor 'b' is here, but weight_map has it in another file");

  json absent = good_map_;
  absent["c"] = "model-3.safetensors";
  index(absent);
  expect_refusal("model-3.safetensors could not be opened", ErrorCode::io);
}

TEST_F(HostileFolder, AnIndexThatIsNoneIsRefused) {
  two_shards();
  const auto index_is = [&](const std::string& text) { put(folder_ / "model.safetensors.index.json", text); };
  index_is("{}");
  expect_refusal("has no object weight_map");
  index_is(R"({"weight_map": ["a"]})");
  expect_refusal("has no object weight_map");
  index_is(R"({"weight_map": {}})");
  expect_refusal("weight_map is empty");
  index_is(R"({"weight_map": {"a": 1}})");
  expect_refusal("weight_map has number for 'a'");
  index_is(R"({"weight_map": {"a": "model-1.safetensors", "a": "model-2.safetensors"}})");
  expect_refusal("'a' appears twice");
  index_is("");
  expect_refusal("at byte 0: the file is not JSON");
}

TEST_F(HostileFolder, AConfigurationThatIsNoneIsRefused) {
  shard("model.safetensors", {"a"});
  const std::string deep(100, '['), closed(100, ']');
  struct {
    std::string text;
    const char* words;
  } const cases[] = {
      {"", "at byte 0: the file is not JSON"},
      {"[]", "found array; expected an object"},
      {"{\"a\": 1,}", "at byte 8: the file is not JSON"},
      {"{\"a\": 1} x", "at byte 9: the file is not JSON"},
      {std::string("{}\0{}", 5), "at byte 2: found a zero byte"},
      {"{\"a\": \"\xff\"}", "the file is not JSON"},
      {"{\"a\": 1, \"a\": 2}", "'a' appears twice"},
      {"{\"a\": NaN}", "at byte 6: the file is not JSON"},
      {"{\"a\": 1e999}", "a number that is too large"},
      {"{\"a\": " + deep + closed + "}", "nested more than 64 deep"},
      {"{\"a\": \"" + std::string(17 << 20, 'x') + "\"}", "expected 16777216 at most"},
  };
  for (const auto& one : cases) {
    put(folder_ / "config.json", one.text);
    expect_refusal(one.words);
  }
}

TEST_F(HostileFolder, IntegerBuffersAreNoWeights) {
  shard("model.safetensors", {"mask"}, SafetensorType::boolean);
  const SafetensorsFolder model(folder_ / "");
  EXPECT_TRUE(model.tensors().empty());
  ASSERT_EQ(model.foreign_tensors().size(), 1u);
  EXPECT_EQ(model.foreign_tensors()[0].type, "BOOL");
}

TEST_F(HostileFolder, WeightsInDoubleAreNotOurs) {
  shard("model.safetensors", {"a"}, SafetensorType::f64);
  expect_refusal("tensor 'a' is of type F64", ErrorCode::unsupported);
  const SafetensorsFolder model(folder_ / "", ForeignTypes::keep);
  EXPECT_EQ(model.foreign_tensors().size(), 1u);
}

TEST_F(HostileFolder, ScalesThatLieApartMustFitTheirWeights) {
  using Shape = std::vector<std::int64_t>;
  static const std::byte kBytes[130 * 300] = {};  // as many as the largest tensor below has
  const auto write = [&](const std::vector<std::tuple<const char*, SafetensorType, Shape>>& tensors) {
    std::vector<SafetensorView> views;
    for (const auto& [name, type, shape] : tensors) views.push_back({name, type, shape, kBytes});
    write_safetensors(folder_ / "model.safetensors", views);
  };
  using enum SafetensorType;
  write({{"e_blocks", u8, {3, 5, 2, 16}}, {"e_scales", u8, {3, 5, 2}}, {"w", f8_e4m3, {3, 33}}});
  const SafetensorsFolder good(folder_ / "");
  ASSERT_EQ(good.tensors().size(), 2u);
  EXPECT_EQ(good.tensors()[0].name, "e");
  EXPECT_EQ(good.tensors()[0].shape, (Shape{3, 5, 64}));
  EXPECT_TRUE(good.foreign_tensors().empty());
  write({{"e_blocks", u8, {3, 5, 2, 16}}});
  expect_refusal("tensor 'e_blocks' holds blocks of MXFP4, and there is no 'e_scales' beside it");
  write({{"e_blocks", u8, {3, 5, 2, 16}}, {"e_scales", u8, {3, 5, 1}}});
  expect_refusal("tensor 'e_scales' is U8 of [3, 5, 1]; scales of these blocks are U8 of [3, 5, 2]");
  write({{"e_blocks", u8, {3, 5, 2, 16}}, {"e_scales", f32, {3, 5, 2}}});
  expect_refusal("tensor 'e_scales' is F32 of");
  write({{"e_blocks", u8, {3, 5, 2, 15}}, {"e_scales", u8, {3, 5, 2}}});  // bytes of something else
  EXPECT_EQ(SafetensorsFolder(folder_ / "").foreign_tensors().size(), 2u);

  write({{"w", f8_e4m3, {3, 5, 7}}});
  expect_refusal("tensor 'w' is F8_E4M3 of [3, 5, 7]; only matrices run here", ErrorCode::unsupported);
  write({{"w", f8_e4m3, {130, 40}}, {"w_scale_inv", f32, {1, 1}}});
  EXPECT_EQ(SafetensorsFolder(folder_ / "").find_tensor("w")->scales.rows, 130);  // one for all
  write({{"w", f8_e4m3, {130, 300}}, {"w_scale_inv", f32, {2, 2}}});
  expect_refusal("tensor 'w_scale_inv' has shape [2, 2]; one scale for 128 x 128 weights of [130, 300] needs [2, 3]");
  write({{"w", f8_e4m3, {130, 300}}, {"w_scale_inv", f16, {2, 3}}});
  expect_refusal("is of type F16; scales must be F32 or BF16", ErrorCode::unsupported);
  write({{"w", f8_e4m3, {130, 300}}, {"w_scale_inv", f32, {2, 3}}});
  for (const char* size : {"[128]", "[128, 0]", "[128, 1e3]", "\"128\"", "[128, 9999999999]"}) {
    put(folder_ / "config.json", fmt::format(R"({{"quantization_config": {{"weight_block_size": {}}}}})", size));
    expect_refusal("weight_block_size of config.json");
  }
  put(folder_ / "config.json", R"({"quantization_config": {"weight_block_size": [128, 100]}})");
  expect_refusal("scales 100 columns at a time; multiples of 32 run here", ErrorCode::unsupported);
}

TEST_F(HostileFolder, FilesAreToldApartByWhatIsInThem) {
  shard("a.gguf", {"x"});  // a name that lies
  EXPECT_EQ(open_model_file(folder_ / "a.gguf").index(), 1u);
  put(folder_ / "b.safetensors", GgufWriter().add("general.architecture", "llama").bytes());
  EXPECT_EQ(open_model_file(folder_ / "b.safetensors").index(), 0u);
  const auto refused = [&](const std::string& bytes, const std::string& words, ErrorCode code) {
    put(folder_ / "c", bytes);
    try {
      open_model_file(folder_ / "c");
      ADD_FAILURE() << "was accepted; wanted: " << words;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  refused("", "start of neither", ErrorCode::bad_file);
  refused("#!/bin/sh\n", "start of neither", ErrorCode::bad_file);
  refused(std::string("PK\x03\x04 and so on"), "never read", ErrorCode::bad_file);
  refused("\x80\x02}q\1.", "never read", ErrorCode::bad_file);
  refused(GgufWriter().add("split.count", std::uint32_t{3}).bytes(), "the first of 3 parts", ErrorCode::bad_file);
}

// A model in several files: every part must say which it is, and all must be there.
TEST_F(HostileFolder, PartsThatDoNotBelongTogetherAreRefused) {
  const auto part = [](std::uint32_t number, std::uint32_t count, const std::string& tensor) {
    GgufWriter file;
    file.add("general.architecture", "llama").add("split.no", number).add("split.count", count);
    file.add("split.tensors.count", std::uint32_t{2});
    file.add_tensor(tensor, GgufWriter::f32, {2}, std::string(8, '\0'));
    return file.bytes();
  };
  const auto first = folder_ / "m-00001-of-00002.gguf", second = folder_ / "m-00002-of-00002.gguf";
  const auto refused = [&](const std::filesystem::path& path, std::string_view words, ErrorCode code) {
    try {
      open_model_file(path);
      ADD_FAILURE() << "was accepted; wanted: " << words;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  put(first, part(0, 2, "a"));
  refused(first, "m-00002-of-00002.gguf", ErrorCode::io);  // missing
  put(second, part(1, 2, "b"));
  EXPECT_EQ(model::tensors_of(open_model_file(first)).size(), 2u);
  refused(second, "part 2 of 2 of a model; give the first", ErrorCode::bad_file);
  put(second, part(1, 3, "b"));
  refused(first, "do not say that it is part 2 of 2", ErrorCode::bad_file);
  put(second, part(1, 2, "a"));
  refused(first, "is in two parts", ErrorCode::bad_file);
  GgufWriter empty;
  empty.add("split.no", std::uint32_t{1}).add("split.count", std::uint32_t{2});
  put(second, empty.bytes());
  refused(first, "hold 1 tensors", ErrorCode::bad_file);
}

}  // namespace
}  // namespace sharpmax::test
