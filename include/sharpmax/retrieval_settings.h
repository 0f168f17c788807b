// Settings of a run of max retrieval: how heads are trained and how they are tested. Plain values, so that a run can be
// written down, compared with another, and sent. Each setting is listed once, with its name, meaning and domain: files,
// options and keywords come from that list.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sharpmax/job.h"
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
// Where the priorities of a set lie. The largest 16 of n uniform priorities lie within about 16/n of each other below 1: a
// small set in a narrow window stands for the top of a large one.
enum class Crowding {
  none,      // every set is U(0, 1): paper A
  anywhere,  // some sets in [place, place + width], the place uniform
  top,       // some sets in [1 - width, 1]
};
enum class Precision { float32, float64 };

// Words for the values of an enumeration, in its order, as files, options and keywords have them.
inline constexpr std::array<std::string_view, 2> kEncoders = {"mlp", "linear"};
inline constexpr std::array<std::string_view, 3> kSchedules = {"constant", "cosine", "geometric"};
inline constexpr std::array<std::string_view, 3> kCrowdings = {"none", "anywhere", "top"};
inline constexpr std::array<std::string_view, 2> kPrecisions = {"float32", "float64"};

inline constexpr std::int64_t kLargestWidth = 4096;  // four matrices of this many squared
inline constexpr std::int64_t kLargestClasses = 4096;
inline constexpr std::int64_t kLargestBatch = 1 << 20;
inline constexpr std::int64_t kLargestTrainingSize = 1 << 20;
inline constexpr std::int64_t kLargestTestSize = std::int64_t{1} << 30;  // so many items of a set have numbers of their own

struct TrainingSettings {
  Encoder encoder = Encoder::mlp;
  std::int64_t width = 128;
  std::int64_t classes = 10;
  bool scale_scores = true;
  AnyNormalizer normalizer = Softmax{};

  std::int64_t steps = 100'000;
  std::int64_t batch = 128;
  std::int64_t least_size = 5;
  std::int64_t largest_size = 16;

  Crowding crowding = Crowding::none;
  double crowded = 0.5;
  double least_width = 1e-6;

  double learning_rate = 1e-3;
  Schedule schedule = Schedule::constant;
  double final_learning_rate = 1e-6;
  double weight_decay = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double clip = 0.0;
  Precision precision = Precision::float32;

  bool operator==(const TrainingSettings&) const = default;

  // visit(field, member of a, member of b) for each; both have members of these names.
  template <class A, class B, class Visit>
  static void each_pair(A& a, B& b, const Visit& visit) {
    constexpr std::string_view kGroup = "Training (of every arm)";
    const auto words = [](const auto& list) { return one_of(std::vector<std::string_view>(list.begin(), list.end())); };
    const auto most = [](std::int64_t number) { return static_cast<double>(number); };
    visit(Field{"encoder", "WORD", kGroup, "Item and query encoder: mlp (two layers, GELU) or linear", words(kEncoders)},
          a.encoder, b.encoder);
    visit(Field{"width", "N", kGroup, "Number of features of every vector in the head", range(1, most(kLargestWidth))}, a.width,
          b.width);
    visit(Field{"classes", "N", kGroup, "Number of classes that an item may have", range(2, most(kLargestClasses))}, a.classes,
          b.classes);
    visit(Field{"scale_scores", "BOOL", kGroup, "Whether scores are multiplied by 1/sqrt(width): true or false"},
          a.scale_scores, b.scale_scores);
    visit(common({"normalizer", "TEXT", kGroup,
                  "Normalizer that the head is trained with; its parameters are learned"}),
          a.normalizer, b.normalizer);
    visit(common({"steps", "N", kGroup, "Number of training steps", range(0)}), a.steps, b.steps);
    visit(Field{"batch", "N", kGroup, "Number of sets in a step", range(1, most(kLargestBatch))}, a.batch, b.batch);
    visit(Field{"least_size", "N", kGroup, "Minimum number of items in a training set", range(1)}, a.least_size, b.least_size);
    visit(Field{"largest_size", "N", kGroup, "Maximum number of items in a training set", range(1, most(kLargestTrainingSize))},
          a.largest_size, b.largest_size);
    visit(Field{"crowding", "WORD", kGroup, "Window that some training sets are squeezed into: none, anywhere or top",
                words(kCrowdings)},
          a.crowding, b.crowding);
    visit(Field{"crowded", "X", kGroup, "Share of training sets that are squeezed", range(0, 1)}, a.crowded, b.crowded);
    visit(Field{"least_width", "X", kGroup, "Minimum width of a window; widths are log-uniform from here to 1",
                range(1e-12, 1)},
          a.least_width, b.least_width);
    visit(Field{"learning_rate", "X", kGroup, "Adam learning rate at the first step"}, a.learning_rate, b.learning_rate);
    visit(Field{"schedule", "WORD", kGroup, "Learning rate schedule: constant, cosine or geometric", words(kSchedules)},
          a.schedule, b.schedule);
    visit(Field{"final_learning_rate", "X", kGroup, "Learning rate at the last step, for the geometric schedule"},
          a.final_learning_rate, b.final_learning_rate);
    visit(Field{"weight_decay", "X", kGroup, "Weight decay, decoupled as in AdamW", range(0)}, a.weight_decay, b.weight_decay);
    visit(Field{"beta1", "X", kGroup, "Adam \u03b2\u2081"}, a.beta1, b.beta1);
    visit(Field{"beta2", "X", kGroup, "Adam \u03b2\u2082"}, a.beta2, b.beta2);
    visit(Field{"epsilon", "X", kGroup, "Adam \u03b5"}, a.epsilon, b.epsilon);
    visit(Field{"clip", "X", kGroup, "Maximum norm of the gradient over all parameters; 0: no limit", range(0)}, a.clip,
          b.clip);
    visit(Field{"precision", "WORD", kGroup, "Precision of training: float32 or float64", words(kPrecisions)}, a.precision,
          b.precision);
  }
  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    each_pair(self, self, [&](const Field& field, auto& value, auto&) { visit(field, value); });
  }
};

