#include "report/figure/retrieval_rows.h"

#include <algorithm>

#include "report/figure/values.h"

namespace sharpmax::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kFewCurves = 5;
constexpr std::string_view kMainCurves[] = {"softmax", "adaptive", "entropy_target", "hard"};

}  // namespace

RetrievalRows::RetrievalRows(const Json& results) : results_(results) {
  for (const Json& row : results.at("summary")) {
    add_once(arms_, row.at("arm").get<std::string>());
    add_once(normalizers_, row.at("normalizer").get<std::string>());
    add_once(sizes_, row.at("n").get<double>());
  }
  std::sort(sizes_.begin(), sizes_.end());
  looks_ = looks_of(normalizers_);
}

std::optional<std::string> RetrievalRows::member(std::string_view family) const {
  for (const std::string& name : normalizers_)
    if (family_of(name) == family) return name;
  return std::nullopt;
}

Look RetrievalRows::look(const std::string& normalizer) const {
  const auto found = std::find(normalizers_.begin(), normalizers_.end(), normalizer);
  return looks_[static_cast<std::size_t>(found - normalizers_.begin())];
}

std::vector<const Json*> RetrievalRows::rows(const std::string& arm, const std::string& normalizer) const {
  std::vector<const Json*> found;
  for (const Json& row : results_.at("summary"))
    if (row.at("arm") == arm && row.at("normalizer") == normalizer) found.push_back(&row);
  std::stable_sort(found.begin(), found.end(), [](const Json* a, const Json* b) {
    return a->at("n").get<double>() < b->at("n").get<double>();
  });
  return found;
}

std::vector<std::string> RetrievalRows::main_normalizers() const {
  if (normalizers_.size() <= kFewCurves) return normalizers_;
  std::vector<std::string> found;
  for (const std::string_view family : kMainCurves)
    if (const auto name = member(family)) found.push_back(*name);
  if (found.empty()) found.push_back(normalizers_.front());
  return found;
}

std::optional<std::string> RetrievalRows::paper_arm() const {
  if (holds(arms_, std::string("paper"))) return "paper";
  return std::nullopt;
}

std::optional<std::string> RetrievalRows::our_arm() const {
  for (const std::string& arm : arms_)
    if (arm.starts_with("sharp")) return arm;
  for (const std::string& arm : arms_)
    if (arm != "paper") return arm;
  return std::nullopt;
}

double RetrievalRows::chance() const {
  const Json& arms = results_.at("arms");
  return arms.empty() ? 0.1 : 1.0 / arms.at(0).at("training").at("classes").get<double>();
}

double RetrievalRows::largest_trained() const {
  double most = 0.0;
  for (const Json& arm : results_.at("arms"))
    most = std::max(most, arm.at("training").at("largest_size").get<double>());
  return most;
}

}  // namespace sharpmax::report
