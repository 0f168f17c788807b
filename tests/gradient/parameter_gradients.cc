// Gradients of normalizer parameters through attend_backward in float32 against the oracle's, over requests
// drawn at random: masks, bias, soft cap, causality, windows, lengths, documents, grouped heads, 16-bit
// types; with what the forward saved and without, on every instruction set, with any number of threads.
//
// How far they may be: twice as far as plain float, or the roundings of what they are made of
// (support/attention_tolerance.h). A kernel solves a target to within kTargetSlack: where the temperature
// moves, the oracle's own answers at both ends of that say how much it matters.
#include <gtest/gtest.h>

#include <numeric>

#include "attention/oracle/oracle.h"
#include "sharpmax/attention.h"
#include "support/attention_normalizers.h"
#include "support/attention_tolerance.h"
#include "support/random.h"

namespace sharpmax::test {
namespace {

template <class T>
T one_of(Random& random, std::initializer_list<T> choices) {
  return choices.begin()[random.size(0, choices.size() - 1)];
}

AttentionCase random_case(Random& random) {
  AttentionCase c{.name = "request " + std::to_string(random.uniform())};  // its data follow from the name
  c.batches = random.uniform() < 0.3 ? 2 : 1;
  c.kv_heads = one_of<std::int64_t>(random, {1, 1, 2});
  c.heads = c.kv_heads * one_of<std::int64_t>(random, {1, 2, 3});
  c.queries = static_cast<std::int64_t>(random.size(1, 40));
  c.keys = static_cast<std::int64_t>(random.uniform() < 0.2 ? random.size(250, 300) : random.size(1, 70));
  c.feature = one_of<std::int64_t>(random, {8, 16, 20});
  c.type = one_of(random, {DType::float32, DType::float32, DType::float32, DType::bfloat16, DType::float16});
  c.out_type = random.uniform() < 0.5 ? DType::float32 : c.type;
  c.layout = one_of(random, {Layout::dense, Layout::padded, Layout::transposed});
  c.causal = one_of(random, {Causal::none, Causal::bottom_right, Causal::top_left});
  if (random.uniform() < 0.3)
    c.window = {static_cast<std::int64_t>(random.size(0, 20)), static_cast<std::int64_t>(random.size(0, 9))};
  c.mask = one_of(random, {Spread::none, Spread::none, Spread::whole, Spread::per_key});
  c.bias = one_of(random, {Spread::none, Spread::none, Spread::whole, Spread::per_query_and_key,
                           Spread::per_head_and_key});
  if (random.uniform() < 0.2) {
    for (std::int64_t b = 0; b < c.batches; ++b)
      c.key_lengths.push_back(static_cast<std::int64_t>(random.size(0, to_size(c.keys))));
  } else if (random.uniform() < 0.2) {
    const auto query = static_cast<std::int64_t>(random.size(0, to_size(c.queries)));
    const auto key = static_cast<std::int64_t>(random.size(0, to_size(c.keys)));
    c.query_offsets = {0, query, c.queries};
    c.key_offsets = {0, key, c.keys};
  }
  c.spread = random.log_uniform(0.1, 2.0);
  if (random.uniform() < 0.3) c.soft_cap = random.log_uniform(0.5, 20.0);
  return c;
}

// Every member with something to learn, at parameters that training may pass through.
std::string random_normalizer(Random& random, const std::string& name) {
  const auto number = [&](double low, double high) { return std::to_string(random.uniform(low, high)); };
  if (name == "softmax") return "softmax:beta=" + std::to_string(random.log_uniform(1e-3, 8.0));
  if (name == "ssmax") return "ssmax:s=" + number(0.05, 1.0) + ",b=" + number(0.0, 0.5);
  if (name == "entropy_target") return "entropy_target:gradient=full,nats=" + number(0.1, 2.0);
  if (name == "peak_target") return "peak_target:gradient=full,weight=" + number(0.1, 0.9);
  if (name == "entmax") return "entmax:alpha=" + (random.uniform() < 0.3 ? "1.5" : number(1.05, 1.95));
  if (name == "asentmax") {
    return "asentmax:alpha=" + (random.uniform() < 0.3 ? "1.5" : number(1.1, 1.5)) +
           ",delta=" + number(0.1, 1.0) + ",beta=" + number(0.01, 0.5) + ",gamma=" + number(-1.0, 1.5);
  }
  if (name == "top_k") return "top_k:k=" + std::to_string(random.size(1, 20)) + ",beta=" + number(0.01, 2.0);
  if (name == "sink") return "sink:c=" + std::to_string(random.log_uniform(1e-2, 1e3));
  return "sigmoid:b=" + number(-5.0, 2.0);
}

using Values = std::vector<double>;

Values oracle_parameters(const AttentionProblem& problem, const AnyNormalizer& normalizer) {
  GradientBuffers gradients(problem, normalizer, DType::float64);
  AttentionGradients wanted;
  wanted.parameters = gradients.view().parameters;
  sharpmax::oracle::backward({problem.request, normalizer, problem.segments, problem.d_out().input(), wanted, {}, 1});
  return gradients.parameters;
}

// The same normalizer with its target as far off as a kernel may take it.
AnyNormalizer with_target_slack(const AnyNormalizer& normalizer) {
  if (normalizer.name() == "entropy_target") {
    return EntropyTarget{normalizer.parameters()[0].of_head(0) * (1.0 - kTargetSlack),
                         TemperatureGradient::full};
  }
  if (normalizer.name() != "peak_target") return normalizer;
  const double weight = normalizer.parameters()[0].of_head(0);
  return PeakTarget{1.0 / (1.0 + (1.0 - weight) / weight * (1.0 - kTargetSlack)), TemperatureGradient::full};
}

void silence_undecided_rows(AttentionProblem& problem, const AnyNormalizer& normalizer) {
  for (const RowVerdict& row : ProblemSurvey(problem, normalizer, Decision::slopes).rows) {
    for (std::int64_t c = 0; !row.decided && c < problem.out_shape()[3]; ++c) {
      problem.d_out().set({row.at.batch, row.at.head, row.at.row, c}, 0.0);
    }
  }
}

enum class Keep { nothing, saved };

Values kernel_parameters(AttentionProblem& problem, const AnyNormalizer& normalizer, Keep keep, int threads) {
  const AttentionCase& c = problem.attention_case();
  Buffer out = problem.make_out(c.out_type);
  AllStatistics statistics(c.batches, c.heads, c.queries, c.keys);
  RowStatistics kept;
  kept.log_partition = statistics.view.log_partition;
  kept.temperature = statistics.view.temperature;
  attend(problem.request, normalizer, out.output(), &kept, {1});
  const Saved saved{out.input(), kept.log_partition, kept.temperature};
  GradientBuffers gradients(problem, normalizer, DType::float32);
  attend_backward(problem.request, normalizer, problem.d_out().input(), gradients.view(),
                  keep == Keep::saved ? saved : Saved{}, {threads});
  return gradients.parameters;
}

class ParameterGradients : public testing::TestWithParam<std::string> {};

TEST_P(ParameterGradients, ErrAtMostTwiceAsMuchAsPlainFloatOverRequestsDrawnAtRandom) {
  for_each_seed(16, [&](Random& random) {
    AttentionProblem problem(random_case(random));
    AnyNormalizer normalizer = AnyNormalizer::parse(random_normalizer(random, GetParam()));
    const bool target = normalizer.name().ends_with("_target");
    if (!target && random.uniform() < 0.5)
      normalizer = one_value_per_head(normalizer, problem.attention_case().heads);
    SCOPED_TRACE(normalizer.text());
    silence_undecided_rows(problem, normalizer);
    const Magnitudes m = ProblemSurvey(problem, normalizer, Decision::slopes).magnitudes;
    const Values wanted = oracle_parameters(problem, normalizer);
    const Values slack = oracle_parameters(problem, with_target_slack(normalizer));
    GradientBuffers plain(problem, normalizer, DType::float64);
    PlainBackward(problem, normalizer, plain).run();
    double bound = m.floor_of(m.parameters), plain_error = 0.0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      plain_error = std::max(
          plain_error, 2.0 * std::abs(plain.parameters[i] - wanted[i]) + std::abs(slack[i] - wanted[i]));
    }
    bound += plain_error;
    for_each_target([&](const std::string& isa) {
      for (const Keep keep : {Keep::nothing, Keep::saved}) {
        const Values found = kernel_parameters(problem, normalizer, keep, 1);
        for (std::size_t i = 0; i < wanted.size(); ++i) {
          EXPECT_LE(std::abs(found[i] - wanted[i]), bound)
              << "value " << i << (keep == Keep::saved ? " from what was saved on " : " on ") << isa << ": "
              << found[i] << ", expected " << wanted[i];
        }
      }
    });
  });
}

// What an error of eps |z| in every score z can do to the gradients by beta and by the sink, to first order,
// over all rows of the head: no more for scores far from 0 than that, and nothing for a saved output that was
// rounded.
struct Conditioning {
  double beta = 0.0, sink = 0.0;
};
Conditioning conditioning_of(const AttentionProblem& problem, const AnyNormalizer& normalizer) {
  const AttentionRequest& request = problem.request;
  sharpmax::oracle::Scratch scratch(request);
  Conditioning sums;
  for_each_row(problem, [&](const RowIndex& at, KeyRange keys) {
    const sharpmax::oracle::WeighedRow row = sharpmax::oracle::weigh(request, normalizer, at, keys, scratch);
    const double beta = row.facts.temperature,
                 mass = std::accumulate(row.weights.begin(), row.weights.end(), 0.0);
    std::vector<double> d_weights(row.weights.size()), d_z(d_weights);
    read_row(problem.d_out().input(), at, scratch.out);
    double mean = 0.0, mean_z = 0.0, most = 0.0, size = 0.0, all = 0.0;
    for (std::size_t j = 0; j < d_weights.size(); ++j) {
      read_row(request.value, sharpmax::oracle::key_row(request, at, keys.begin, j), scratch.value);
      d_weights[j] = std::inner_product(scratch.out.begin(), scratch.out.end(), scratch.value.begin(), 0.0);
      mean += row.weights[j] * d_weights[j];
      mean_z += row.weights[j] / mass * beta * row.scores[j];
      size += row.weights[j] * std::abs(d_weights[j]);
      most = std::max(most, beta * std::abs(row.scores[j]));
    }
    for (std::size_t j = 0; j < d_z.size(); ++j)
      all += std::abs(d_z[j] = row.weights[j] * (d_weights[j] - mean));
    for (std::size_t j = 0; j < d_z.size(); ++j) {
      const double share = std::abs(d_z[j]) + row.weights[j] * all;
      sums.beta += most / beta * share * (1.0 + std::abs(beta * row.scores[j] - mean_z));
    }
    // (1 - mass) / c is 1 / (c + sum exp e).
    if (mass < 1.0) sums.sink += most * size * (1.0 - mass) / normalizer.parameters()[0].of_head(0);
  });
  return sums;
}

TEST(ParameterGradientsOfSavedRows, OweNothingToAShiftOfAllScoresOrToAnOutputInHalfPrecision) {
  for (const char* text :
       {"softmax", "softmax:beta=0.02", "softmax:beta=3", "ssmax:s=0.4,b=0.1", "sink:c=1e17"}) {
    const AnyNormalizer normalizer = AnyNormalizer::parse(text);
    AttentionProblem problem({.name = "shifted",
                              .queries = 33,
                              .keys = 65,
                              .feature = 16,
                              .type = DType::float16,
                              .out_type = DType::float16,
                              .bias = Spread::whole});
    problem.bias().fill([](const Extents<4>&) { return 40.0; });
    const Conditioning conditioning = conditioning_of(problem, normalizer);
    const double size =
        normalizer.definition().moves.sink ? conditioning.sink : conditioning.beta * std::log(65.0);
    const Values wanted = oracle_parameters(problem, normalizer);
    for_each_target([&](const std::string& isa) {
      const Values found = kernel_parameters(problem, normalizer, Keep::saved, 1);
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        // A score rounds in its products, its sum with the bias, beta and the shift.
        EXPECT_LE(std::abs(found[i] - wanted[i]), 4.0 * kFloatEps * size)
            << text << " on " << isa << ": " << found[i] << ", expected " << wanted[i];
      }
    });
  }
}

