// The best input of radius r for a direction y of the query is r Q^T y / |Q^T y|, and its query is
// r G y / sqrt(y . G y) + q0 with G = Q Q^T: nothing wider than a head is ever touched.
#include "audit/certificate/reached.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "audit/certificate/spectrum.h"
#include "base/numbers.h"
#include "machine/blas.h"
#include "model/transformer/rope.h"

namespace sharpmax::audit {
namespace {

constexpr std::int64_t kOffsets = 256;
constexpr int kSteps = 8;

std::vector<double> times(const Symmetric& a, const std::vector<double>& x) {
  std::vector<double> out(x.size());
  gemm(1.0, Matrix<const double>(a.entries.data(), a.size, a.size), Matrix<const double>(x.data(), a.size, 1),
       0.0, Matrix<double>(out.data(), a.size, 1));
  return out;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

class Climb {
 public:
  Climb(const FoldedHead& head, const model::Rope& rope)
      : head_(head),
        query_(gram_of(head.query.matrix, head.features, head.width)),
        key_(gram_of(head.key.matrix, head.features, head.width)) {
    if (head.pairs > 0) frequencies_ = model::rope_frequencies(rope).per_position;
  }

  // From the query's or the key's longest direction.
  double from(bool of_query) const {
    std::vector<double> towards(to_size(head_.features), 1.0);
    for (int step = 0; step < kSteps; ++step) {
      towards = times(of_query ? query_ : key_, towards);
      const double size = std::sqrt(dot(towards, towards));
      if (!(size > 0)) return 0.0;
      for (double& x : towards) x /= size;
    }
    double best = 0.0;
    for (int step = 0; step < kSteps; ++step) best = std::max(best, improve(towards));
    return best;
  }

 private:
  std::vector<double> turned(std::vector<double> x, double t) const {
    for (std::size_t pair = 0; pair < frequencies_.size(); ++pair) {
      const double c = std::cos(t * frequencies_[pair]), s = std::sin(t * frequencies_[pair]);
      const double a = x[2 * pair], b = x[2 * pair + 1];
      x[2 * pair] = a * c - b * s;
      x[2 * pair + 1] = b * c + a * s;
    }
    return x;
  }

  // The image of the input that goes farthest along `towards`, times `sign`.
  std::vector<double> image(const Symmetric& gram, const FoldedSide& side, const std::vector<double>& towards,
                            double sign) const {
    std::vector<double> out = times(gram, towards);
    const double size = std::sqrt(std::max(0.0, dot(towards, out)));
    const double factor = size > 0 ? sign * head_.radius / size : 0.0;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = factor * out[i] + side.offset[i];
    return out;
  }

  // The best two keys for the query along `towards`, which becomes the best direction for those keys.
  double improve(std::vector<double>& towards) const {
    const std::vector<double> query = image(query_, head_.query, towards, 1.0);
    double most = 0.0, least = 0.0, most_at = 0.0, least_at = 0.0;
    for (std::int64_t offset = 0; offset < (head_.pairs > 0 ? kOffsets : 1); ++offset) {
      const auto t = static_cast<double>(offset);
      const std::vector<double> seen = turned(query, t);
      const double reach = head_.radius * std::sqrt(std::max(0.0, dot(seen, times(key_, seen))));
      const double middle = dot(seen, head_.key.offset);
      if (offset == 0 || middle + reach > most) most = middle + reach, most_at = t;
      if (offset == 0 || middle - reach < least) least = middle - reach, least_at = t;
    }
    const std::vector<double> high = turned(image(key_, head_.key, turned(query, most_at), 1.0), -most_at);
    const std::vector<double> low = turned(image(key_, head_.key, turned(query, least_at), -1.0), -least_at);
    for (std::size_t i = 0; i < towards.size(); ++i) towards[i] = high[i] - low[i];
    const auto capped = [&](double score) {
      return head_.cap > 0 ? head_.cap * std::tanh(score / head_.cap) : score;
    };
    return capped(head_.scale * most) - capped(head_.scale * least);
  }

  const FoldedHead& head_;
  Symmetric query_, key_;
  std::vector<double> frequencies_;
};

}  // namespace

double reached_spread(const FoldedHead& head, const model::Rope& rope) {
  const Climb climb(head, rope);
  return std::max(climb.from(true), climb.from(false));
}

}  // namespace sharpmax::audit
