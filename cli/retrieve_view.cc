#include "cli/retrieve_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace sharpmax::cli {
namespace {

bool is_of(const Json& entry, const std::string& arm, const char* key, const std::string& normalizer,
           std::int64_t n) {
  return entry["n"] == n && entry["arm"] == arm && entry[key] == normalizer;
}

}  // namespace

std::string percent(double share) { return std::isnan(share) ? "-" : fmt::format("{:.1f}", 100.0 * share); }

RetrieveView::RetrieveView(const Json& results) : json_(results) {
  for (const Json& arm : results["arms"]) arms_.push_back(arm["name"].get<std::string>());
  normalizers_ = results["settings"]["normalizers"].get<std::vector<std::string>>();
  sizes_ = results["settings"]["sizes"].get<std::vector<std::int64_t>>();
  std::sort(sizes_.begin(), sizes_.end());
}

const Json& RetrieveView::arm_settings(const std::string& arm) const {
  for (const Json& entry : json_["arms"])
    if (entry["name"] == arm) return entry["training"];
  return json_["arms"][0]["training"];
}

double RetrieveView::chance(const std::string& arm) const {
  return 1.0 / arm_settings(arm)["classes"].get<double>();
}
std::int64_t RetrieveView::trained_up_to(const std::string& arm) const {
  return arm_settings(arm)["largest_size"].get<std::int64_t>();
}

double RetrieveView::value(const std::string& arm, const std::string& normalizer, std::int64_t n,
                           const char* key) const {
  for (const Json& entry : json_["summary"])
    if (is_of(entry, arm, "normalizer", normalizer, n) && entry[key].is_number())
      return entry[key].get<double>();
  return std::numeric_limits<double>::quiet_NaN();
}

const Json* RetrieveView::test(const std::string& arm, const std::string& normalizer, std::int64_t n) const {
  for (const Json& entry : json_["tests"])
    if (is_of(entry, arm, "second", normalizer, n)) return &entry;
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