// Values that replace those of every arm; an empty one replaces nothing.
struct TrainingChanges {
  std::optional<Encoder> encoder;
  std::optional<std::int64_t> width, classes;
  std::optional<bool> scale_scores;
  std::optional<AnyNormalizer> normalizer;
  std::optional<std::int64_t> steps, batch, least_size, largest_size;
  std::optional<Crowding> crowding;
  std::optional<double> crowded, least_width, learning_rate;
  std::optional<Schedule> schedule;
  std::optional<double> final_learning_rate, weight_decay, beta1, beta2, epsilon, clip;
  std::optional<Precision> precision;
};

// One way to train, under a name, with any number of seeds.
struct Arm {
  std::string name;
  TrainingSettings training;
};

struct TestSettings {
  std::vector<std::int64_t> sizes;
  std::vector<AnyNormalizer> normalizers;
  double sets_scale = 1.0;
  std::int64_t heat_map_sets = 32;
  std::int64_t heat_map_items = 16;

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    constexpr std::string_view kGroup = "Testing";
    constexpr double kMost = 1 << 16;
    visit(common({"sizes", "N,N...", kGroup, "Numbers of items in a test set (default: the preset's)",
                  range(1, static_cast<double>(kLargestTestSize))}),
          self.sizes);
    visit(common({"normalizers", "TEXT;...", kGroup,
                  "Normalizers tested on the same scores, e.g. 'softmax;top_k:k=4,beta=2' (default: the preset's); that of the "
                  "training is tested with what it learned"}),
          self.normalizers);
    visit(Field{"sets_scale", "X", kGroup,
                "Factor of the number of test sets: 8192 up to 2,048 items, 2048 up to 16,384, 512 up to 131,072, 128 beyond",
                range(1e-9, 1024)},
          self.sets_scale);
    visit(Field{"heat_map_sets", "N", kGroup, "Number of sets whose weights are kept (default 32)", range(0, kMost)},
          self.heat_map_sets);
    visit(Field{"heat_map_items", "N", kGroup, "Number of items of each, the largest (default 16)", range(1, kMost)},
          self.heat_map_items);
  }
};

// As TrainingChanges, for the tests; an empty list replaces nothing.
struct TestChanges {
  std::vector<std::int64_t> sizes;
  std::vector<AnyNormalizer> normalizers;
  std::optional<double> sets_scale;
  std::optional<std::int64_t> heat_map_sets, heat_map_items;
};

struct RunSettings {
  std::string preset;
  std::vector<Arm> arms;
  std::vector<std::uint64_t> seeds;
  TestSettings test;
};

// Number of sets tested at size n.
std::int64_t sets_at(std::int64_t n, double scale);

// "paper": paper A's training. "sharp", "sharp-mlp": our recipe with linear encoders, or with paper A's. "crowded-softmax":
// the sets of our recipe, trained under softmax. Throws Error{bad_argument} for any other.
Arm named_arm(std::string_view name);

// "quick", "paper" or "sharp"; throws Error{bad_argument} for any other.
RunSettings preset(std::string_view name);

}  // namespace sharpmax::retrieval
