// Settings of a training of small transformers, as plain values. Each setting stands once in a list, with
// its name, meaning and domain; options, files and the fields of a TrainRequest come from that list.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sharpmax/job.h"

namespace sharpmax::train {

// Which sequences; 0 stands for the task's own value.
struct TaskSettings {
  std::string task;
  std::int64_t keys = 0, values = 0, questions = 0;
  std::int64_t least_size = 0, largest_size = 0;

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    constexpr std::string_view kGroup = "Task";
    constexpr double kMost = 1 << 24;
    visit(common({"task",
                  "TASK",
                  kGroup,
                  "Task: flipflop, hops, lookup, majority, member, minimum, mixed, recall, sort, clrs:NAME of CLRS-Text, or a file of records (.jsonl)",
                  {},
                  Field::Kind::value,
                  true}),
          self.task);
    visit(Field{"keys", "N", kGroup, "Number of different keys (default: the task's)", range(2, kMost)},
          self.keys);
    visit(Field{"values", "N", kGroup, "Number of different values (default: the task's)", range(2, 1 << 16)},
          self.values);
    visit(
        Field{"questions", "N", kGroup, "Most questions per sequence (default: the task's)", range(1, 4096)},
        self.questions);
    visit(Field{"least_size", "N", kGroup, "Minimum size in training (default: the task's)", range(1, kMost)},
          self.least_size);
    visit(
        Field{"largest_size", "N", kGroup, "Maximum size in training (default: the task's)", range(1, kMost)},
        self.largest_size);
  }
};

// A pre-norm decoder. Local heads see a window behind them and turn with the position (RoPE); the others see
// everything and have no positions, so nothing but the number of keys changes as sequences grow.
struct DecoderSettings {
  std::int64_t layers = 1, width = 128, heads = 2, local_heads = 0, local_layers = 0, head_width = 64;
  std::int64_t hidden = 0;  // 0: four times the width
  std::int64_t window = 8;
  std::string feed_forward = "gelu";

  // visit(field, member of a, member of b) for each; both have members of these names.
  template <class A, class B, class Visit>
  static void each_pair(A& a, B& b, const Visit& visit) {
    constexpr std::string_view kGroup = "Model (default: the task's)";
    visit(Field{"layers", "N", kGroup, "Number of layers", range(1, 64)}, a.layers, b.layers);
    visit(Field{"width", "N", kGroup, "Number of features per position", range(1, 8192)}, a.width, b.width);
    visit(Field{"heads", "N", kGroup, "Number of heads per layer", range(1, 256)}, a.heads, b.heads);
    visit(Field{"local_heads", "N", kGroup, "Number of them that see a window only", range(0, 256)},
          a.local_heads, b.local_heads);
    visit(Field{"local_layers", "N", kGroup, "Number of first layers whose heads all see a window only",
                range(0, 63)},
          a.local_layers, b.local_layers);
    visit(Field{"head_width", "N", kGroup, "Number of features of a head, even", range(2, 1024)},
          a.head_width, b.head_width);
    visit(Field{"hidden", "N", kGroup, "Features within the feed-forward part (default: 4 times the width)",
                range(1, 65'536)},
          a.hidden, b.hidden);
    visit(Field{"window", "N", kGroup, "Positions that a local head sees, its own included", range(1, 4096)},
          a.window, b.window);
    visit(Field{"feed_forward", "WORD", kGroup, "Feed-forward part: gelu or swiglu",
                one_of({"gelu", "swiglu"})},
          a.feed_forward, b.feed_forward);
  }
  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    each_pair(self, self, [&](const Field& field, auto& value, auto&) { visit(field, value); });
  }
  std::int64_t hidden_width() const noexcept { return hidden > 0 ? hidden : 4 * width; }
  std::int64_t local_heads_in(std::int64_t layer) const noexcept {
    return layer < local_layers ? heads : local_heads;
  }
  // Heads that see everything, of a layer that has such.
  std::int64_t global_heads() const noexcept { return heads - local_heads; }
  std::int64_t global_layers() const noexcept { return global_heads() > 0 ? layers - local_layers : 0; }
};

// AdamW with clipping, a linear warm-up and a cosine that ends at 0.
struct OptimizerSettings {
  std::int64_t steps = 1000, batch = 32, warm_up = 100;
  double learning_rate = 1e-3, weight_decay = 0.0, beta1 = 0.9, beta2 = 0.98, epsilon = 1e-8, clip = 1.0;
  double fine_tuning = 0.5;  // of an arm that is tuned after its training

