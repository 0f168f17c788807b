// The measured rows of max retrieval, and the few questions that every figure asks of them (page/results.js).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/svg/drawn.h"
#include "report/view/looks.h"

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

// What is drawn of max retrieval.

Chart accuracy_chart(const nlohmann::ordered_json& results, const RetrievalRows& rows,
                     const std::string& arm);
Chart entropy_chart(const RetrievalRows& rows, const std::string& arm);
// Without curves where the results do not hold all four.
Chart two_by_two_chart(const RetrievalRows& rows);

// Which sets were lost to dispersion and which to ranking, by size; empty where there is none.
std::string failure_figure(const nlohmann::ordered_json& results, const RetrievalRows& rows);
// Paper A's figure 2: one panel a size, one line of panels for each arm and normalizer.
std::string heat_map_figure(const nlohmann::ordered_json& results, const RetrievalRows& rows);

}  // namespace sharpmax::report
