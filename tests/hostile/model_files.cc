// Well-formed GGUF files whose model makes no sense: each is refused with what was found and what was expected,
// before any memory is taken for it.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "model/transformer/model.h"
#include "sharpmax/error.h"
#include "support/files.h"
#include "support/gguf_writer.h"

namespace sharpmax::test {
namespace {

// The smallest Llama that could run, but for its norms and matrices of layer 0.
struct Parts {
  std::string architecture = "llama";
  std::uint32_t layers = 1, heads = 2, kv_heads = 1, width = 8, hidden = 4, context = 16, head_width = 4,
                turned = 4;
  float epsilon = 1e-5f, base = 10000;
  std::vector<std::uint64_t> embedding = {3, 8};
  std::function<void(GgufWriter&)> more = [](GgufWriter&) {};

  std::string bytes() const {
    GgufWriter file;
    if (!architecture.empty()) file.add("general.architecture", std::string_view(architecture));
    const std::string prefix = architecture + ".";
    file.add(prefix + "block_count", layers).add(prefix + "attention.head_count", heads);
    file.add(prefix + "attention.head_count_kv", kv_heads).add(prefix + "embedding_length", width);
    file.add(prefix + "feed_forward_length", hidden).add(prefix + "context_length", context);
    file.add(prefix + "attention.key_length", head_width).add(prefix + "attention.value_length", head_width);
    file.add(prefix + "rope.dimension_count", turned).add(prefix + "rope.freq_base", base);
    file.add(prefix + "attention.layer_norm_rms_epsilon", epsilon);
    more(file);
    const auto tensor = [&](const char* name, const std::vector<std::uint64_t>& shape) {
      std::uint64_t elements = 1;
      for (const std::uint64_t extent : shape) elements *= extent;
      file.add_tensor(name, GgufWriter::f32, shape, std::string(elements * 4, '\0'));
    };
    tensor("token_embd.weight", embedding);
    tensor("blk.0.attn_norm.weight", {8});
    return file.bytes();
  }
};

struct Wrong {
  const char* name;
  std::function<void(Parts&)> spoil;
  const char* says;
};

void mixture(Parts& p, std::uint32_t experts, std::uint32_t used) {
  p.architecture = "qwen3moe";
  p.more = [=](GgufWriter& f) { f.add("qwen3moe.expert_count", experts).add("qwen3moe.expert_used_count", used); };
}

const Wrong kWrong[] = {
    {"no_architecture", [](Parts& p) { p.architecture = ""; }, "there is no general.architecture"},
    {"unknown_architecture", [](Parts& p) { p.architecture = "mamba"; }, "llama (Llama, SmolLM2, Mistral)"},
    {"no_layers", [](Parts& p) { p.layers = 0; }, "llama.block_count must be between 1 and 2^31, and is 0"},
    {"more_layers_than_tensors", [](Parts& p) { p.layers = 2'000'000'000; },
     "2000000000 layers cannot be in 2 tensors"},
    {"no_heads", [](Parts& p) { p.heads = 0; }, "llama.attention.head_count must be between 1"},
    {"no_key_heads", [](Parts& p) { p.kv_heads = 0; }, "llama.attention.head_count_kv must be between 1"},
    {"key_heads_that_do_not_divide", [](Parts& p) { p.heads = 3, p.kv_heads = 2; },
     "3 query heads cannot share 2 key heads evenly"},
    {"heads_as_wide_as_memory", [](Parts& p) { p.heads = p.head_width = p.turned = 2'000'000'000; },
     "more than any model has"},
    {"more_turned_than_there_are", [](Parts& p) { p.turned = 6; },
     "6 features of a head of 4 cannot be turned"},
    {"odd_number_turned", [](Parts& p) { p.turned = 3; }, "3 features of a head of 4"},
    {"base_of_zero", [](Parts& p) { p.base = 0; }, "the base is 0"},
    {"base_not_a_number", [](Parts& p) { p.base = std::numeric_limits<float>::quiet_NaN(); },
     "the base is nan"},
    {"epsilon_of_zero", [](Parts& p) { p.epsilon = 0; }, "it must be positive"},
    {"embedding_of_another_width",
     [](Parts& p) {
       p.embedding = {3, 7};
     },
     "has shape [3, 7]; expected [3, 8]"},
    {"embedding_of_one_dimension", [](Parts& p) { p.embedding = {8}; }, "has shape [8]"},
    {"missing_tensor", [](Parts&) {}, "there is no tensor 'blk.0.attn_q.weight'"},
    {"unknown_scaling",
     [](Parts& p) { p.more = [](GgufWriter& f) { f.add("llama.rope.scaling.type", "spiral"); }; },
     "scaling 'spiral' is not one of"},
    {"scaling_by_zero",
     [](Parts& p) {
       p.more = [](GgufWriter& f) {
         f.add("llama.rope.scaling.type", "linear").add("llama.rope.scaling.factor", 0.0f);
       };
     },
     "the factor must be positive"},
    {"no_experts", [](Parts& p) { mixture(p, 0, 1); }, "qwen3moe.expert_count must be between 1 and 2^31, and is 0"},
    {"more_experts_used_than_there_are", [](Parts& p) { mixture(p, 4, 5); }, "5 experts of 4 are used for a token"},
    {"experts_that_are_not_counted", [](Parts& p) { p.architecture = "qwen3moe"; }, "qwen3moe.expert_count must be there"},
    {"window_as_text",
     [](Parts& p) { p.more = [](GgufWriter& f) { f.add("llama.attention.sliding_window", "wide"); }; },
     "llama.attention.sliding_window"},
};

class ModelFiles : public testing::TestWithParam<Wrong> {};

TEST_P(ModelFiles, AreRefused) {
  const Folder folder("model-files");
  Parts parts;
  GetParam().spoil(parts);
  put(folder / "m.gguf", parts.bytes());
  try {
    const model::Model model(folder / "m.gguf");
    FAIL() << "was opened";
  } catch (const Error& error) {
    EXPECT_TRUE(error.code() == ErrorCode::bad_file || error.code() == ErrorCode::unsupported);
    EXPECT_NE(std::string(error.what()).find(GetParam().says), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("m.gguf"), std::string::npos) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Defects, ModelFiles, testing::ValuesIn(kWrong),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(RopeScalingText, IsReadOrRefused) {
  using Kind = model::RopeScaling::Kind;
  EXPECT_EQ(model::parse_rope_scaling("none", 64).kind, Kind::none);
  EXPECT_EQ(model::parse_rope_scaling("linear:2", 64).factor, 2);
  EXPECT_EQ(model::parse_rope_scaling("ntk:1.5", 64).kind, Kind::ntk);
  const auto yarn =
      model::parse_rope_scaling("yarn:factor=4,original=32,beta_fast=16,beta_slow=2,attention=1.1", 64);
  EXPECT_EQ(yarn, (model::RopeScaling{.kind = Kind::yarn,
                                      .factor = 4,
                                      .original_length = 32,
                                      .attention_factor = 1.1,
                                      .beta_fast = 16,
                                      .beta_slow = 2}));
  EXPECT_EQ(model::parse_rope_scaling("yarn:4", 64).original_length, 64);
  for (const char* text :
       {"", "spiral:2", "linear", "linear:", "linear:0", "linear:-1", "linear:nan", "linear:2x", "none:1",
        "linear:original=8", "yarn:original=8", "yarn:4,,", "ntk:1e999"})
    EXPECT_THROW(model::parse_rope_scaling(text, 64), Error) << text;
}

}  // namespace
}  // namespace sharpmax::test
