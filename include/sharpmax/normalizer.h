// The normalizers: small values that say how a row of scores becomes a row of weights.
//
//   AnyNormalizer a = Softmax{.beta = 2};
//   AnyNormalizer b = AnyNormalizer::parse("entropy_target:nats=0.5");
//   AnyNormalizer c = CustomNormalizer{.name = "mine", .weigh = ...};  // a rule of your own
//
// In the formulas e_j is a score, n the number of unmasked keys of the row, m the largest
// score. What each does to the peak weight as n grows stands in docs/reference/normalizers.md and in
// family(). Parameters that take one value per head are written 1/2/3 in text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sharpmax {

// A parameter of a normalizer: one value for every query head, or one each.
class Parameter {
 public:
  Parameter(double value) : values_{value} {}
  Parameter(std::vector<double> values) : values_(std::move(values)) {}
  Parameter(std::initializer_list<double> values) : values_(values) {}

  std::span<const double> values() const noexcept { return values_; }
  double of_head(std::size_t head) const noexcept {
    return values_.size() == 1 ? values_[0] : values_[head];
  }
  // NaN lets a rule choose for itself. Here it equals NaN, or such a value would not equal its copy.
  bool operator==(const Parameter& other) const noexcept {
    return std::equal(values_.begin(), values_.end(), other.values_.begin(), other.values_.end(),
                      [](double a, double b) { return a == b || (a != a && b != b); });
  }

 private:
  std::vector<double> values_;
};

// Whether rules that choose their own temperature are differentiated through that choice.
enum class TemperatureGradient { stopped, full };

struct Softmax {  // exp(beta e_j) / sum
  Parameter beta = 1.0;
};
struct Adaptive {  // softmax with beta = max(1, polynomial(H)) where H > threshold, else 1
  std::vector<double> polynomial = {-0.037, 0.481, -2.3, 4.917, -1.791};  // highest degree first
  double threshold = 0.5;                                                 // nats
  TemperatureGradient gradient = TemperatureGradient::stopped;
};
struct EntropyTarget {  // softmax with the least beta >= 1 for which H <= nats
  Parameter nats = 0.5;
  TemperatureGradient gradient = TemperatureGradient::stopped;
};
struct PeakTarget {  // softmax with the least beta >= 1 for which the largest weight >= weight
  Parameter weight = 0.5;
  TemperatureGradient gradient = TemperatureGradient::stopped;
};
struct Ssmax {  // softmax with beta = s ln n + b
  Parameter s = 1.0;
  Parameter b = 0.0;
};
struct LogLength {  // softmax with a beta that grows with n by one of four published rules
  enum class Preset {
    qwen,          // max(1, ln n / ln length)
    llama4,        // 1 + a ln(1 + floor(n / floor))
    yarn,          // (0.1 ln(max(1, factor)) + 1)^2, the model's own factor
    yarn_dynamic,  // the same with factor = n / length
  };
  Preset preset = Preset::qwen;
  double length = 1024;  // qwen, yarn_dynamic: the trained length
  double a = 0.1;        // llama4
  double floor = 8192;   // llama4
  double factor = 1;     // yarn
};
struct Sparsemax {};  // [e_j - tau]+
struct Entmax15 {};   // [e_j / 2 - tau]+^2
struct Entmax {       // [(alpha - 1) e_j - tau]+^(1 / (alpha - 1)), alpha in [1, 16]
  Parameter alpha = 1.5;
};
struct Asentmax {  // entmax of (delta + beta (ln(n + 1))^gamma) e_j
  Parameter alpha = 1.5;
  Parameter delta = 1.0;
  Parameter beta = 1.0;
  Parameter gamma = 1.0;
};
struct TopK {  // softmax over the k largest; of equal scores the lowest index wins
  double k = 8;
  Parameter beta = 1.0;
};
struct Hard {};  // one-hot at the largest; backpropagates as softmax at beta = 1
struct Sink {    // exp(e_j) / (c + sum); c = 1 is softmax1
  Parameter c = 1.0;
};
struct Softpick {};  // max(exp(e_j) - 1, 0) / sum |exp(e) - 1|; 0 / 0 is 0
struct Sigmoid {     // 1 / (1 + exp(-(e_j + b))); b not a number: -ln n
  Parameter b = std::numeric_limits<double>::quiet_NaN();
};
struct StickBreaking {};  // sigma(e_j) prod_{k > j} (1 - sigma(e_k)), newest key first
struct SelfAdjust {       // (e_j - min(e_min, 0)) / (max(e_max, 0) - min(e_min, 0)) softmax_j
  enum class Form { scaled, plain };  // plain: e_j softmax_j
  Form form = Form::scaled;
};
struct Relu {};    // max(e_j, 0) / n
struct Linear {};  // phi(q) . phi(k_j) / sum, phi = elu + 1; `attend` only

