// The gradient of the whole head, features to loss, against finite differences in double: every part,
// every normalizer that can be trained with, both encoders.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "normalizer/definition.h"
#include "retrieval/training/training.h"
#include "sharpmax/error.h"

namespace sharpmax::retrieval {
namespace {

TrainingSettings small_head(Encoder encoder, const AnyNormalizer& normalizer) {
  TrainingSettings s;
  s.encoder = encoder;
  s.width = 7;
  s.classes = 3;
  s.batch = 5;
  s.least_size = 1;
  s.largest_size = 6;
  s.normalizer = normalizer;
  s.precision = Precision::float64;
  return s;
}

std::vector<AnyNormalizer> trainable_family() {
  std::vector<AnyNormalizer> all;
  for (const NormalizerInfo& member : family())
    if (!member.needs_queries_and_keys) all.push_back(AnyNormalizer(member.name));
  all.push_back(AnyNormalizer::parse("adaptive:gradient=full"));
  all.push_back(AnyNormalizer::parse("entropy_target:nats=0.4,gradient=full"));
  all.push_back(AnyNormalizer::parse("peak_target:weight=0.8,gradient=full"));
  all.push_back(AnyNormalizer::parse("sigmoid:b=-1"));
  return all;
}

// A rule that stops the gradient through its own temperature is differentiated at that temperature held
// fixed, and `hard` as softmax: their finite differences are those of other functions.
bool gradient_is_of_the_loss(const AnyNormalizer& normalizer) {
  if (normalizer.name() == "hard") return false;
  const std::string text = normalizer.text();
  const bool chooses = normalizer.name() == "adaptive" || normalizer.name().ends_with("_target");
  return !chooses || text.find("gradient=full") != std::string::npos;
}

struct HeadCase {
  TrainingSettings settings;
  std::vector<double> parameters;
  Batch batch;

