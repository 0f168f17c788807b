// backward() of every normalizer against finite differences in double: scores and parameters.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>

#include "support/settings.h"

namespace sharpmax::test {
namespace {

// In units of the scale on which the row changes: 1 / beta. There the stencils err by step^4 f^(5) / 5,
// 3e-16 times a derivative that stays below 10^6, and by rounding, 16 eps / step = 2e-11.
constexpr double kRowStep = 2e-4;
constexpr double kTolerance = 1e-8;

constexpr double kCentral[] = {-2, -1, 1, 2};
constexpr double kCentralWeight[] = {1.0 / 12, -8.0 / 12, 8.0 / 12, -1.0 / 12};
// For a parameter at the lower end of its domain.
constexpr double kForward[] = {0, 1, 2, 3, 4};
constexpr double kForwardWeight[] = {-25.0 / 12, 4, -3, 4.0 / 3, -0.25};

// What must not change within a stencil for the function to be smooth there.
struct Regime {
  std::vector<bool> support, positive;
  std::size_t top = 0, bottom = 0;
  bool sharpened = false;  // of rules that choose their temperature: it is above 1
  bool near_edge = false;  // a sparse map's weight about to vanish: its higher derivatives blow up
  bool operator==(const Regime&) const = default;
};

// The place of the parameter `gradient`, which rules with a temperature of their own have.
std::optional<std::size_t> gradient_place(const AnyNormalizer& normalizer) {
  const auto& specs = normalizer.definition().parameters;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].name == "gradient") return i;
  }
  return std::nullopt;
}

bool chooses_temperature(const AnyNormalizer& normalizer) { return gradient_place(normalizer).has_value(); }

bool is_stopped(const AnyNormalizer& normalizer) {
  const auto place = gradient_place(normalizer);
  return place && normalizer.parameters()[*place].of_head(0) == 0.0;
}

Regime regime_of(const AnyNormalizer& normalizer, const Row& scores) {
  const Weighed found = weigh(normalizer, scores);
  Regime regime;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    regime.support.push_back(found.weights[j] != 0.0);
    regime.positive.push_back(scores[j] > 0.0);
    const bool sparse = !std::isnan(found.facts.threshold);
    regime.near_edge = regime.near_edge || (sparse && found.weights[j] > 0.0 && found.weights[j] < 0.02);
  }
  regime.top = static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
  regime.bottom = static_cast<std::size_t>(std::min_element(scores.begin(), scores.end()) - scores.begin());
  regime.sharpened = chooses_temperature(normalizer) && found.facts.temperature > 1.0;
  return regime;
}

double row_loss(const AnyNormalizer& normalizer, const Row& scores, const Row& d_weights) {
  const Row weights = weigh(normalizer, scores).weights;
  double total = 0.0;
  for (std::size_t j = 0; j < scores.size(); ++j) total += d_weights[j] * weights[j];
  return total;
}

// The function whose true gradient backward() promises: itself, but for rules with a stopped
// temperature and for `hard` the softmax that stands in for them at this row.
AnyNormalizer differentiated(const AnyNormalizer& normalizer, const Row& scores) {
  if (normalizer.name() == "hard") return Softmax{};
  if (is_stopped(normalizer)) return Softmax{.beta = weigh(normalizer, scores).facts.temperature};
  return normalizer;
}

AnyNormalizer with_parameter(const AnyNormalizer& normalizer, std::size_t place, double value) {
  std::vector<AnyNormalizer::NamedParameter> parameters;
  for (std::size_t i = 0; i < normalizer.parameters().size(); ++i) {
    parameters.emplace_back(normalizer.definition().parameters[i].name,
                            i == place ? Parameter(value) : normalizer.parameters()[i]);
  }
  return AnyNormalizer(normalizer.name(), std::span<const AnyNormalizer::NamedParameter>(parameters));
}

struct Stencil {
  std::span<const double> places, weights;
};