  template <class A, class B, class Visit>
  static void each_pair(A& a, B& b, const Visit& visit) {
    constexpr std::string_view kGroup = "Training (of every arm)";
    visit(common({"steps", "N", kGroup, "Number of training steps (default: the task's)", range(0, 1e9)}),
          a.steps, b.steps);
    visit(Field{"batch", "N", kGroup, "Number of sequences in a step (default 32)", range(1, 1 << 20)},
          a.batch, b.batch);
    visit(
        Field{"warm_up", "N", kGroup, "Steps in which the learning rate rises (default 100)", range(0, 1e9)},
        a.warm_up, b.warm_up);
    visit(Field{"learning_rate", "X", kGroup, "Largest learning rate (default: the task's)", range(0)},
          a.learning_rate, b.learning_rate);
    visit(Field{"weight_decay", "X", kGroup, "Weight decay of matrices, as in AdamW (default 0)", range(0)},
          a.weight_decay, b.weight_decay);
    visit(Field{"beta1", "X", kGroup, "Adam \u03b2\u2081 (default 0.9)", range(0, 1)}, a.beta1, b.beta1);
    visit(Field{"beta2", "X", kGroup, "Adam \u03b2\u2082 (default 0.98)", range(0, 1)}, a.beta2, b.beta2);
    visit(Field{"epsilon", "X", kGroup, "Adam \u03b5 (default 1e-08)", range(0)}, a.epsilon, b.epsilon);
    visit(Field{"clip", "X", kGroup, "Maximum norm of the gradient; 0: no limit (default 1)", range(0)},
          a.clip, b.clip);
    visit(Field{"fine_tuning", "X", kGroup, "Steps of fine-tuning, as a share of the training (default 0.5)",
                range(0, 100)},
          a.fine_tuning, b.fine_tuning);
  }
  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    each_pair(self, self, [&](const Field& field, auto& value, auto&) { visit(field, value); });
  }
};

// Values that replace those of the task; an empty one replaces nothing.
struct DecoderChanges {
  std::optional<std::int64_t> layers, width, heads, local_heads, local_layers, head_width, hidden, window;
  std::optional<std::string> feed_forward;
};
struct OptimizerChanges {
  std::optional<std::int64_t> steps, batch, warm_up;
  std::optional<double> learning_rate, weight_decay, beta1, beta2, epsilon, clip, fine_tuning;
};

// One way to train: under a normalizer, and perhaps under another one later.
struct Arm {
  std::string name;
  std::string normalizer;  // as AnyNormalizer has it in text
  std::string later;       // empty: none
  bool after = false;      // later: in a fine-tuning after the training, not in its second half

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("name", self.name);
    visit("normalizer", self.normalizer);
    visit("later", self.later);
    visit("after", self.after);
  }
};

struct TestSettings {
  std::vector<std::int64_t> sizes;
  std::vector<std::string> normalizers;
  std::int64_t answers = 0;  // per size, at least; 0: by size
  bool per_head = false;

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    constexpr std::string_view kGroup = "Testing";
    visit(common({"sizes", "N,N...", kGroup, "Sizes of the test sequences (default: the task's)",
                  range(1, 1 << 24)}),
          self.sizes);
    visit(
        common({"normalizers", "TEXT;...", kGroup,
                "Normalizers tested with the same weights, e.g. 'softmax;entropy_target:nats=0.1' (default: "
                "softmax, "
                "adaptive, log_length, entropy_target, hard); that of the training is tested too"}),
        self.normalizers);
    visit(Field{"answers", "N", kGroup,
                "Number of answers per size (default: 4096 up to 1,024 items, 2048 up to 4,096, 1024 beyond)",
                range(1, 1 << 20)},
          self.answers);
    visit(common({"per_head", "", kGroup,
                  "Choose a normalizer per head at sizes up to 4 times the trained one, and test that table "
                  "too"}),
          self.per_head);
  }
};

struct RunSettings {
  std::string preset;
  TaskSettings task;
  DecoderSettings decoder;
  OptimizerSettings optimizer;
  std::vector<Arm> arms;
  std::vector<std::uint64_t> seeds;
  TestSettings test;
};

}  // namespace sharpmax::train