  explicit HeadCase(const TrainingSettings& s) : settings(s), parameters(initial_parameters(s, 5)) {
    for (double& p : parameters) p *= 2.5;  // scores that differ enough to matter
    draw_batch(s, /*seed=*/11, /*step=*/3, batch);
  }
  double loss(const std::vector<double>& at) const {
    HeadGradient<double> head(settings);
    std::vector<double> gradient(at.size());
    std::vector<double> d_normalizer(settings.normalizer.parameters().size());
    return head.run(at, settings.normalizer, batch, gradient, d_normalizer).loss;
  }
};

// Central differences at two steps; where they disagree the loss has a kink (sparsemax's support, relu)
// between.
struct HeadSlope {
  double value = 0.0;
  double uncertainty = 0.0;
};
template <class Loss>
HeadSlope head_slope(const Loss& loss) {
  const auto central = [&](double h) { return (loss(h) - loss(-h)) / (2.0 * h); };
  const double fine = central(1e-5), coarse = central(2e-5);
  return {fine, std::abs(fine - coarse)};
}

TEST(RetrievalGradients, EveryPartOfTheHeadAgreesWithFiniteDifferencesUnderEveryNormalizer) {
  for (const Encoder encoder : {Encoder::mlp, Encoder::linear}) {
    for (const AnyNormalizer& normalizer : trainable_family()) {
      if (!gradient_is_of_the_loss(normalizer)) continue;
      const HeadCase c(small_head(encoder, normalizer));
      HeadGradient<double> head(c.settings);
      std::vector<double> gradient(c.parameters.size());
      std::vector<double> d_normalizer(normalizer.parameters().size());
      head.run(c.parameters, normalizer, c.batch, gradient, d_normalizer);
      const Layout layout(encoder, c.settings.width, c.settings.classes);
      for (std::size_t p = 0; p < kParts; ++p) {
        const PartShape shape = layout[static_cast<Part>(p)];
        for (std::int64_t k = 0; k < shape.size(); k += 1 + shape.size() / 6) {
          const auto at = static_cast<std::size_t>(shape.offset + k);
          const HeadSlope slope = head_slope([&](double h) {
            std::vector<double> moved = c.parameters;
            moved[at] += h;
            return c.loss(moved);
          });
          // Central differences: h^2 of the third derivative, and rounding of the loss over h.
          EXPECT_NEAR(gradient[at], slope.value, 1e-8 + 2.0 * slope.uncertainty)
              << normalizer.text() << ", " << word(encoder) << ", " << name_of(static_cast<Part>(p))
              << " element " << k;
        }
      }
    }
  }
}

TEST(RetrievalGradients, ParametersOfTheNormalizerAgreeWithFiniteDifferences) {
  for (const AnyNormalizer& normalizer : trainable_family()) {
    if (!gradient_is_of_the_loss(normalizer)) continue;
    HeadCase c(small_head(Encoder::mlp, normalizer));
    HeadGradient<double> head(c.settings);
    std::vector<double> gradient(c.parameters.size());
    std::vector<double> d_normalizer(normalizer.parameters().size());
    head.run(c.parameters, normalizer, c.batch, gradient, d_normalizer);
    const std::vector<bool> learned = learned_parameters(normalizer);
    for (std::size_t i = 0; i < learned.size(); ++i) {
      if (!learned[i]) continue;
      const HeadSlope slope = head_slope([&](double h) {
        Head moved{.training = c.settings, .normalizer_parameters = std::vector<double>(learned.size())};
        for (std::size_t j = 0; j < learned.size(); ++j)
          if (learned[j])
            moved.normalizer_parameters[j] = normalizer.parameters()[j].of_head(0) + (i == j ? h : 0.0);
        HeadCase there = c;
        there.settings.normalizer = moved.normalizer();
        return there.loss(c.parameters);
      });
      EXPECT_NEAR(d_normalizer[i], slope.value, 1e-8 + 2.0 * slope.uncertainty)
          << normalizer.text() << ", parameter " << normalizer.definition().parameters[i].name;
    }
  }
}

// A batch large enough for its queries to be interpolated between nodes, against one set at a time, whose
// query is its own node: the same loss and gradient to rounding, times what cancels in the sums.
TEST(RetrievalGradients, ABatchInterpolatedBetweenNodesIsTheMeanOfItsSetsTakenOneByOne) {
  for (const Encoder encoder : {Encoder::mlp, Encoder::linear}) {
    for (const double size : {0.5, 2.0, 4.0}) {  // of the query encoder's slopes: more nodes
      TrainingSettings s = small_head(encoder, Softmax{});
      s.batch = 96;
      HeadCase c(s);
      const PartShape in = Layout(encoder, s.width, s.classes)[Part::query_in_weight];
      for (std::int64_t k = 0; k < in.size(); ++k)
        c.parameters[static_cast<std::size_t>(in.offset + k)] *= size;
      HeadGradient<double> head(s);
      std::vector<double> whole(c.parameters.size()), one(whole.size()), mean(whole.size());
      std::vector<double> unused(1);
      const double loss = head.run(c.parameters, s.normalizer, c.batch, whole, unused).loss;
      EXPECT_LT(head.query_columns(), s.batch) << "nothing was interpolated";
      double mean_loss = 0.0;
      for (std::int64_t b = 0; b < s.batch; ++b) {
        Set set;
        draw_training_set(s, /*seed=*/11, /*step=*/3, b, set);
        Batch single;
        single.add(set);
        mean_loss +=
            head.run(c.parameters, s.normalizer, single, one, unused).loss / static_cast<double>(s.batch);
        for (std::size_t k = 0; k < mean.size(); ++k) mean[k] += one[k] / static_cast<double>(s.batch);
      }
      const double largest = *std::max_element(mean.begin(), mean.end(),
                                               [](double a, double b) { return std::abs(a) < std::abs(b); });
      EXPECT_NEAR(loss, mean_loss, 1e-13 * std::abs(mean_loss)) << word(encoder) << " " << size;
      for (std::size_t k = 0; k < mean.size(); ++k)
        ASSERT_NEAR(whole[k], mean[k], 1e-13 * std::abs(largest))
            << word(encoder) << " " << size << ", parameter " << k;
    }
  }
}

// A stopped temperature: the gradient is that of softmax at the temperature each row chose, held fixed.
TEST(RetrievalGradients, AStoppedTemperatureGivesTheGradientOfSoftmaxAtThatTemperature) {
  TrainingSettings s = small_head(Encoder::mlp, AnyNormalizer::parse("entropy_target:nats=0.3"));
  s.batch = 1;  // one row, one temperature
  s.least_size = 6;
  const HeadCase c(s);
  HeadGradient<double> head(s);
  std::vector<double> gradient(c.parameters.size());
  std::vector<double> d_normalizer(2);
  head.run(c.parameters, s.normalizer, c.batch, gradient, d_normalizer);
  // Bisection for the beta at which softmax has the same loss, starting where the rule does.
  double low = 1.0, high = 1e4;
  const auto loss_at = [&](double beta) {
    HeadCase there = c;
    there.settings.normalizer = Softmax{.beta = beta};
    return there.loss(c.parameters);
  };
  const double wanted = c.loss(c.parameters);
  const bool rises = loss_at(high) > loss_at(low);
  for (int i = 0; i < 200; ++i) {
    const double middle = std::sqrt(low * high);
    ((loss_at(middle) < wanted) == rises ? low : high) = middle;
  }
  ASSERT_GT(low, 1.01) << "the rule did not act on this row";
  TrainingSettings fixed = s;
  fixed.normalizer = Softmax{.beta = low};
  HeadGradient<double> at_fixed(fixed);
  std::vector<double> expected(c.parameters.size());
  std::vector<double> unused(1);
  at_fixed.run(c.parameters, fixed.normalizer, c.batch, expected, unused);
  for (std::size_t k = 0; k < expected.size(); ++k) ASSERT_NEAR(gradient[k], expected[k], 1e-9) << k;
}

}  // namespace
}  // namespace sharpmax::retrieval
