// The measured rows of max retrieval, and the few questions that every picture and table asks of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/kind/reading.h"
#include "report/view/looks.h"

namespace sharpmax::report {

class RetrievalRows {
 public:
  explicit RetrievalRows(const Json& results);

  const std::vector<std::string>& arms() const { return arms_; }
  const std::vector<std::string>& normalizers() const { return normalizers_; }
  const std::vector<double>& sizes() const { return sizes_; }
  const Json& results() const { return results_; }

  // The first normalizer of this family.
  std::optional<std::string> member(std::string_view family) const;
  Look look(const std::string& normalizer) const;
  // Of the summary, by size.
  std::vector<const Json*> rows(const std::string& arm,
                                                  const std::string& normalizer) const;
  // Those that are drawn where there are many.
  std::vector<std::string> main_normalizers() const;
  // The arm that stands for paper A, and the one that stands for us.
  std::optional<std::string> paper_arm() const;
  std::optional<std::string> our_arm() const;
  const Json* row(const std::string& arm, const std::string& normalizer, double n) const;
  double chance() const;
  double largest_trained() const;

 private:
  const Json& results_;
  std::vector<std::string> arms_, normalizers_;
  std::vector<double> sizes_;
  std::vector<Look> looks_;
};

// Two sections: what no input can do, and all numbers. Throws Error{bad_argument} if the summary has a row that was not measured.
std::vector<Section> retrieval_numbers(const Json& results);

// What is drawn of max retrieval.

// Every normalizer has a curve; those beyond a few are not drawn at first.
Chart accuracy_chart(const RetrievalRows& rows, const std::string& arm);
Chart entropy_chart(const RetrievalRows& rows, const std::string& arm);
// Without curves where the results do not hold all four.
Chart two_by_two_chart(const RetrievalRows& rows);
// A curve of one arm and normalizer.
Curve accuracy_curve(const RetrievalRows& rows, const std::string& arm, const std::string& normalizer);
Curve entropy_curve(const RetrievalRows& rows, const std::string& arm, const std::string& normalizer);

// The 95 % interval in per cent: 97.1–98.9.
std::string accuracy_ends(const Json& row);

// Which sets were lost to dispersion and which to ranking, by size.
Bars failure_bars(const RetrievalRows& rows, const std::string& arm, const std::string& normalizer);
// Paper A's figure 2: one panel per size, one line of panels for each arm and normalizer. Those that the story is about are on paper too.
HeatMaps heat_maps_of(const RetrievalRows& rows);

}  // namespace sharpmax::report
