// A normalizer as text: what parses, what it comes back as, and one clear sentence for what does not.
#include <gtest/gtest.h>

#include <string>

#include "sharpmax/error.h"
#include "support/settings.h"

namespace sharpmax::test {
namespace {

std::string complaint_about(std::string_view text) {
  try {
    AnyNormalizer::parse(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_argument);
    return error.what();
  }
  return "parsed";
}

TEST(TextLaws, EverySettingComesBackFromItsText) {
  for_each_setting([](const Setting&, const AnyNormalizer& normalizer) {
    EXPECT_EQ(AnyNormalizer::parse(normalizer.text()), normalizer);
    EXPECT_EQ(AnyNormalizer::parse(normalizer.text()).text(), normalizer.text());
  });
}

TEST(TextLaws, AnyDoubleComesBackBitForBit) {
  for_each_seed(2000, [](Random& random) {
    std::vector<double> values;
    for (std::size_t i = random.size(1, 4); i > 0; --i) {
      values.push_back(random.normal() * random.log_uniform(1e-300, 1e300));
    }
    const AnyNormalizer written = Ssmax{.s = Parameter(values), .b = -0.0};
    const AnyNormalizer read = AnyNormalizer::parse(written.text());
    EXPECT_EQ(read, written);
    EXPECT_TRUE(std::signbit(read.parameters()[1].of_head(0)));
  });
  for (const double beta : {5e-324, 1.7976931348623157e308, 0.1, 1.0 / 3.0}) {
    EXPECT_EQ(AnyNormalizer::parse(AnyNormalizer(Softmax{.beta = beta}).text()),
              AnyNormalizer(Softmax{.beta = beta}));
  }
}

TEST(TextLaws, ItIsShortAndSaysOnlyWhatIsNotTheDefault) {
  EXPECT_EQ(AnyNormalizer(Softmax{}).text(), "softmax");
  EXPECT_EQ(AnyNormalizer(Softmax{.beta = 0.1}).text(), "softmax:beta=0.1");
  EXPECT_EQ(AnyNormalizer(Ssmax{.s = {0.4, 0.5}, .b = 2}).text(), "ssmax:s=0.4/0.5,b=2");
  EXPECT_EQ(AnyNormalizer(Sink{}).text(), "sink");
  EXPECT_EQ(AnyNormalizer::parse("softmax1:c=2").text(), "sink:c=2");
  EXPECT_EQ(AnyNormalizer(Sigmoid{}).text(), "sigmoid");
  EXPECT_EQ(AnyNormalizer(Sigmoid{.b = {kNoValue, 1.0}}).text(), "sigmoid:b=auto/1");
  EXPECT_EQ(AnyNormalizer(LogLength{.preset = LogLength::Preset::yarn_dynamic}).text(),
            "log_length:preset=yarn_dynamic");
  EXPECT_EQ(AnyNormalizer(EntropyTarget{.gradient = TemperatureGradient::full}).text(),
            "entropy_target:gradient=full");
  EXPECT_EQ(AnyNormalizer(Adaptive{.polynomial = {0.5, 1}}).text(), "adaptive:polynomial=0.5/1");
}

TEST(TextLaws, TypesNamesAndTextAreThreeWaysToOneValue) {
  EXPECT_EQ(AnyNormalizer(Entmax{.alpha = 1.25}), AnyNormalizer::parse("entmax:alpha=1.25"));
  EXPECT_EQ(AnyNormalizer(Entmax{.alpha = 1.25}), AnyNormalizer("entmax", {{"alpha", 1.25}}));
  EXPECT_EQ(AnyNormalizer(Sigmoid{}), AnyNormalizer::parse("sigmoid:b=auto"));
  EXPECT_EQ(AnyNormalizer(PeakTarget{.weight = 0.7, .gradient = TemperatureGradient::full}),
            AnyNormalizer::parse("peak_target:gradient=full,weight=0.7"));
  EXPECT_EQ(AnyNormalizer(SelfAdjust{.form = SelfAdjust::Form::plain}),
            AnyNormalizer::parse("self_adjust:form=plain"));
  EXPECT_NE(AnyNormalizer(Softmax{}), AnyNormalizer(Softmax{.beta = 2}));
  EXPECT_NE(AnyNormalizer(Sparsemax{}), AnyNormalizer(Entmax15{}));
}

TEST(TextLaws, DefaultsOfTypesAndOfTextAgree) {
  const std::vector<AnyNormalizer> by_type = {
      Softmax{},  Adaptive{},      EntropyTarget{}, PeakTarget{}, Ssmax{}, LogLength{}, Sparsemax{},
      Entmax15{}, Entmax{},        Asentmax{},      TopK{},       Hard{},  Sink{},      Softpick{},
      Sigmoid{},  StickBreaking{}, SelfAdjust{},    Relu{},       Linear{}};
  const std::vector<NormalizerInfo> members = family();
  ASSERT_EQ(by_type.size(), members.size());
  for (std::size_t i = 0; i < members.size(); ++i)
    EXPECT_EQ(by_type[i], AnyNormalizer::parse(members[i].name));
}

TEST(TextLaws, AMistakeIsNamedWithItsColumn) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"entmax:alfa=2", "normalizer: entmax has no parameter 'alfa' (column 8); it has alpha"},
      {"sparsemax:beta=1", "normalizer: sparsemax has no parameter 'beta' (column 11); it has none"},
      {"entmax:alpha=0.99",
       "normalizer: alpha of entmax is 0.99 (column 14); it must be a number in [1, 16]"},
      {"entmax:alpha=16.5",
       "normalizer: alpha of entmax is 16.5 (column 14); it must be a number in [1, 16]"},
      {"asentmax:alpha=1.5/17",
       "normalizer: alpha of asentmax is 17 (column 16); it must be a number in [1, 16]"},
      {"top_k:k=0", "normalizer: k of top_k is 0 (column 9); it must be a whole number of at least 1"},
      {"top_k:k=2.5", "normalizer: k of top_k is 2.5 (column 9); it must be a whole number of at least 1"},
      {"entropy_target:nats=0",
       "normalizer: nats of entropy_target is 0 (column 21); it must be a number above 0"},
      {"entropy_target:nats=-1",
       "normalizer: nats of entropy_target is -1 (column 21); it must be a number above 0"},
      {"peak_target:weight=0",
       "normalizer: weight of peak_target is 0 (column 20); it must be a number between 0 and 1, both "
       "excluded"},
      {"peak_target:weight=1",
       "normalizer: weight of peak_target is 1 (column 20); it must be a number between 0 and 1, both "
       "excluded"},
      {"sink:c=-1", "normalizer: c of sink is -1 (column 8); it must be a number of at least 0"},
      {"log_length:length=1",
       "normalizer: length of log_length is 1 (column 19); it must be a number above 1"},
      {"softmax:beta=nan", "normalizer: beta of softmax is 'nan' (column 14); it must be a finite number"},
      {"softmax:beta=inf", "normalizer: beta of softmax is 'inf' (column 14); it must be a finite number"},
      {"softmax:beta=1e999",
       "normalizer: beta of softmax is '1e999' (column 14); it must be a finite number"},
      {"softmax:beta=+1", "normalizer: beta of softmax is '+1' (column 14); it must be a finite number"},
      {"softmax:beta=1.5x", "normalizer: beta of softmax is '1.5x' (column 14); it must be a finite number"},
      {"softmax:beta= 1", "normalizer: beta of softmax is ' 1' (column 14); it must be a finite number"},
      {"softmax:beta=auto", "normalizer: beta of softmax is 'auto' (column 14); it must be a finite number"},
      {"sigmoid:b=nan", "normalizer: b of sigmoid is 'nan' (column 11); it must be a finite number, or auto"},
      {"softmax:beta=", "normalizer: beta of softmax is empty (column 14); it must be a finite number"},
      {"ssmax:s=1//2", "normalizer: s of ssmax is empty (column 11); it must be a finite number"},
      {"ssmax:s=1/", "normalizer: s of ssmax is empty (column 11); it must be a finite number"},
      {"ssmax:s=1,s=2", "normalizer: s of ssmax is given twice (column 11); once is enough"},
      {"softmax:", "normalizer: softmax is followed by nothing (column 9); expected parameter=value"},
      {"softmax:beta=1,", "normalizer: softmax is followed by nothing (column 16); expected parameter=value"},
      {"softmax:,beta=1", "normalizer: softmax is followed by nothing (column 9); expected parameter=value"},
      {"softmax:beta", "normalizer: softmax is followed by 'beta' (column 9); expected parameter=value"},
      {"softmax:=1", "normalizer: softmax is followed by '=1' (column 9); expected parameter=value"},
      {"adaptive:gradient=1",
       "normalizer: gradient of adaptive is '1' (column 19); it must be stopped or full"},
      {"adaptive:gradient=full/full",
       "normalizer: gradient of adaptive has 2 values (column 19); it takes one for all heads"},
      {"log_length:preset=llama",
       "normalizer: preset of log_length is 'llama' (column 19); it must be qwen, llama4, yarn or "
       "yarn_dynamic"},
      {"softmax:beta=\x01\xff",
       "normalizer: beta of softmax is '\\x01\\xff' (column 14); it must be a finite number"},
  };
  for (const auto& [text, wanted] : mistakes) EXPECT_EQ(complaint_about(text), wanted);
}

