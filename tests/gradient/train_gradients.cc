// The gradient of a whole transformer in double, against central differences of its loss, for every
// normalizer that an arm trains with. Rules that choose a temperature have their full derivative here: the
// stopped one is not that of anything.
//
// A central difference D(h) errs by a multiple of h^2 and so D(2h) by four times as much: their difference
// bounds the truncation. Cancellation adds a few eps |loss| / h.
#include <gtest/gtest.h>

#include <cmath>

#include "train/decoder/decoder.h"

namespace sharpmax::train {
namespace {

constexpr double kTrainStep = 0x1p-17;
constexpr double kTrainCancellation = 256.0 * 0x1p-52 / kTrainStep;

struct TrainSlope {
  double value = 0.0, doubt = 0.0;
};
template <class F>
TrainSlope train_slope(const F& f) {
  const double near = (f(kTrainStep) - f(-kTrainStep)) / (2.0 * kTrainStep);
  const double far = (f(2.0 * kTrainStep) - f(-2.0 * kTrainStep)) / (4.0 * kTrainStep);
  return {near, std::abs(far - near) + kTrainCancellation};
}

struct TrainCase {
  const char* name;
  TaskSettings task;
  DecoderSettings decoder;
  std::int64_t size;
};

std::vector<TrainCase> cases() {
  return {
      {"one layer, GELU",
       {.task = "lookup", .keys = 7, .values = 3, .questions = 3},
       {.layers = 1, .width = 6, .heads = 2, .head_width = 3, .hidden = 5},
       5},
      {"two layers, local and global heads, SwiGLU",
       {.task = "recall", .keys = 6, .values = 3, .questions = 2},
       {.layers = 2,
        .width = 5,
        .heads = 3,
        .local_heads = 1,
        .head_width = 4,
        .hidden = 4,
        .window = 3,
        .feed_forward = "swiglu"},
       4},
      {"a layer of local heads below one that sees everything",
       {.task = "recall", .keys = 6, .values = 3, .questions = 2},
       {.layers = 2, .width = 5, .heads = 2, .local_layers = 1, .head_width = 4, .hidden = 4, .window = 2},
       4},
  };
}

class TrainGradientsTest : public testing::TestWithParam<std::string> {};

TEST_P(TrainGradientsTest, AgreeWithFiniteDifferencesForEveryParameter) {
  const AnyNormalizer normalizer = AnyNormalizer::parse(GetParam());
  for (const TrainCase& c : cases()) {
    SCOPED_TRACE(c.name);
    const auto task = task_kind(c.task.task).make(c.task);
    Batch batch;
    draw_batch(*task, {.seed = 3, .count = 2, .size = c.size}, batch);
    Decoder<double> decoder(c.decoder, task->shape(), 1);
    const std::vector<float> initial = initial_parameters(c.decoder, task->shape(), 11);
    std::vector<double> parameters(initial.begin(), initial.end()), gradient(parameters.size());
    const std::vector<AnyNormalizer> normalizers(static_cast<std::size_t>(c.decoder.layers), normalizer);
    decoder.learn(parameters, normalizers, batch, gradient, {});
    for (const Part& part : decoder.layout().parts()) {
      for (std::int64_t i = part.offset; i < part.offset + part.size(); ++i) {
        double& x = parameters[static_cast<std::size_t>(i)];
        const double kept = x;
        const TrainSlope slope = train_slope([&](double shift) {
          x = kept + shift;
          return decoder.measure(parameters, normalizers, batch).loss;
        });
        x = kept;
        ASSERT_NEAR(gradient[static_cast<std::size_t>(i)], slope.value, slope.doubt)
            << part.name << " at " << i - part.offset;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OfEveryArm, TrainGradientsTest,
                         testing::Values("softmax", "ssmax:s=0.4", "entmax15", "asentmax:beta=0.2",
                                         "adaptive:gradient=full", "entropy_target:gradient=full"),
                         [](const auto& test) { return test.param.substr(0, test.param.find(':')); });

TEST(TrainGradients, OfWhatANormalizerLearnsAgreeWithFiniteDifferences) {
  for (const TrainCase& c : cases()) {
    SCOPED_TRACE(c.name);
    const auto task = task_kind(c.task.task).make(c.task);
    Batch batch;
    draw_batch(*task, {.seed = 3, .count = 2, .size = c.size}, batch);
    Decoder<double> decoder(c.decoder, task->shape(), 1);
    const std::vector<float> initial = initial_parameters(c.decoder, task->shape(), 11);
    const std::vector<double> parameters(initial.begin(), initial.end());
    std::vector<double> gradient(parameters.size());
    const auto layers = static_cast<std::size_t>(c.decoder.layers),
               heads = static_cast<std::size_t>(c.decoder.global_heads());
    std::vector<double> values(layers * 2 * heads), d_values(values.size());  // s and b of ssmax
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.3 + 0.1 * static_cast<double>(i);
    const auto normalizers = [&] {
      std::vector<AnyNormalizer> all;
      for (std::size_t l = 0; l < layers; ++l) {
        const auto at = values.begin() + static_cast<std::ptrdiff_t>(l * 2 * heads);
        const auto of = static_cast<std::ptrdiff_t>(heads);
        all.emplace_back(
            Ssmax{.s = std::vector<double>(at, at + of), .b = std::vector<double>(at + of, at + 2 * of)});
      }
      return all;
    };
    decoder.learn(parameters, normalizers(), batch, gradient, d_values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double kept = values[i];
      const TrainSlope slope = train_slope([&](double shift) {
        values[i] = kept + shift;
        return decoder.measure(parameters, normalizers(), batch).loss;
      });
      values[i] = kept;
      EXPECT_NEAR(d_values[i], slope.value, slope.doubt) << i;
    }
  }
}

}  // namespace
}  // namespace sharpmax::train