// Nothing when some point of the stencil is on the other side of a kink.
std::optional<double> difference(const Stencil& stencil, double step,
                                 const std::function<Regime(double)>& regime_at,
                                 const std::function<double(double)>& value_at) {
  const Regime here = regime_at(0.0);
  double sum = 0.0;
  for (std::size_t i = 0; i < stencil.places.size(); ++i) {
    const double x = stencil.places[i] * step;
    if (here.near_edge || regime_at(x) != here) return std::nullopt;
    sum += stencil.weights[i] * value_at(x);
  }
  return sum / step;
}

struct RowCase {
  AnyNormalizer normalizer;
  Row scores, d_weights, d_scores, d_parameters;
};

RowCase differentiate(const AnyNormalizer& normalizer, Random& random) {
  RowCase c{.normalizer = normalizer,
         .scores = scores_for(normalizer, random.row(random.size(1, 8), 1.0)),
         .d_weights = {},
         .d_scores = {},
         .d_parameters = Row(normalizer.parameters().size(), 0.0)};
  c.d_weights = random.row(c.scores.size(), 1.0);
  c.d_scores.resize(c.scores.size());
  const Row weights = weigh(normalizer, c.scores).weights;
  backward_row(normalizer, 0, c.scores, weights, c.d_weights, c.d_scores, c.d_parameters);
  return c;
}

int compare_scores(const RowCase& c) {
  const AnyNormalizer smooth = differentiated(c.normalizer, c.scores);
  const double beta = std::abs(weigh(smooth, c.scores).facts.temperature);
  const double step = beta > 1.0 ? kRowStep / beta : kRowStep;
  int compared = 0;
  for (std::size_t k = 0; k < c.scores.size(); ++k) {
    const auto moved = [&](double x) {
      Row scores = c.scores;
      scores[k] += x;
      return scores;
    };
    const auto wanted = difference(
        {kCentral, kCentralWeight}, step, [&](double x) { return regime_of(smooth, moved(x)); },
        [&](double x) { return row_loss(smooth, moved(x), c.d_weights); });
    if (!wanted) continue;
    EXPECT_NEAR(c.d_scores[k], *wanted, kTolerance * (1.0 + std::abs(*wanted))) << "score " << k;
    ++compared;
  }
  return compared;
}

int compare_parameter(const RowCase& c, std::size_t place) {
  const ParameterSpec& spec = c.normalizer.definition().parameters[place];
  const double value = c.normalizer.parameters()[place].of_head(0);
  if (!spec.learnable || is_stopped(c.normalizer) || std::isnan(value)) {
    EXPECT_EQ(c.d_parameters[place], 0.0) << spec.name << " has no gradient here";
    return 0;
  }
  const bool at_lower_end = spec.valid != nullptr && !spec.valid(value - 2.0 * kRowStep);
  const Stencil stencil =
      at_lower_end ? Stencil{kForward, kForwardWeight} : Stencil{kCentral, kCentralWeight};
  const auto moved = [&](double x) { return with_parameter(c.normalizer, place, value + x); };
  const auto wanted = difference(
      stencil, kRowStep, [&](double x) { return regime_of(moved(x), c.scores); },
      [&](double x) { return row_loss(moved(x), c.scores, c.d_weights); });
  if (!wanted) return 0;
  EXPECT_NEAR(c.d_parameters[place], *wanted, kTolerance * (1.0 + std::abs(*wanted))) << spec.name;
  return 1;
}

bool has_backward(const AnyNormalizer& normalizer) {
  const auto why_not = normalizer.definition().no_backward;
  return why_not == nullptr || why_not(HeadParameters(normalizer.parameters(), 0)).empty();
}

TEST(NormalizerGradients, BackwardIsTheDerivativeOfForward) {
  static constexpr int kSeeds = 120;
  for_each_setting([](const Setting&, const AnyNormalizer& normalizer) {
    if (!has_backward(normalizer)) return;
    int scores_compared = 0;
    std::map<std::size_t, int> parameters_compared;
    // All of them, whatever SHARPMAX_TEST_SCALE says: of few rows too few are away from kinks.
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed);
      Random random(seed);
      const RowCase c = differentiate(normalizer, random);
      scores_compared += compare_scores(c);
      for (std::size_t i = 0; i < c.d_parameters.size(); ++i) {
        parameters_compared[i] += compare_parameter(c, i);
      }
    }
    EXPECT_GE(scores_compared, kSeeds) << "too few rows away from kinks to prove anything";
    for (const auto& [place, compared] : parameters_compared) {
      const ParameterSpec& spec = normalizer.definition().parameters[place];
      const bool wanted =
          spec.learnable && !is_stopped(normalizer) && !std::isnan(normalizer.parameters()[place].of_head(0));
      if (wanted) {
        EXPECT_GE(compared, kSeeds / 10) << spec.name;
      }
    }
  });
}

