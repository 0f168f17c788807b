#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cli/retrieve_report.h"

namespace sharpmax::cli {

std::string percent(double share) { return std::isnan(share) ? "-" : fmt::format("{:.1f}", 100.0 * share); }

RetrieveView::RetrieveView(const RetrievalResult& result) : result_(result), sizes_(result.settings.test.sizes) {
  for (const retrieval::Arm& arm : result.settings.arms) arms_.push_back(arm.name);
  for (const AnyNormalizer& normalizer : result.settings.test.normalizers) normalizers_.push_back(normalizer.text());
  std::sort(sizes_.begin(), sizes_.end());
}

const retrieval::TrainingSettings& RetrieveView::training(const std::string& arm) const {
  for (const retrieval::Arm& one : result_.settings.arms)
    if (one.name == arm) return one.training;
  return result_.settings.arms[0].training;
}

double RetrieveView::chance(const std::string& arm) const { return 1.0 / static_cast<double>(training(arm).classes); }
std::int64_t RetrieveView::trained_up_to(const std::string& arm) const { return training(arm).largest_size; }

double RetrieveView::value(const std::string& arm, const std::string& normalizer, std::int64_t n,
                           double RetrievalSummary::*number) const {
  for (const RetrievalSummary& entry : result_.summary)
    if (entry.n == n && entry.arm == arm && entry.normalizer == normalizer) return entry.*number;
  return std::numeric_limits<double>::quiet_NaN();
}

const RetrievalComparison* RetrieveView::comparison(const std::string& arm, const std::string& normalizer,
                                                    std::int64_t n) const {
  for (const RetrievalComparison& entry : result_.comparisons)
    if (entry.n == n && entry.arm == arm && entry.second == normalizer) return &entry;
  return nullptr;
}

std::string RetrieveView::named(const std::string& name) const {
  if (std::find(normalizers_.begin(), normalizers_.end(), name) != normalizers_.end()) return name;
  for (const std::string& text : normalizers_)
    if (text.substr(0, text.find(':')) == name) return text;
  return "";
}

bool RetrieveView::has_arm(const std::string& arm) const {
  return std::find(arms_.begin(), arms_.end(), arm) != arms_.end();
}

std::vector<std::string> RetrieveView::best_at(const std::string& arm, std::int64_t n) const {
  std::vector<std::string> best;
  for (const std::string& text : normalizers_)
    if (text != "hard" || normalizers_.size() == 1) best.push_back(text);
  std::stable_sort(best.begin(), best.end(), [&](const std::string& a, const std::string& b) {
    return accuracy(arm, a, n) > accuracy(arm, b, n);
  });
  return best;
}

std::vector<std::int64_t> thinned(std::vector<std::int64_t> sizes, std::size_t most) {
  while (sizes.size() > std::max<std::size_t>(most, 2)) {
    std::size_t closest = 1;
    const auto gap = [&](std::size_t i) {
      return static_cast<double>(sizes[i + 1]) / static_cast<double>(sizes[i - 1]);
    };
    for (std::size_t i = 2; i + 1 < sizes.size(); ++i)
      if (gap(i) < gap(closest)) closest = i;
    sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(closest));
  }
  return sizes;
}

}  // namespace sharpmax::cli
