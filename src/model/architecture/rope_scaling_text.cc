#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/in_quotes.h"
#include "model/architecture/configuration.h"
#include "sharpmax/error.h"

namespace sharpmax::model {
namespace {

[[noreturn]] void refuse(std::string_view text, std::string_view wanted) {
  throw Error(ErrorCode::bad_argument, fmt::format("rope scaling {}: {}", in_quotes(text), wanted));
}

double number_in(std::string_view text, std::string_view part) {
  double value = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
  if (error != std::errc() || end != part.data() + part.size() || !std::isfinite(value) || value <= 0)
    refuse(text, fmt::format("{} is not a positive number", in_quotes(part)));
  return value;
}

RopeScaling::Kind kind_in(std::string_view text, std::string_view name) {
  using enum RopeScaling::Kind;
  if (name == "none") return none;
  if (name == "linear") return linear;
  if (name == "ntk") return ntk;
  if (name == "yarn") return yarn;
  refuse(text, "none, linear:FACTOR, ntk:FACTOR or yarn:FACTOR was wanted");
}

void set_value(RopeScaling& scaling, std::string_view text, std::string_view name, double value) {
  if (name == "factor") {
    scaling.factor = value;
    return;
  }
  double* const field = scaling.kind != RopeScaling::Kind::yarn ? nullptr
                        : name == "original"                    ? &scaling.original_length
                        : name == "attention"                   ? &scaling.attention_factor
                        : name == "beta_fast"                   ? &scaling.beta_fast
                        : name == "beta_slow"                   ? &scaling.beta_slow
                                                                : nullptr;
  if (!field) refuse(text, fmt::format("there is no {} to set here", in_quotes(name)));
  *field = value;
}

}  // namespace

RopeScaling parse_rope_scaling(std::string_view text, std::int64_t trained) {
  RopeScaling scaling;
  const std::size_t colon = text.find(':');
  scaling.kind = kind_in(text, text.substr(0, colon));
  scaling.original_length = static_cast<double>(trained);
  if (scaling.kind == RopeScaling::Kind::none) {
    if (colon != std::string_view::npos) refuse(text, "none has nothing to set");
    return {};
  }
  std::string_view rest = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  bool has_factor = false;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    const std::size_t equals = part.find('=');
    const std::string_view name = equals == std::string_view::npos ? "factor" : part.substr(0, equals);
    set_value(scaling, text, name,
              number_in(text, equals == std::string_view::npos ? part : part.substr(equals + 1)));
    has_factor |= name == "factor";
    rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
  }
  if (!has_factor) refuse(text, "a factor was wanted, as in linear:2");
  return scaling;
}

}  // namespace sharpmax::model
