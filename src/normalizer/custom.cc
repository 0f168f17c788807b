// A rule that the caller wrote, as a Definition like any member's.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "base/in_quotes.h"
#include "normalizer/definition.h"
#include "sharpmax/error.h"

namespace sharpmax {
namespace {

void check_custom(const CustomNormalizer& custom) {
  const auto refuse = [](const std::string& message) {
    throw Error(ErrorCode::bad_argument, "normalizer: " + message);
  };
  if (custom.name.empty()) refuse("a custom normalizer has no name; give it one");
  if (find_definition(custom.name) != nullptr) {
    refuse(
        fmt::format("the family has a {}; give the custom normalizer another name", in_quotes(custom.name)));
  }
  if (!custom.weigh) {
    refuse(fmt::format("the custom normalizer {} has no weigh; it must have one", in_quotes(custom.name)));
  }
}

// The definition refers to the name and the functions beside it.
class CustomDefinition {
 public:
  explicit CustomDefinition(CustomNormalizer custom) : custom_(std::move(custom)) {
    definition_.name = custom_.name;
    definition_.formula = "a function of the caller";
    definition_.peak_as_n_grows = "unknown";
    definition_.weigh = [this](const HeadParameters&, auto scores, auto weights) {
      return weigh(scores, weights);
    };
    definition_.rule = [](const HeadParameters&, double) { return Rule{.kind = RuleKind::specification}; };
    if (custom_.backward) {
      definition_.backward = [this](const HeadParameters&, auto scores, auto weights, auto d_weights,
                                    auto d_scores, auto) { backward(scores, weights, d_weights, d_scores); };
    } else {
      definition_.no_backward = [](const HeadParameters&) -> std::string_view {
        return "its CustomNormalizer was made without one";
      };
    }
  }
  CustomDefinition(const CustomDefinition&) = delete;
  CustomDefinition& operator=(const CustomDefinition&) = delete;

  const Definition& definition() const noexcept { return definition_; }

 private:
  RowFacts weigh(std::span<const double> scores, std::span<double> weights) const {
    std::fill(weights.begin(), weights.end(), 0.0);
    custom_.weigh(scores, weights);
    const auto is_finite = [](double w) { return std::isfinite(w); };
    if (!std::all_of(weights.begin(), weights.end(), is_finite)) {
      std::fill(weights.begin(), weights.end(), kNoValue);
    }
    return {};
  }

  void backward(std::span<const double> scores, std::span<const double> weights,
                std::span<const double> d_weights, std::span<double> d_scores) const {
    const bool poisoned = std::isnan(weights[0]);
    std::fill(d_scores.begin(), d_scores.end(), poisoned ? kNoValue : 0.0);
    if (!poisoned) custom_.backward(scores, weights, d_weights, d_scores);
  }

  CustomNormalizer custom_;
  Definition definition_{};
};

}  // namespace

AnyNormalizer::AnyNormalizer(CustomNormalizer custom) {
  check_custom(custom);
  const auto owner = std::make_shared<const CustomDefinition>(std::move(custom));
  definition_ = std::shared_ptr<const Definition>(owner, &owner->definition());
}

}  // namespace sharpmax
