#include <algorithm>
#include <cmath>

#include "base/numbers.h"
#include "normalizer/definition.h"

namespace sharpmax {
namespace {

// ln(1 + exp(x)) = -ln(1 - sigma(x)): what key x leaves of the stick, as a logarithm.
double softplus(double x) noexcept { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

RowFacts weigh(const HeadParameters&, std::span<const double> scores, std::span<double> weights) {
  CompensatedSum broken_off;  // -ln of the rest of the stick
  for (std::size_t j = scores.size(); j-- > 0;) {
    weights[j] = std::exp(-softplus(-scores[j]) - broken_off.value());
    broken_off.add(softplus(scores[j]));
  }
  return {};
}

void backward(const HeadParameters&, std::span<const double> scores, std::span<const double> weights,
              std::span<const double> d_weights, std::span<double> d_scores, std::span<double>) {
  CompensatedSum older;  // sum of w_j d_w_j over the keys that key k leaves less for
  for (std::size_t k = 0; k < scores.size(); ++k) {
    const double own = weights[k] * d_weights[k];
    d_scores[k] = own * std::exp(-softplus(scores[k])) - std::exp(-softplus(-scores[k])) * older.value();
    older.add(own);
  }
}

}  // namespace

AnyNormalizer::AnyNormalizer(const StickBreaking&) : AnyNormalizer("stick_breaking") {}

const Definition& stick_breaking() {
  static const Definition definition{
      .order = 160,
      .name = "stick_breaking",
      .aliases = {},
      .formula = "sigma(e_j) prod_{k > j} (1 - sigma(e_k)), newest key first",
      .peak_as_n_grows =
          "never below sigma(newest score): older keys, however many, share what newer ones leave; but a "
          "winner at age a is damped by prod (1 - sigma) over the a newer keys",
      .parameters = {},
      .weigh = weigh,
      .backward = backward,
      .rule = [](const HeadParameters&, double) { return Rule{.kind = RuleKind::stick_breaking}; },
  };
  return definition;
}

}  // namespace sharpmax
