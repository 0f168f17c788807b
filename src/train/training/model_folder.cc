// A trained model as a folder that every command opens: model.safetensors, config.json, tokenizer.json with the task's
// own vocabulary, and normalizers.json with what the normalizer of the training learned.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/numbers.h"
#include "normalizer/of_head.h"
#include "storage/files.h"
#include "storage/safetensors.h"
#include "train/training/trainer.h"

namespace sharpmax::train {
namespace {

using Json = nlohmann::ordered_json;

constexpr float kNeverAnAnswer = -100.0f;  // of the head's bias: e^-100 of a weight

// The tensors of one model, under the names that Hugging Face gives to those of Llama.
class Tensors {
 public:
  explicit Tensors(const std::vector<float>& values) : values_(values) {}

  void add(std::string name, const Part& part) { add(std::move(name), part, 0, part.rows); }
  void add(std::string name, const Part& part, std::int64_t first, std::int64_t rows) {
    std::vector<std::int64_t> shape = {part.columns};
    if (part.is_matrix()) shape.insert(shape.begin(), rows);
    views_.push_back({std::move(name), SafetensorType::f32, std::move(shape),
                      values_.data() + part.offset + first * part.columns});
  }
  void add(std::string name, std::vector<std::int64_t> shape, const std::vector<float>& made) {
    views_.push_back({std::move(name), SafetensorType::f32, std::move(shape), made.data()});
  }
  const std::vector<SafetensorView>& views() const { return views_; }

 private:
  const std::vector<float>& values_;
  std::vector<SafetensorView> views_;
};

void add_layer(Tensors& tensors, const LayerParts& layer, std::int64_t index, bool gated) {
  const auto name = [index](const char* part) { return fmt::format("model.layers.{}.{}.weight", index, part); };
  const std::int64_t inner = layer.query.rows, hidden = layer.down.columns;
  tensors.add(name("input_layernorm"), layer.attention_norm);
  tensors.add(name("self_attn.q_proj"), layer.query);
  tensors.add(name("self_attn.k_proj"), layer.key_value, 0, inner);
  tensors.add(name("self_attn.v_proj"), layer.key_value, inner, inner);
  tensors.add(name("self_attn.o_proj"), layer.attention_out);
  tensors.add(name("post_attention_layernorm"), layer.feed_forward_norm);
  if (gated) tensors.add(name("mlp.gate_proj"), layer.up, 0, hidden);
  tensors.add(name("mlp.up_proj"), layer.up, gated ? hidden : 0, hidden);
  tensors.add(name("mlp.down_proj"), layer.down);
}

// The head over the whole vocabulary: rows of answers where their tokens are.
struct WholeHead {
  std::vector<float> weight, bias;