// A rule of your own. It runs wherever a member of the family does, row by row in double: exact, and
// slower than the members that have kernels.
//
// Both functions see the unmasked keys of one row, at least one, with finite scores. Masked, empty and
// poisoned rows never reach them. They must accept calls from several threads at a time. An exception that
// they throw reaches the caller of attend() or normalize() as it is.
struct CustomNormalizer {
  std::string name;  // not empty, and not the name of a member of the family

  // Writes weights, which arrive as zeros. Any finite numbers, of any sum. A NaN or an infinity makes the
  // whole row NaN.
  std::function<void(std::span<const double> scores, std::span<double> weights)> weigh;

  // Writes d_scores, which arrive as zeros: the transposed Jacobian of weigh() times d_weights. Optional:
  // without it the backward functions throw Error{unsupported}.
  std::function<void(std::span<const double> scores, std::span<const double> weights,
                     std::span<const double> d_weights, std::span<double> d_scores)>
      backward = {};
};

struct Definition;  // src/normalizer/definition.h

// Any member of the family with its parameters, or a rule of your own. A value: copy it, compare it, send
// it as text. A custom normalizer equals its copies and nothing else, and parse() does not find its name.
class AnyNormalizer {
 public:
  AnyNormalizer(const Softmax&);
  AnyNormalizer(const Adaptive&);
  AnyNormalizer(const EntropyTarget&);
  AnyNormalizer(const PeakTarget&);
  AnyNormalizer(const Ssmax&);
  AnyNormalizer(const LogLength&);
  AnyNormalizer(const Sparsemax&);
  AnyNormalizer(const Entmax15&);
  AnyNormalizer(const Entmax&);
  AnyNormalizer(const Asentmax&);
  AnyNormalizer(const TopK&);
  AnyNormalizer(const Hard&);
  AnyNormalizer(const Sink&);
  AnyNormalizer(const Softpick&);
  AnyNormalizer(const Sigmoid&);
  AnyNormalizer(const StickBreaking&);
  AnyNormalizer(const SelfAdjust&);
  AnyNormalizer(const Relu&);
  AnyNormalizer(const Linear&);
  AnyNormalizer(CustomNormalizer);  // throws Error if the name is empty or taken, or weigh is missing

  // By name, as parse() and the other languages do it. Parameters left out have their default.
  using NamedParameter = std::pair<std::string_view, Parameter>;
  explicit AnyNormalizer(std::string_view name, std::initializer_list<NamedParameter> parameters = {});
  AnyNormalizer(std::string_view name, std::span<const NamedParameter> parameters);

  // "softmax", "softmax:beta=2", "ssmax:s=0.4/0.5,b=0". Throws Error with the column of the mistake.
  static AnyNormalizer parse(std::string_view text);

  std::string_view name() const noexcept;
  std::string text() const;  // parse(text()) gives back this value, bit for bit; a custom one: its name
  const Definition& definition() const noexcept { return *definition_; }
  std::span<const Parameter> parameters() const noexcept { return parameters_; }  // in definition order
  bool operator==(const AnyNormalizer&) const = default;

 private:
  std::shared_ptr<const Definition> definition_;  // a member's lives as long as the program; no count is kept
  std::vector<Parameter> parameters_;
};

// What a person may want to know of one member without calling it.
struct ParameterInfo {
  std::string_view name;
  std::vector<double> default_value;
  std::string_view domain;     // in words: "a number in [1, 16]"
  bool learnable;              // has a gradient
  std::vector<std::string_view> choices;  // by name, where the value is one of a few words
};
struct NormalizerInfo {
  std::string_view name;
  std::vector<std::string_view> aliases;
  std::string_view formula;
  std::string_view peak_as_n_grows;  // the theorem or the counter-example, in one line
  std::vector<ParameterInfo> parameters;
  bool needs_queries_and_keys;  // true for linear: `attend` only
};
std::vector<NormalizerInfo> family();  // every member, in the order of docs/reference/normalizers.md

}  // namespace sharpmax
