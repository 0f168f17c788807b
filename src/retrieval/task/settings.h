// What a run of max retrieval is told: how heads are trained and how they are tested. Plain values, so
// that a run can be written down, compared with another, and sent.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sharpmax/normalizer.h"

namespace sharpmax::retrieval {

// How an item (priority, one-hot class) and the query scalar become vectors.
enum class Encoder {
  mlp,     // two linear layers with GELU between: paper A
  linear,  // one linear layer
};

enum class Schedule {
  constant,
  cosine,     // from the learning rate to 0 over the run
  geometric,  // from the learning rate to final_learning_rate, the same factor every step
};

// Where the priorities of a set lie. The largest 16 of n uniform priorities lie within about 16/n of
// each other below 1: a small set in a narrow window stands for the top of a large one.
enum class Crowding {
  none,      // every set is U(0, 1): paper A
  anywhere,  // some sets in [place, place + width], the place uniform
  top,       // some sets in [1 - width, 1]
};

enum class Precision { float32, float64 };

struct TrainingSettings {
  Encoder encoder = Encoder::mlp;
  std::int64_t width = 128;  // of every vector within the head
  std::int64_t classes = 10;
  bool scale_scores = true;              // by 1 / sqrt(width)
  AnyNormalizer normalizer = Softmax{};  // learnable parameters are learned

  std::int64_t steps = 100'000;
  std::int64_t batch = 128;  // sets in a step
  std::int64_t least_size = 5;
  std::int64_t largest_size = 16;

  Crowding crowding = Crowding::none;
  double crowded = 0.5;       // the share of sets that are squeezed into a window
  double least_width = 1e-6;  // widths of windows are log-uniform in [least_width, 1]

  double learning_rate = 1e-3;
  Schedule schedule = Schedule::constant;
  double final_learning_rate = 1e-6;  // geometric
  double weight_decay = 1e-3;         // decoupled, as AdamW
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double clip = 0.0;  // of the gradient's norm over all parameters; 0: none
  Precision precision = Precision::float32;

  bool operator==(const TrainingSettings&) const = default;
};

// One way to train, under a name, with as many seeds as wanted.
struct Arm {
  std::string name;
  TrainingSettings training;
};

struct TestSettings {
  std::vector<std::int64_t> sizes;
  std::vector<AnyNormalizer> normalizers;
  double sets_scale = 1.0;  // times sets_at(n)
  std::int64_t heat_map_sets = 32;
  std::int64_t heat_map_items = 16;  // the largest of each set
};

// Sets tested at size n: 8,192 up to 2,048 items, 2,048 up to 16,384, 512 up to 131,072, 128 beyond.
std::int64_t sets_at(std::int64_t n, double scale);

struct RunSettings {
  std::string preset;
  std::vector<Arm> arms;
  std::vector<std::uint64_t> seeds;
  TestSettings test;
};

// "paper": paper A's training. "sharp", "sharp-mlp": our recipe with linear encoders, or with paper A's.
// "crowded-softmax": the sets of our recipe, trained under softmax. Throws Error{bad_argument} for any other.
Arm named_arm(std::string_view name);

// "quick", "paper" or "sharp"; throws Error{bad_argument} for any other.
RunSettings preset(std::string_view name);

// Throws Error{bad_argument} naming the setting, what was found and what was wanted.
void validate(const TrainingSettings& settings);
void validate(const RunSettings& settings);

// The words of the settings on the command line and in files, and back (throws Error{bad_argument}).
std::string_view word(Encoder);
std::string_view word(Schedule);
std::string_view word(Crowding);
std::string_view word(Precision);
Encoder encoder_from(std::string_view word);
Schedule schedule_from(std::string_view word);
Crowding crowding_from(std::string_view word);
Precision precision_from(std::string_view word);

}  // namespace sharpmax::retrieval