TEST(TextLaws, AnUnknownNameIsAnsweredWithTheNearestAndAllKnownNames) {
  EXPECT_EQ(complaint_about("entmx").find("normalizer: there is no 'entmx' (column 1); did you mean entmax?"),
            0u);
  EXPECT_NE(complaint_about("Softmax").find("did you mean softmax?"), std::string::npos);
  EXPECT_EQ(complaint_about("zzzzzz").find("did you mean"), std::string::npos);
  EXPECT_EQ(complaint_about("").find("normalizer: the name is missing (column 1)"), 0u);
  EXPECT_EQ(complaint_about(" softmax").find("normalizer: there is no ' softmax' (column 1)"), 0u);
  for (const NormalizerInfo& member : family()) {
    EXPECT_NE(complaint_about("zzzzzz").find(member.name), std::string::npos);
  }
}

TEST(TextLaws, ParametersGivenByNameAreCheckedAsTextIs) {
  using Named = std::initializer_list<AnyNormalizer::NamedParameter>;
  const auto refused = [](std::string_view name, Named parameters) {
    EXPECT_THROW(AnyNormalizer(name, parameters), Error) << name;
  };
  refused("nothing", {});
  refused("softmax", {{"gamma", 1.0}});
  refused("softmax", {{"beta", kNoValue}});
  refused("softmax", {{"beta", kInfinity}});
  refused("softmax", {{"beta", Parameter(std::vector<double>{})}});
  refused("softmax", {{"beta", 1.0}, {"beta", 1.0}});
  refused("log_length", {{"preset", 4.0}});
  refused("log_length", {{"preset", 0.5}});
  refused("log_length", {{"preset", -1.0}});
  refused("log_length", {{"preset", kNoValue}});
  refused("sigmoid", {{"b", kInfinity}});
  EXPECT_THROW(AnyNormalizer(TopK{.k = -3}), Error);
  EXPECT_THROW(AnyNormalizer(Adaptive{.polynomial = {}}), Error);
}

