// Small words about numbers that many files need.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace sharpmax {

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// A count, which the interfaces hold as a signed number, as the size of a container.
constexpr std::size_t to_size(std::int64_t n) noexcept { return static_cast<std::size_t>(n); }

// Numbers as text, the same on every machine and in every locale.

// The double nearest to a decimal number such as -1.5e3. None if the text is anything else, has anything
// around it, or is out of range.
std::optional<double> parse_decimal(std::string_view text);

// The shortest digits that read back as the same double.
std::string decimal_text(double value);

// A sum whose rounding error does not grow with the number of terms (Neumaier's form of Kahan's).
//
// The specification is what the kernels are measured against, so over 10^6 keys it must not itself
// be wrong by 10^6 eps. Error: 2 eps relative to the sum, for terms of one sign.
class CompensatedSum {
 public:
  void add(double term) noexcept {
    const double next = sum_ + term;
    lost_ += std::abs(sum_) >= std::abs(term) ? (sum_ - next) + term : (term - next) + sum_;
    sum_ = next;
  }
  double value() const noexcept { return sum_ + lost_; }

 private:
  double sum_ = 0.0;
  double lost_ = 0.0;
};

// Numbers in sentences.

std::string grouped(long long n);       // 1,048,576
std::string one_decimal(double value);   // 5.7; from 100 on whole: 1,234
std::string duration(double seconds);   // 5 s, 3 min 07 s, 2 h 05 min; ? for not-a-number

// "42 %, 3 s left": of work of which `done` of `whole` took so many seconds.
std::string share_left(double done, double whole, double seconds);

}  // namespace sharpmax
