// The JSON of a retrieval run, asked by arm, normalizer and size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/console.h"

namespace sharpmax::cli {

std::string percent(double share);  // "98.9", and "-" for NaN

class RetrieveView {
 public:
  explicit RetrieveView(const Json& results);

  const Json& json() const noexcept { return json_; }
  const std::vector<std::string>& arms() const noexcept { return arms_; }
  const std::vector<std::string>& normalizers() const noexcept { return normalizers_; }
  const std::vector<std::int64_t>& sizes() const noexcept { return sizes_; }  // from least to largest
  double chance(const std::string& arm) const;
  std::int64_t trained_up_to(const std::string& arm) const;

  // A number of "summary"; NaN where there is none.
  double value(const std::string& arm, const std::string& normalizer, std::int64_t n, const char* key) const;
  double accuracy(const std::string& arm, const std::string& normalizer, std::int64_t n) const {
    return value(arm, normalizer, n, "accuracy");
  }
  // Of "tests", softmax against this one; null where there is none.
  const Json* test(const std::string& arm, const std::string& normalizer, std::int64_t n) const;
  // Of the tested normalizers the one with this name: with its defaults, else the first; empty: none.
  std::string named(const std::string& name) const;
  bool has_arm(const std::string& arm) const;
  // By accuracy at size n, best first; hard is left out unless it is alone: it is no normalizer one can train with.
  std::vector<std::string> best_at(const std::string& arm, std::int64_t n) const;

 private:
  const Json& arm_settings(const std::string& arm) const;

  const Json& json_;
  std::vector<std::string> arms_, normalizers_;
  std::vector<std::int64_t> sizes_;
};

// As many sizes as fit, least and largest among them: of neighbours the closest go first.
std::vector<std::int64_t> thinned(std::vector<std::int64_t> sizes, std::size_t most);

}  // namespace sharpmax::cli