TEST(TextLaws, NoBytesAtAllMakeItDoAnythingButParseOrComplain) {
  constexpr std::string_view kPieces[] = {
      "softmax", "entmax",    "adaptive", "sigmoid", ":",   "=", ",",  "/",
      "alpha",   "beta",      "b",        "auto",    "1e9", "-", ".5", std::string_view("\0", 1),
      "\xf0",    "polynomial"};
  for_each_seed(5000, [&](Random& random) {
    std::string text;
    for (std::size_t i = random.size(0, 12); i > 0; --i) {
      text += random.uniform() < 0.9 ? std::string(kPieces[random.size(0, std::size(kPieces) - 1)])
                                     : std::string(1, static_cast<char>(random.size(0, 255)));
    }
    try {
      const AnyNormalizer normalizer = AnyNormalizer::parse(text);
      EXPECT_EQ(AnyNormalizer::parse(normalizer.text()), normalizer) << text;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find("normalizer: "), 0u) << text;
    }
  });
}

TEST(HeadLaws, PerHeadParametersReachTheirHead) {
  const AnyNormalizer both = Ssmax{.s = {0.5, 2.0}, .b = 1.0};
  const Row scores = {0.0, 1.0, 3.0};
  Row first(3), second(3);
  weigh_row(both, 0, scores, first);
  weigh_row(both, 1, scores, second);
  EXPECT_EQ(first, weigh(Ssmax{.s = 0.5, .b = 1.0}, scores).weights);
  EXPECT_EQ(second, weigh(Ssmax{.s = 2.0, .b = 1.0}, scores).weights);
}

TEST(HeadLaws, TheNumberOfValuesMustBeOneOrThatOfTheHeads) {
  EXPECT_NO_THROW(check_heads(Ssmax{.s = {1, 2, 3}}, 3, "attend"));
  EXPECT_NO_THROW(check_heads(Adaptive{}, 3, "attend"));  // a list is not per head
  try {
    check_heads(Ssmax{.s = {1, 2}}, 3, "attend");
    FAIL() << "two values for three heads";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_argument);
    EXPECT_STREQ(error.what(),
                 "attend: s of ssmax has 2 values for 3 heads; it must have one, or one a head");
  }
}

TEST(HeadLaws, WhereThereIsNoBackwardItIsSaidWhy) {
  for (const char* text : {"entmax:alpha=2", "entmax:alpha=1/1.5", "asentmax:alpha=2", "softmax"}) {
    EXPECT_NO_THROW(check_backward(AnyNormalizer::parse(text), "attend_backward")) << text;
  }
  for (const char* text : {"entmax:alpha=2.01", "entmax:alpha=1.5/3", "asentmax:alpha=16"}) {
    try {
      check_backward(AnyNormalizer::parse(text), "attend_backward");
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported);
      EXPECT_NE(std::string(error.what()).find("slope at the edge of the support is unbounded"),
                std::string::npos);
    }
  }
}

}  // namespace
}  // namespace sharpmax::test