TEST(NormalizerGradients, MaskedKeysHaveNoneAndDoNotChangeTheOthers) {
  for_each_setting([](const Setting&, const AnyNormalizer& normalizer) {
    if (!has_backward(normalizer)) return;
    for_each_seed(10, [&](Random& random) {
      const RowCase plain = differentiate(normalizer, random);
      Row scores = plain.scores, d_weights = plain.d_weights;
      scores.insert(scores.begin() + 1, -kInfinity);
      d_weights.insert(d_weights.begin() + 1, 1e9);
      Row d_scores(scores.size()), d_parameters(plain.d_parameters.size(), 0.0);
      backward_row(normalizer, 0, scores, weigh(normalizer, scores).weights, d_weights, d_scores,
                   d_parameters);
      EXPECT_EQ(d_scores[1], 0.0);
      d_scores.erase(d_scores.begin() + 1);
      EXPECT_EQ(d_scores, plain.d_scores);
      EXPECT_EQ(d_parameters, plain.d_parameters);
    });
  });
}

TEST(NormalizerGradients, ParameterGradientsAddUpOverRows) {
  const AnyNormalizer normalizer = Ssmax{.s = 0.5, .b = 1.0};
  const Row scores = {0.1, 0.7, -0.4}, d_weights = {1.0, -1.0, 2.0},
            weights = weigh(normalizer, scores).weights;
  Row d_scores(3), once(2, 0.0), twice(2, 0.0);
  backward_row(normalizer, 0, scores, weights, d_weights, d_scores, once);
  for (int i = 0; i < 2; ++i) backward_row(normalizer, 0, scores, weights, d_weights, d_scores, twice);
  EXPECT_NE(once[0], 0.0);
  EXPECT_DOUBLE_EQ(twice[0], 2.0 * once[0]);
  EXPECT_DOUBLE_EQ(twice[1], 2.0 * once[1]);
}

TEST(NormalizerGradients, TheDerivativeByAlphaHasNoJumpAtOne) {
  const Row scores = {0.1, 0.7, -0.4, 1.3}, d_weights = {1.0, -1.0, 2.0, 0.3};
  const auto derivative = [&](double alpha) {
    const AnyNormalizer normalizer = Entmax{.alpha = alpha};
    Row d_scores(4), d_alpha(1, 0.0);
    backward_row(normalizer, 0, scores, weigh(normalizer, scores).weights, d_weights, d_scores, d_alpha);
    return d_alpha[0];
  };
  const double at_one = derivative(1.0);
  EXPECT_GT(std::abs(at_one), 1e-2);
  for (const double step : {2.3e-16, 1e-12, 1e-9, 1e-6}) {
    EXPECT_NEAR(derivative(1.0 + step), at_one, 10.0 * step + 32.0 * kEps);
  }
}

TEST(NormalizerGradients, RowsWhoseTargetIsOutOfReachAreConstants) {
  const Row scores = {1.0, 1.0, 1.0, 0.2};
  for (const char* text : {"entropy_target:nats=0.5", "entropy_target:nats=0.5,gradient=full",
                           "peak_target:weight=0.5", "peak_target:weight=0.5,gradient=full"}) {
    const AnyNormalizer normalizer = AnyNormalizer::parse(text);
    Row d_scores(4, 1.0), d_parameters(2, 0.0);
    backward_row(normalizer, 0, scores, weigh(normalizer, scores).weights, Row{1.0, 2.0, 3.0, 4.0}, d_scores,
                 d_parameters);
    EXPECT_EQ(d_scores, Row(4, 0.0));
    EXPECT_EQ(d_parameters, Row(2, 0.0));
  }
}

}  // namespace
}  // namespace sharpmax::test
