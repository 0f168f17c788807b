#include "report/view/looks.h"

#include <set>
#include <utility>

namespace sharpmax::report {
namespace {

constexpr Paint kHues[] = {Paint::vermillion, Paint::green, Paint::purple, Paint::sky,
                           Paint::amber,      Paint::blue,  Paint::brown,  Paint::grey};
constexpr std::string_view kDashes[] = {"", "9 4", "4 3", "12 3 2 3"};
constexpr std::pair<std::string_view, Paint> kOwn[] = {
    {"softmax", Paint::vermillion}, {"entropy_target", Paint::green}, {"adaptive", Paint::purple},
    {"peak_target", Paint::sky},    {"softpick", Paint::amber},       {"hard", Paint::grey},
};
constexpr Paint kInOrder[] = {Paint::blue,       Paint::sky,    Paint::green, Paint::amber,
                              Paint::vermillion, Paint::purple, Paint::brown, Paint::grey};

class Given {
 public:
  explicit Given(std::size_t count) : looks_(count), has_(count) {}
  bool has(std::size_t i) const { return has_[i]; }
  void take(std::size_t i, Paint paint, std::string_view dash) {
    if (has_[i] || !taken_.emplace(paint, dash).second) return;
    looks_[i] = {paint, dash};
    has_[i] = true;
  }
  void share(std::size_t i, Look look) { looks_[i] = look; }
  std::vector<Look> looks() && { return std::move(looks_); }

 private:
  std::vector<Look> looks_;
  std::vector<bool> has_;
  std::set<std::pair<Paint, std::string_view>> taken_;
};

}  // namespace

std::string family_of(std::string_view normalizer) {
  return std::string(normalizer.substr(0, normalizer.find(':')));
}

std::vector<Look> looks_of(std::span<const std::string> normalizers) {
  Given given(normalizers.size());
  for (std::size_t i = 0; i < normalizers.size(); ++i)
    for (const auto& [name, paint] : kOwn)
      if (family_of(normalizers[i]) == name) given.take(i, paint, kDashes[0]);
  for (std::size_t i = 0; i < normalizers.size(); ++i) {
    for (const std::string_view dash : kDashes)
      for (const Paint paint : kHues) given.take(i, paint, dash);
    if (!given.has(i)) given.share(i, {Paint::grey, kDashes[3]});
  }
  return std::move(given).looks();
}

Paint nth_paint(std::size_t i) { return kInOrder[i % std::size(kInOrder)]; }

}  // namespace sharpmax::report
