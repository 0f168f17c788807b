// Paper B's lemma 1: which members are of the form F / sum F, and that their weights stay within its
// constants.
#include <gtest/gtest.h>

#include <map>

#include "sharpmax/error.h"
#include "support/row.h"
#include "theory/peak_range.h"

namespace sharpmax::test {
namespace {

using namespace sharpmax::theory;

TEST(TheoryProportional, EveryMemberIsToldByItsForm) {
  const std::map<std::string, Form> forms = {{"softmax", Form::proportional},
                                             {"softmax:beta=-2", Form::proportional},
                                             {"entmax:alpha=1", Form::proportional},
                                             {"log_length:preset=yarn,factor=4", Form::proportional},
                                             {"sink:c=0", Form::proportional},
                                             {"sink", Form::share_proportional},
                                             {"sigmoid:b=-2", Form::share_proportional},
                                             {"sigmoid", Form::changes_with_length},
                                             {"ssmax", Form::changes_with_length},
                                             {"ssmax:s=-1", Form::changes_with_length},
                                             {"log_length", Form::changes_with_length},
                                             {"asentmax:alpha=1", Form::changes_with_length}};
  for (const auto& [text, form] : forms) EXPECT_EQ(form_of(AnyNormalizer::parse(text)).form, form) << text;
  EXPECT_EQ(form_of(TopK{.k = 5000}).form, Form::other);  // of short rows it keeps all
  for (const NormalizerInfo& member : family()) {
    const AnyNormalizer normalizer(member.name);
    const FormFacts facts = form_of(normalizer);
    EXPECT_FALSE(facts.because.empty());
    if (forms.contains(std::string(member.name))) continue;
    EXPECT_EQ(facts.form, Form::other) << member.name;
    EXPECT_THROW(proportional_constants(normalizer, 8.0, centred(1.0)), Error) << member.name;
  }
}

TEST(TheoryProportional, NoWeightPassesTheConstantsAndTheTightFormIsReached) {
  for (const char* text :
       {"softmax:beta=1.5", "softmax:beta=-0.7", "sigmoid:b=-1", "sigmoid", "ssmax", "sink:c=3"}) {
    const AnyNormalizer normalizer = AnyNormalizer::parse(text);
    for_each_seed(200, [&](Random& random) {
      const std::size_t n = random.size(1, 50);
      const double count = static_cast<double>(n), bottom = random.uniform(-6.0, 3.0);
      const ScoreInterval interval{bottom, bottom + random.log_uniform(0.01, 8.0)};
      const ProportionalConstants constants = proportional_constants(normalizer, count, interval);
      const Range published = proportional_bound(constants, count),
                  tight = proportional_range(constants, count);
      Row row(n);
      for (double& e : row) e = random.uniform(interval.bottom, interval.top);
      const Row weights = weigh(normalizer, row).weights;
      const double mass = oracle::sum(weights);
      for (const double w : weights) {
        EXPECT_LE(w / mass, tight.high * (1.0 + 1e-10));
        EXPECT_GE(w / mass * (1.0 + 1e-10), tight.low);
      }
      EXPECT_LE(tight.high, published.high * (1.0 + 1e-12));
      EXPECT_GE(tight.low * (1.0 + 1e-12), published.low);
      // One key at one end, all others at the other.
      const bool mirrored = text == std::string("softmax:beta=-0.7");
      std::fill(row.begin(), row.end(), mirrored ? interval.top : interval.bottom);
      row[0] = mirrored ? interval.bottom : interval.top;
      const Row sharp = weigh(normalizer, row).weights;
      EXPECT_NEAR(sharp[0] / oracle::sum(sharp), tight.high, 1e-10 * tight.high);
    });
  }
}

TEST(TheoryProportional, CorollaryOneIsTheDispersionLemma) {
  const ProportionalConstants constants = softmax_constants(2.0, 1.5, 0.8);
  const Range published = proportional_bound(constants, 100.0);
  EXPECT_NEAR(published.high, dispersion_bound(2 * 3.0, 100.0, 1.0 / 0.8).high, 1e-12 * published.high);
  EXPECT_NEAR(published.low, std::exp(-2.0 * 3.0 / 0.8) / 100.0, 1e-12 * published.low);
  EXPECT_THROW(softmax_constants(1.0, 1.0, 0.0), Error);
  EXPECT_THROW(softmax_constants(-1.0, 1.0, 1.0), Error);
}

}  // namespace
}  // namespace sharpmax::test
