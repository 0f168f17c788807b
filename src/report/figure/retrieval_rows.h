// The measured rows of max retrieval, and the few questions that every figure asks of them (page/results.js).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/figure/drawing/chart.h"
#include "report/figure/drawing/palette.h"

namespace sharpmax::report {

class RetrievalRows {
 public:
  explicit RetrievalRows(const nlohmann::ordered_json& results);

  const std::vector<std::string>& arms() const { return arms_; }
  const std::vector<std::string>& normalizers() const { return normalizers_; }
  const std::vector<double>& sizes() const { return sizes_; }

  // The first normalizer of this family.
  std::optional<std::string> member(std::string_view family) const;
  Look look(const std::string& normalizer) const;
  // Of the summary, by size.
  std::vector<const nlohmann::ordered_json*> rows(const std::string& arm,
                                                  const std::string& normalizer) const;
  // Those that are drawn where there are many.
  std::vector<std::string> main_normalizers() const;
  // The arm that stands for paper A, and the one that stands for us.
  std::optional<std::string> paper_arm() const;
  std::optional<std::string> our_arm() const;
  double chance() const;
  double largest_trained() const;

 private:
  const nlohmann::ordered_json& results_;
  std::vector<std::string> arms_, normalizers_;
  std::vector<double> sizes_;
  std::vector<Look> looks_;
};

}  // namespace sharpmax::report
