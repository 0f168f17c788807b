// fit(): refits adaptive temperature to a trained head, the way paper A made it.
//
// Over sets that the head gets wrong under softmax, the inverse temperature (beta) of least loss is fitted as a polynomial of
// the entropy. The polynomial is then compared with the published one and with entropy_target on other sets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sharpmax/retrieval.h"

namespace sharpmax {

inline constexpr const char* kFitSchema = "sharpmax.fit/1";
inline constexpr int kLargestFitDegree = 8;
inline constexpr std::int64_t kLargestFitSize = 1 << 16;  // features of one set are held in memory: 68 MB at width 128

// Choices of a fit and its comparison.
struct FitChoices {
  int degree = 4;
  std::vector<std::int64_t> sizes = {16, 32, 64, 128, 256, 512, 1024};
  std::string only = "wrong";
  double least_beta = 0.25;
  double largest_beta = 16.0;
  std::vector<std::int64_t> test_sizes = {16, 64, 256, 1024, 4096, 16384};
  double sets_scale = 1.0;

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    visit(common({"degree", "N", "Fitting",
                  "Degree of the polynomial, 0 to 8", range(0, kLargestFitDegree)}), self.degree);
    visit(common({"sizes", "N,N...", "Fitting", "Numbers of items in a set that is fitted",
                  range(1, static_cast<double>(kLargestFitSize))}),
          self.sizes);
    visit(common({"only", "WHICH", "Fitting",
                  "Sets to fit: wrong (all that softmax gets wrong) or mended (those of them that are right at their best "
                  "temperature)",
                  one_of({"wrong", "mended"})}),
          self.only);
    visit(Field{"least_beta", "X", "Fitting", "Smallest inverse temperature to try", range(0, 1)}, self.least_beta);
    visit(Field{"largest_beta", "X", "Fitting", "Largest inverse temperature to try", range(1)}, self.largest_beta);
    visit(common({"test_sizes", "N,N...", "Comparison", "Numbers of items in a set of the comparison",
                  range(1, static_cast<double>(retrieval::kLargestTestSize))}),
          self.test_sizes);
    visit(Field{"sets_scale", "X", "Run", "Factor of the 1,024 sets per size, fitted and compared", range(1e-9, 1024)},
          self.sets_scale);
  }
};

struct FitRequest : FitChoices {
  std::string head;
  std::optional<int> threads;
  std::string command;  // for the results; empty: made from the fields

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    visit(common({"head", "HEAD", "",
                  "Trained head, .safetensors", {}, Field::Kind::input, /*operand=*/true}), self.head);
    FitChoices::each_field(self, visit);
    visit(common({"threads", "N", "Run", "Number of threads (default: one per core); results do not depend on it",
                  range(1, 4096)}),
          self.threads);
  }
};

// A set that the head got wrong under softmax, and the beta that would have served it best.
struct FitPoint {
  std::int64_t n = 0;
  std::int64_t set = 0;    // which of the test sets of that size
  double entropy = 0.0;    // nats, at beta = 1
  double beta = 1.0;
  double loss = 0.0;       // cross-entropy at beta = 1
  double best_loss = 0.0;  // at beta
  bool mended = false;     // at beta the answer is right
};

// The head that was fitted.
struct FittedHead {
  std::string file, arm;
  std::uint64_t seed = 0;
  std::string normalizer;
  std::int64_t classes = 0, largest_size = 0;

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("file", self.file);
    visit("arm", self.arm);
    visit("seed", self.seed);
    visit("normalizer", self.normalizer);
    visit("classes", self.classes);
    visit("largest_size", self.largest_size);
  }
};

struct FitSettings : FitChoices {
  std::int64_t sets = 0, test_sets = 0;  // of each size: drawn to fit, and compared

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit.fields(self);
    visit("sets", self.sets);
    visit("test_sets", self.test_sets);
  }
};

struct FitCount {
  std::int64_t n = 0, sets = 0;
  std::int64_t wrong = 0;   // under softmax
  std::int64_t mended = 0;  // of those, right at the best temperature

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("n", self.n);
    visit("sets", self.sets);
    visit("wrong", self.wrong);
    visit("mended", self.mended);
  }
};

// A polynomial of the entropy, and how it does over the fitted sets.
struct FitPolynomial {
  std::string normalizer;          // adaptive with this polynomial
  std::vector<double> polynomial;  // highest degree first
  double threshold = 0;            // nats
  double rms_residual = 0;
  std::vector<std::pair<double, double>> above_one;  // intervals of entropy where it exceeds 1, so that it sharpens

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("normalizer", self.normalizer);
    visit("polynomial", self.polynomial);
    visit("threshold", self.threshold);
    visit("rms_residual", self.rms_residual);
    visit("above_one", self.above_one);
  }
};

// Fitted sets by entropy. Means are NaN in an empty bin.
struct FitBin {
  std::pair<double, double> entropy;
  std::int64_t points = 0;
  double mean_beta = 0, mean_residual = 0, rms_residual = 0;  // residual: best beta minus refitted
  double refitted = 0, published = 0;                         // the polynomials in the middle

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("entropy", self.entropy);
    visit("points", self.points);
    visit("mean_beta", self.mean_beta);
    visit("mean_residual", self.mean_residual);
    visit("rms_residual", self.rms_residual);
    visit("refitted", self.refitted);
    visit("published", self.published);
  }
};

// One normalizer on sets that were not fitted.
struct FitComparison : MeasuredNormalizer {
  std::string rule;  // softmax, published, refitted or entropy_target
  std::string normalizer;

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("rule", self.rule);
    visit("normalizer", self.normalizer);
    MeasuredNormalizer::each_member(self, visit);
  }
};

struct FitResult {
  Provenance provenance;
  double seconds = 0;
  FittedHead head;
  FitSettings settings;
  std::vector<FitCount> counts;  // one per size
  std::int64_t points = 0;       // number of fitted sets
  std::int64_t at_least_beta = 0, at_largest_beta = 0;  // of those, best at that end of what was tried
  std::pair<double, double> entropy;                    // range over the fitted sets
  double explained = 0;                                 // share of the variance of the best betas
  std::pair<double, double> looked_at;                  // range of entropy of `above_one`
  FitPolynomial refitted, published;
  std::vector<FitBin> bins;
  std::vector<FitComparison> comparison;
  std::vector<FitPoint> fitted;  // the fitted sets, for to_csv(); not in JSON

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("seconds", self.seconds);
    visit("head", self.head);
    visit("settings", self.settings);
    visit("counts", self.counts);
    visit("points", self.points);
    visit("at_least_beta", self.at_least_beta);
    visit("at_largest_beta", self.at_largest_beta);
    visit("entropy", self.entropy);
    visit("explained", self.explained);
    visit("looked_at", self.looked_at);
    visit("refitted", self.refitted);
    visit("published", self.published);
    visit("bins", self.bins);
    visit("comparison", self.comparison);
  }
};

// Throws Error, and Interrupted if the listener does: nothing is saved.
FitResult fit(const FitRequest& request, Listener& listener = nobody());

Json to_json(const FitResult& result);       // schema sharpmax.fit/1
FitResult fit_result(const Json& json);      // throws Error{bad_file}
std::string to_csv(const FitResult& result);  // one line per fitted set, below the names of its columns

}  // namespace sharpmax
