#include "playground/playground.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "normalizer/definition.h"
#include "playground/family_json.h"
#include "sharpmax/error.h"

namespace sharpmax::playground {
namespace {

std::string& message() {
  static std::string text;
  return text;
}

[[noreturn]] void refuse(const std::string& sentence) { throw Error(ErrorCode::bad_argument, sentence); }

// The doors of the library hold one normalizer for many heads; a row here has one head.
AnyNormalizer normalizer_of(const char* text) {
  AnyNormalizer normalizer = AnyNormalizer::parse(text);
  if (normalizer.definition().needs_queries_and_keys) {
    refuse(fmt::format("playground: {} needs queries and keys; here are scores alone", normalizer.name()));
  }
  check_heads(normalizer, 1, "playground");
  return normalizer;
}

std::vector<double> sharpened(std::span<const double> scores, double beta) {
  if (scores.empty()) refuse("playground: the row has no scores; it must have at least one");
  if (scores.size() > kLargestRow) {
    refuse(fmt::format("playground: the row has {} scores; it may have {}", scores.size(), kLargestRow));
  }
  if (!std::isfinite(beta)) refuse("playground: beta is not a finite number");
  std::vector<double> row(scores.begin(), scores.end());
  for (double& score : row) {
    score *= beta;
    if (!std::isfinite(score)) refuse("playground: a score, or beta times a score, is not a finite number");
  }
  return row;
}

std::array<double, kStatistics.size()> values_of(const Distribution& d, const RowFacts& facts) {
  return {d.entropy,
          d.peak_weight,
          static_cast<double>(d.peak),
          d.effective_support,
          static_cast<double>(d.support),
          d.mass,
          facts.temperature,
          facts.threshold,
          facts.log_partition};
}

// Whether it went without an Error; else its sentence is kept.
template <class Work>
bool succeeds(Work&& work) noexcept {
  try {
    work();
    return true;
  } catch (const std::exception& problem) {
    message() = problem.what();
    return false;
  }
}

}  // namespace
}  // namespace sharpmax::playground

extern "C" {

using namespace sharpmax::playground;

const char* sharpmax_family() {
  static const std::string text = family_json();
  return text.c_str();
}

bool sharpmax_is_normalizer(const char* normalizer) {
  return succeeds([&] { normalizer_of(normalizer); });
}

bool sharpmax_weigh(const char* normalizer, const double* scores, std::size_t n, double beta, double* weights,
                    double* statistics) {
  return succeeds([&] {
    const sharpmax::AnyNormalizer rule = normalizer_of(normalizer);
    const std::vector<double> row = sharpened({scores, n}, beta);
    std::vector<double> made(n);
    const sharpmax::RowFacts facts = sharpmax::weigh_row(rule, 0, row, made);
    const auto values = values_of(sharpmax::distribution_of(row, made), facts);
    std::copy(made.begin(), made.end(), weights);
    std::copy(values.begin(), values.end(), statistics);
  });
}

const char* sharpmax_message() { return message().c_str(); }

void* sharpmax_allocate(std::size_t bytes) { return std::malloc(bytes); }
void sharpmax_free(void* memory) { std::free(memory); }

}  // extern "C"
