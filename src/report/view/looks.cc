#include "report/view/looks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "report/view/format.h"

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

namespace {

constexpr double kHair = 1e-9;  // so that a tick at the very end is not lost to rounding
constexpr int kMostDecades = 12;
constexpr double kNear = 0.65;  // of the step asked for: 2 rather than 5 where 3 would be right

}  // namespace

bool Axis::has(double value) const { return std::isfinite(value) && (kind == Kind::linear || value > 0.0); }

double Axis::share(double value) const {
  const auto place = [&](double v) { return kind == Kind::linear ? v : std::log(v); };
  if (!(low < high)) return 0.5;
  return (place(std::clamp(value, low, high)) - place(low)) / (place(high) - place(low));
}

Axis size_axis(std::string label, std::span<const double> sizes) {
  Axis axis{.kind = Axis::Kind::logarithmic, .low = 1.0, .high = 1.0, .label = std::move(label)};
  std::vector<double> known;
  for (const double n : sizes)
    if (axis.has(n)) known.push_back(n);
  if (known.empty()) return axis;
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  axis.low = known.front();
  axis.high = known.back();
  for (const double n : known) axis.ticks.push_back({n, short_count(n)});
  return axis;
}

Axis share_axis(std::string label) {
  Axis axis{.kind = Axis::Kind::linear, .low = 0.0, .high = 1.0, .label = std::move(label)};
  for (int fifth = 0; fifth <= 5; ++fifth)
    axis.ticks.push_back({fifth / 5.0, fmt::format("{}\u202f%", 20 * fifth)});
  return axis;
}

std::vector<double> round_ticks(double low, double high, int about) {
  if (!(low < high)) return {low};
  const double rough = (high - low) / about;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10.0 * power;
  for (const double factor : {5.0, 2.0, 1.0})
    if (factor * power >= kNear * rough) step = factor * power;
  std::vector<double> ticks;
  const double first = std::ceil(low / step - kHair);
  for (int i = 0; (first + i) * step <= high + kHair * step && i <= 4 * about; ++i)
    ticks.push_back((first + i) * step);
  return ticks;
}

Axis value_axis(std::string label, double low, double high) {
  if (!(low < high)) high = low + 1.0;
  Axis axis{.kind = Axis::Kind::linear, .low = low, .high = high, .label = std::move(label)};
  for (const double at : round_ticks(low, high, 5)) axis.ticks.push_back({at, plain_number(at)});
  return axis;
}

Axis decade_axis(std::string label, std::span<const double> values) {
  Axis axis{.kind = Axis::Kind::logarithmic, .low = 0.1, .high = 1.0, .label = std::move(label)};
  double least = 0.0, most = 0.0;
  for (const double value : values) {
    if (!axis.has(value)) continue;
    least = least == 0.0 ? value : std::min(least, value);
    most = std::max(most, value);
  }
  int from = -1, to = 0;
  if (least > 0.0) {
    from = static_cast<int>(std::floor(std::log10(least) + kHair));
    to = std::max(from + 1, static_cast<int>(std::ceil(std::log10(most) - kHair)));
  }
  axis.low = std::pow(10.0, from);
  axis.high = std::pow(10.0, to);
  const int every = 1 + (to - from) / kMostDecades;
  for (int e = from; e <= to; e += every)
    axis.ticks.push_back({std::pow(10.0, e), power_of_ten(std::pow(10.0, e))});
  return axis;
}

bool is_drawable(const Chart& chart) {
  return std::any_of(chart.curves.begin(), chart.curves.end(), [&](const Curve& curve) {
    return std::any_of(curve.points.begin(), curve.points.end(), [&](const Point& point) {
      return chart.across.has(point.at) && chart.up.has(point.value);
    });
  });
}

// Pools of neighbours: a pool stands where its members would be nearest to their wishes, and joins the pool
// before it where the two would overlap.
std::vector<double> pushed_apart(std::span<const double> wanted, double step, double low, double high) {
  std::vector<std::size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return wanted[a] < wanted[b]; });
  struct Pool {
    double wishes = 0.0;  // the sum of where its first would have to be
    std::size_t members = 0;
    double first(double step, double low, double high) const {
      const double room = high - step * static_cast<double>(members - 1);
      return std::max(low, std::min(room, wishes / static_cast<double>(members)));
    }
  };
  std::vector<Pool> pools;
  for (const std::size_t i : order) {
    Pool pool{wanted[i], 1};
    while (!pools.empty()) {
      const Pool& before = pools.back();
      const double end = before.first(step, low, high) + step * static_cast<double>(before.members);
      if (end <= pool.first(step, low, high)) break;
      const auto offset = step * static_cast<double>(before.members) * static_cast<double>(pool.members);
      pool = {before.wishes + pool.wishes - offset, before.members + pool.members};
      pools.pop_back();
    }
    pools.push_back(pool);
  }
  std::vector<double> places(wanted.size());
  std::size_t next = 0;
  for (const Pool& pool : pools)
    for (std::size_t k = 0; k < pool.members; ++k)
      places[order[next++]] = pool.first(step, low, high) + step * static_cast<double>(k);
  return places;
}

}  // namespace sharpmax::report