  WholeHead(const Task& task, const Part& head, const std::vector<float>& values)
      : weight(to_size(task.shape().vocabulary * head.columns)), bias(to_size(task.shape().vocabulary), kNeverAnAnswer) {
    for (std::int64_t answer = 0; answer < head.rows; ++answer) {
      const auto token = static_cast<std::int64_t>(task.token_of_answer(static_cast<std::int32_t>(answer)));
      std::copy_n(values.data() + head.offset + answer * head.columns, head.columns, weight.data() + token * head.columns);
      bias[to_size(token)] = 0.0f;
    }
  }
};

Json config_of(const TrainingPlan& plan, const Task& task) {
  const DecoderSettings& s = plan.decoder;
  const TaskShape shape = task.shape();
  return {{"architectures", {"SharpmaxSmallDecoder"}},
          {"model_type", "sharpmax_small_decoder"},
          {"torch_dtype", "float32"},
          {"vocab_size", shape.vocabulary},
          {"hidden_size", s.width},
          {"num_hidden_layers", s.layers},
          {"num_attention_heads", s.heads},
          {"num_key_value_heads", s.heads},
          {"head_dim", s.head_width},
          {"intermediate_size", s.hidden_width()},
          {"hidden_act", s.feed_forward == "swiglu" ? "silu" : "gelu_pytorch_tanh"},
          {"rms_norm_eps", kNormEpsilon},
          {"rope_theta", 10000.0},
          {"max_position_embeddings", task.places(plan.task.largest_size, Asking::training).back() + 1},
          {"local_heads", s.local_heads},
          {"local_layers", s.local_layers},
          {"local_window", s.window},
          {"tokens_per_place", shape.slots},
          {"tie_word_embeddings", false},
          {"training", Json::parse(plan_text(plan))}};
}

// Words between spaces, each one token.
Json tokenizer_of(const Task& task) {
  constexpr const char* kSpace = "\u2581";
  Json vocabulary = Json::object();
  for (std::int64_t i = 0; i < task.shape().vocabulary; ++i)
    vocabulary[kSpace + task.token_text(static_cast<std::int32_t>(i))] = i;
  const Json space = {{"type", "Metaspace"}, {"replacement", kSpace}, {"prepend_scheme", "always"}, {"split", true}};
  return {{"version", "1.0"},
          {"added_tokens", Json::array()},
          {"normalizer", {{"type", "Replace"}, {"pattern", {{"Regex", "\\s+"}}}, {"content", " "}}},
          {"pre_tokenizer", space},
          {"post_processor", nullptr},
          {"decoder", space},
          {"model", {{"type", "BPE"}, {"ignore_merges", true}, {"vocab", std::move(vocabulary)}, {"merges", Json::array()}}}};
}

// Local heads keep softmax.
Json table_of(const TrainingPlan& plan, std::span<const ChosenHead> of_heads) {
  Json heads = Json::array();
  for (const ChosenHead& one : of_heads)
    heads.push_back({{"layer", one.layer}, {"head", plan.decoder.local_heads + one.head}, {"normalizer", one.normalizer}});
  return {{"schema", "sharpmax.normalizers/1"},
          {"model", {{"layers", plan.decoder.layers}, {"heads", plan.decoder.heads}}},
          {"default", "softmax"},
          {"heads", std::move(heads)}};
}

}  // namespace

std::vector<ChosenHead> learned_by_head(const DecoderSettings& decoder, std::span<const AnyNormalizer> normalizers) {
  std::vector<ChosenHead> heads;
  for (std::int64_t layer = decoder.local_layers; layer < decoder.layers; ++layer)
    for (std::int64_t head = 0; head < decoder.global_heads(); ++head)
      heads.push_back({layer, head, normalizer_of_head(normalizers[to_size(layer)], head).text()});
  return heads;
}

void save_model(const std::filesystem::path& folder, const TrainingPlan& plan, const TrainingState& state,
                const std::vector<AnyNormalizer>& normalizers, std::span<const ChosenHead> chosen) {
  const auto task = task_kind(plan.task.task).make(plan.task);
  const Layout layout(plan.decoder, task->shape());
  std::filesystem::create_directories(folder);
  Tensors tensors(state.parameters);
  tensors.add("model.embed_tokens.weight", layout.embedding());
  for (std::int64_t i = 0; i < plan.decoder.layers; ++i)
    add_layer(tensors, layout.layer(i), i, plan.decoder.feed_forward == "swiglu");
  tensors.add("model.norm.weight", layout.final_norm());
  if (task->shape().slots == 1 && task->shape().parts == 1) {
    const WholeHead head(*task, layout.head(), state.parameters);
    const std::int64_t vocabulary = task->shape().vocabulary;
    tensors.add("lm_head.weight", {vocabulary, plan.decoder.width}, head.weight);
    tensors.add("lm_head.bias", {vocabulary}, head.bias);
    write_safetensors(folder / "model.safetensors", tensors.views(), {{"format", "pt"}});
    write_text(folder / "tokenizer.json", tokenizer_of(*task).dump(1) + "\n");
  } else {
    tensors.add("answer_head.weight", layout.head());
    write_safetensors(folder / "model.safetensors", tensors.views(), {{"format", "pt"}});
  }
  write_text(folder / "normalizers.json", table_of(plan, learned_by_head(plan.decoder, normalizers)).dump(1) + "\n");
  if (!chosen.empty()) write_text(folder / kPerHeadFile, table_of(plan, chosen).dump(1) + "\n");
  write_text(folder / "config.json", config_of(plan, *task).dump(1) + "\n");  // last: a folder with one is whole
}

}  // namespace sharpmax::train
