#include "report/figure/drawing/palette.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

namespace sharpmax::report {
namespace {

constexpr Shades kShades[] = {
    {"vermillion", "#c24e00", "#ff8b4a"}, {"green", "#00805c", "#3ccb9c"}, {"purple", "#a8467f", "#ee9bcb"},
    {"sky", "#2484bb", "#69c3f5"},        {"amber", "#a87200", "#efb437"}, {"blue", "#1f4fa8", "#8aabff"},
    {"brown", "#7d5a3c", "#cfa986"},      {"grey", "#50585f", "#bcc5cc"},  {"ink", "#1c2024", "#e9ecee"},
    {"quiet", "#5b646d", "#a3adb5"},      {"line", "#dfe3e6", "#343b41"},  {"tint", "#f0f3f4", "#24292e"},
    {"card", "#ffffff", "#14171a"},
};
constexpr Paint kHues[] = {Paint::vermillion, Paint::green, Paint::purple, Paint::sky,
                           Paint::amber,      Paint::blue,  Paint::brown,  Paint::grey};
constexpr std::string_view kDashes[] = {"", "9 4", "4 3", "12 3 2 3"};
constexpr std::pair<std::string_view, Paint> kOwn[] = {
    {"softmax", Paint::vermillion}, {"entropy_target", Paint::green}, {"adaptive", Paint::purple},
    {"peak_target", Paint::sky},    {"softpick", Paint::amber},       {"hard", Paint::grey},
};
constexpr Paint kInOrder[] = {Paint::blue,       Paint::sky,    Paint::green, Paint::amber,
                              Paint::vermillion, Paint::purple, Paint::brown, Paint::grey};

// Nuñez, Anderton and Renslow 2018: reads the same to colour-blind eyes. Evenly spaced stops.
constexpr std::array<std::array<int, 3>, 10> kRamp = {{{0, 34, 78},
                                                       {18, 53, 112},
                                                       {59, 73, 108},
                                                       {87, 93, 109},
                                                       {112, 113, 115},
                                                       {138, 134, 120},
                                                       {165, 156, 116},
                                                       {195, 179, 105},
                                                       {225, 204, 85},
                                                       {254, 232, 56}}};

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

const Shades& shades_of(Paint paint) { return kShades[static_cast<std::size_t>(paint)]; }

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

std::string ramp(double share) {
  const double place = std::clamp(share, 0.0, 1.0) * static_cast<double>(kRamp.size() - 1);
  const auto low = std::min(kRamp.size() - 2, static_cast<std::size_t>(place));
  std::string colour = "#";
  for (std::size_t i = 0; i < 3; ++i) {
    const double from = kRamp[low][i], to = kRamp[low + 1][i];
    colour += fmt::format("{:02x}", std::lround(from + (to - from) * (place - static_cast<double>(low))));
  }
  return colour;
}

}  // namespace sharpmax::report