TEST_P(ParameterGradients, AreTheSameBitsForAnyNumberOfThreads) {
  Random random(1);
  const AnyNormalizer normalizer = AnyNormalizer::parse(random_normalizer(random, GetParam()));
  // Few heads, which are cut into stripes, and many, of which each thread takes one.
  for (const std::int64_t heads : {2, 9}) {
    AttentionProblem problem({.name = "threads",
                              .heads = heads,
                              .kv_heads = heads,
                              .queries = 210,
                              .keys = 40,
                              .causal = Causal::bottom_right});
    for (const Keep keep : {Keep::nothing, Keep::saved}) {
      const Values one = kernel_parameters(problem, normalizer, keep, 1);
      for (const int threads : {2, 3, 8})
        EXPECT_EQ(kernel_parameters(problem, normalizer, keep, threads), one) << threads;
    }
  }
}

TEST_P(ParameterGradients, APoisonedRowIsTheAffairOfItsHeadAndARowWithoutKeysOfNone) {
  Random random(0);
  const AnyNormalizer normalizer = AnyNormalizer::parse(random_normalizer(random, GetParam()));
  for (const Keep keep : {Keep::nothing, Keep::saved}) {
    for_each_target([&](const std::string& isa) {
      SCOPED_TRACE(isa + (keep == Keep::saved ? ", saved" : ""));
      // More queries than keys: the first eleven see nothing, and whatever d_out says of them is nothing.
      AttentionProblem problem({.name = "poisoned",
                                .heads = 2,
                                .kv_heads = 2,
                                .queries = 40,
                                .keys = 29,
                                .causal = Causal::bottom_right});
      const Values before = kernel_parameters(problem, normalizer, keep, 1);
      problem.d_out().set({0, 0, 3, 1}, std::numeric_limits<double>::quiet_NaN());
      EXPECT_EQ(kernel_parameters(problem, normalizer, keep, 1), before);
      problem.query().set({0, 0, 30, 5}, std::numeric_limits<double>::quiet_NaN());
      const Values after = kernel_parameters(problem, normalizer, keep, 1);
      for (std::size_t p = 0; p < normalizer.parameters().size(); ++p) {
        EXPECT_EQ(std::isnan(after[2 * p]), normalizer.definition().parameters[p].learnable);
        EXPECT_EQ(after[2 * p + 1], before[2 * p + 1]) << "another head";
      }
    });
  }
}

std::vector<std::string> learnable_members() {
  std::vector<std::string> names;
  for (const NormalizerInfo& member : family()) {
    const auto learnable = [](const ParameterInfo& parameter) { return parameter.learnable; };
    if (std::any_of(member.parameters.begin(), member.parameters.end(), learnable))
      names.emplace_back(member.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(EveryLearnable, ParameterGradients, testing::ValuesIn(learnable_members()),
                         [](const auto& test) { return test_name(test.param); });

}  // namespace
}  // namespace sharpmax::test
