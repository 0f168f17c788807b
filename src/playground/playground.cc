#include "playground/playground.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "base/numbers.h"
#include "normalizer/definition.h"
#include "sharpmax/error.h"
#include "sharpmax/normalizer.h"

namespace sharpmax::playground {
namespace {

// The words of the family are printable ASCII, and a test reads them all back.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

template <class Items, class Text>
std::string array_of(const Items& items, Text&& text) {
  std::string out = "[";
  for (const auto& item : items) {
    if (out.size() > 1) out += ',';
    out += text(item);
  }
  return out + ']';
}

// A choice is written as its word, one number as itself, several as an array.
std::string default_of(const ParameterInfo& parameter) {
  const std::vector<double>& values = parameter.default_value;
  if (values.size() != 1) return array_of(values, decimal_text);
  if (parameter.choices.empty()) return decimal_text(values[0]);
  return quoted(parameter.choices[std::isnan(values[0]) ? 0 : static_cast<std::size_t>(values[0])]);
}

std::string parameter_json(const ParameterInfo& parameter) {
  return "{\"name\":" + quoted(parameter.name) + ",\"default\":" + default_of(parameter) +
         ",\"domain\":" + quoted(parameter.domain) +
         ",\"learnable\":" + (parameter.learnable ? "true" : "false") +
         ",\"choices\":" + array_of(parameter.choices, quoted) + '}';
}

std::string member_json(const NormalizerInfo& member) {
  return "{\"name\":" + quoted(member.name) + ",\"aliases\":" + array_of(member.aliases, quoted) +
         ",\"formula\":" + quoted(member.formula) +
         ",\"parameters\":" + array_of(member.parameters, parameter_json) +
         ",\"needs_queries_and_keys\":false,\"peak_as_n_grows\":" + quoted(member.peak_as_n_grows) + '}';
}

}  // namespace

std::string family_json() {
  std::vector<NormalizerInfo> members;
  for (NormalizerInfo& member : family()) {
    if (!member.needs_queries_and_keys) members.push_back(std::move(member));
  }
  return "{\"largest_row\":" + std::to_string(kLargestRow) +
         ",\"statistics\":" + array_of(kStatistics, quoted) +
         ",\"normalizers\":" + array_of(members, member_json) + '}';
}

}  // namespace sharpmax::playground

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
