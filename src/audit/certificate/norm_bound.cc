#include "audit/certificate/certificate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "audit/certificate/spectrum.h"
#include "base/numbers.h"
#include "machine/blas.h"
#include "model/transformer/rope.h"

namespace sharpmax::audit {
namespace {

double size_of(const std::vector<double>& x) {
  double sum = 0.0;
  for (const double value : x) sum += value * value;
  return std::sqrt(sum) * (1.0 + 1e-12);
}

// D G D for a diagonal D.
Symmetric scaled(const Symmetric& gram, const std::vector<double>& by) {
  Symmetric out = gram;
  for (std::int64_t i = 0; i < gram.size; ++i)
    for (std::int64_t j = 0; j < gram.size; ++j) out(i, j) *= by[to_size(i)] * by[to_size(j)];
  return out;
}

std::vector<double> times(const std::vector<double>& x, const std::vector<double>& by) {
  std::vector<double> out(x);
  for (std::size_t i = 0; i < x.size(); ++i) out[i] *= by[i];
  return out;
}

void add_outer(Symmetric& gram, const std::vector<double>& x, double factor) {
  for (std::int64_t i = 0; i < gram.size; ++i)
    for (std::int64_t j = 0; j < gram.size; ++j) gram(i, j) += factor * (x[to_size(i)] * x[to_size(j)]);
}

// Of the image M u + m0 of the ball |u| <= radius.
struct Image {
  Symmetric gram;  // M M^T, up to `error` in the spectral norm
  std::vector<double> offset;
  double error = 0.0;
};

// |M u + m0|^2 = |[M, m0 / t] (u, t)|^2 <= lambda(M M^T + m0 m0^T / t^2) (radius^2 + t^2) for every t > 0,
// and the least of these over t is the maximum itself (S-lemma).
double farthest(const Image& image, double radius) {
  const auto at = [&](double t) {
    Symmetric gram = image.gram;
    add_outer(gram, image.offset, 1.0 / (t * t));
    const double error = image.error + gemm_error(8) * gram.trace();
    return std::sqrt((largest_eigenvalue(gram) + error) * (radius * radius + t * t)) * (1.0 + 1e-12);
  };
  const double offset = size_of(image.offset);
  if (offset == 0.0) return std::sqrt(largest_eigenvalue(image.gram) + image.error) * radius * (1.0 + 1e-12);
  const double spectral = std::sqrt(largest_eigenvalue(image.gram) + image.error);
  double best = spectral * radius + offset;  // the triangle inequality
  if (spectral == 0.0) return best;
  // At the best t of the triangle inequality, and to both sides of it.
  constexpr double kGolden = 0.6180339887498949;
  double low = std::log(std::sqrt(offset * radius / spectral)) - 4.0, high = low + 8.0;
  for (int step = 0; step < 18; ++step) {
    const double left = high - kGolden * (high - low), right = low + kGolden * (high - low);
    const double value_left = at(std::exp(left)), value_right = at(std::exp(right));
    best = std::min({best, value_left, value_right});
    if (value_left < value_right) {
      high = right;
    } else {
      low = left;
    }
  }
  return best * (1.0 + 1e-12);
}

struct Grams {
  explicit Grams(const FoldedHead& head)
      : query(gram_of(head.query.matrix, head.features, head.width)),
        key(gram_of(head.key.matrix, head.features, head.width)) {}
  Symmetric query, key;
};

Image image_of(const FoldedHead& head, const Symmetric& gram, const std::vector<double>& offset) {
  return {gram, offset, gemm_error(head.width) * gram.trace()};
}

// What is equal for all keys of a row spreads nothing: a bias that is not turned.
std::vector<double> turned_part(const FoldedHead& head, const std::vector<double>& offset) {
  std::vector<double> part(offset);
  std::fill(part.begin() + 2 * head.pairs, part.end(), 0.0);
  return part;
}

// Downhill in log D along the gradient of log lambda(D G_q D) + log lambda(D^-1 G_k D^-1), which is convex in
// log D; smoothed by powers. Any D is valid, so the search may end where it likes.
std::vector<double> search_scaling(const FoldedHead& head, const Grams& grams) {
  constexpr int kSteps = 60, kDoublings = 4;
  const double radius2 = head.radius * head.radius;
  Symmetric query = grams.query, key = grams.key;
  add_outer(query, head.query.offset, 1.0 / radius2);
  add_outer(key, turned_part(head, head.key.offset), 1.0 / radius2);
  std::vector<double> logarithms(to_size(head.features), 0.0), d(to_size(head.features), 1.0), best = d;
  const auto over_pairs = [&](const auto& body) {
    for (std::int64_t i = 0; i < head.features; i += i < 2 * head.pairs ? 2 : 1)
      body(to_size(i), to_size(i < 2 * head.pairs ? i + 1 : i));
  };
  over_pairs([&](std::size_t x, std::size_t y) {  // where rows of both have the same size
    const auto i = static_cast<std::int64_t>(x), j = static_cast<std::int64_t>(y);
    const double q = query(i, i) + query(j, j), k = key(i, i) + key(j, j);
    if (q > 0 && k > 0) logarithms[x] = logarithms[y] = std::clamp(0.25 * std::log(k / q), -10.0, 10.0);
  });
  double least = largest_eigenvalue(query) * largest_eigenvalue(key);
  for (int step = 0; step < kSteps; ++step) {
    std::vector<double> inverse(d.size());
    for (std::size_t i = 0; i < d.size(); ++i) d[i] = std::exp(logarithms[i]), inverse[i] = 1.0 / d[i];
    const Symmetric q = scaled(query, d), k = scaled(key, inverse);
    if (step % 10 == 0 || step + 1 == kSteps) {
      const double product = largest_eigenvalue(q) * largest_eigenvalue(k);
      if (product < least) least = product, best = d;
    }
    const std::vector<double> down = leading_diagonal(q, kDoublings), up = leading_diagonal(k, kDoublings);
    const double rate = 0.5 / (1.0 + 0.1 * step);
    over_pairs([&](std::size_t x, std::size_t y) {
      const double slope = x == y ? down[x] - up[x] : down[x] + down[y] - up[x] - up[y];
      if (!std::isfinite(slope)) return;
      logarithms[x] = logarithms[y] = std::clamp(logarithms[x] - rate * slope, -10.0, 10.0);
    });
  }
  return best;
}

// Of a vector of at most this size, as computed and stored.
double error_of(const FoldedSide& side, double rounding, double size) {
  return rounding + side.storage_error * (size + rounding);
}

double turned_bound(const FoldedHead& head, const Grams& grams) {
  const std::vector<double> d = search_scaling(head, grams);
  std::vector<double> inverse(d);
  for (double& x : inverse) x = 1.0 / x;
  const double query =
      farthest(image_of(head, scaled(grams.query, d), times(head.query.offset, d)), head.radius);
  const auto key_with = [&](const std::vector<double>& offset) {
    return farthest(image_of(head, scaled(grams.key, inverse), times(offset, inverse)), head.radius);
  };
  const std::vector<double> turned = turned_part(head, head.key.offset);
  const double key = key_with(turned), whole = turned == head.key.offset ? key : key_with(head.key.offset);
  const double query_error = size_of(times(head.query.rounding, d));
  const double key_error = error_of(head.key, size_of(times(head.key.rounding, inverse)), whole);
  const double in_float = (query + query_error) * (key + key_error);
  const double dots = head.dot_error * (query + query_error) * (whole + key_error);
  return 2.0 * head.scale * (in_float + dots);
}

// The part of the key that is the same for all keys takes no part at all: 2 radius max |K^T query|.
double plain_bound(const FoldedHead& head, const Grams& grams) {
  const std::int64_t n = head.features;
  const double lift = 4.0 * (gemm_error(head.width) + gemm_error(n)) * grams.key.trace();
  const Factor factor = cholesky(grams.key, lift);
  // |K^T q|^2 = q^T G_k q <= |L^T q|^2 + error |q|^2
  std::vector<double> half(to_size(n * n)), offset(to_size(n));
  Symmetric product{n, std::vector<double>(to_size(n * n))};
  const Matrix<const double> lower(factor.lower.entries.data(), n, n);
  const Matrix<const double> gram(grams.query.entries.data(), n, n);
  gemm(1.0, transpose(lower), gram, 0.0, Matrix<double>(half.data(), n, n));
  gemm(1.0, Matrix<const double>(half.data(), n, n), lower, 0.0,
       Matrix<double>(product.entries.data(), n, n));
  product.make_symmetric();
  gemm(1.0, transpose(lower), Matrix<const double>(head.query.offset.data(), n, 1), 0.0,
       Matrix<double>(offset.data(), n, 1));
  const double query = farthest(image_of(head, grams.query, head.query.offset), head.radius);
  const double key_spectral =
      std::sqrt(largest_eigenvalue(grams.key) + gemm_error(head.width) * grams.key.trace());
  const double key = key_spectral * head.radius + size_of(head.key.offset);
  // Two products of matrices of rank n, and the Gram matrices that they are made of.
  const double error = (2.0 * gemm_error(n) + 2.0 * gemm_error(head.width)) * static_cast<double>(n) *
                       grams.query.trace() * grams.key.trace();
  const double image = farthest({product, offset, error}, head.radius);
  const double of_offset = gemm_error(n) * size_of(head.query.offset) * std::sqrt(grams.key.trace());
  const double largest =
      std::sqrt(image * image + (factor.error + gemm_error(head.width) * grams.key.trace()) * query * query) +
      of_offset;
  const double query_error = size_of(head.query.rounding);
  const double key_error = error_of(head.key, size_of(head.key.rounding), key);
  const double in_float = query_error * (key + key_error) + query * key_error +
                          head.dot_error * (query + query_error) * (key + key_error);
  return 2.0 * head.scale * (head.radius * largest + in_float);
}

}  // namespace

double norm_bound(const FoldedHead& head) {
  const Grams grams(head);
  return head.pairs > 0 ? turned_bound(head, grams) : plain_bound(head, grams);
}

double capped_spread(double spread, double cap) {
  // Of two scores a fixed distance apart, tanh leaves most where they lie symmetric about 0. Computed in
  // float by the forward pass, which may lift it by a few roundings of the cap.
  constexpr double kRoundings = 8.0 * 0x1p-24;
  return cap > 0 ? 2.0 * cap * (std::tanh(spread / (2.0 * cap)) + kRoundings) : spread;
}

// The best input of radius r for a direction y of the query is r Q^T y / |Q^T y|, and its query is
// r G y / sqrt(y . G y) + q0 with G = Q Q^T: nothing wider than a head is ever touched.

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
