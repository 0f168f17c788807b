// A retrieval run for people: its results asked by arm, normalizer and size, and its text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sharpmax/retrieval.h"

namespace sharpmax::cli {

// The whole text.
std::string retrieval_report(const RetrievalResult& result, bool colour);

std::string percent(double share);  // "98.9", and "-" for NaN

class RetrieveView {
 public:
  explicit RetrieveView(const RetrievalResult& result);

  const RetrievalResult& result() const noexcept { return result_; }
  const std::vector<std::string>& arms() const noexcept { return arms_; }
  const std::vector<std::string>& normalizers() const noexcept { return normalizers_; }
  const std::vector<std::int64_t>& sizes() const noexcept { return sizes_; }  // from least to largest
  double chance(const std::string& arm) const;
  std::int64_t trained_up_to(const std::string& arm) const;

  // A number of the summary; NaN if there is none.
  double value(const std::string& arm, const std::string& normalizer, std::int64_t n, double RetrievalSummary::*number) const;
  double accuracy(const std::string& arm, const std::string& normalizer, std::int64_t n) const {
    return value(arm, normalizer, n, &RetrievalSummary::accuracy);
  }
  // Softmax against this one; null if they were not compared.
  const RetrievalComparison* comparison(const std::string& arm, const std::string& normalizer, std::int64_t n) const;
  // Of the tested normalizers the one with this name: with its defaults, else the first; empty: none.
  std::string named(const std::string& name) const;
  bool has_arm(const std::string& arm) const;
  // By accuracy at size n, best first. Hard is left out unless it is alone: it cannot be trained with.
  std::vector<std::string> best_at(const std::string& arm, std::int64_t n) const;

 private:
  const retrieval::TrainingSettings& training(const std::string& arm) const;

  const RetrievalResult& result_;
  std::vector<std::string> arms_, normalizers_;
  std::vector<std::int64_t> sizes_;
};

// As many sizes as fit, least and largest among them: of neighbours the closest go first.
std::vector<std::int64_t> thinned(std::vector<std::int64_t> sizes, std::size_t most);

}  // namespace sharpmax::cli
