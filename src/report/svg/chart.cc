// Pictures with axes: charts and bars.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "report/svg/figures.h"
#include "report/svg/svg.h"
#include "report/view/format.h"
#include "report/view/looks.h"

namespace sharpmax::report {
namespace {

constexpr double kPlotHeight = 280.0, kLabelStep = 17.0, kInset = 8.0, kLeader = 16.0;
constexpr double kMostLabel = 300.0;  // pixels of a name at the end of a curve
constexpr double kTickGap = 8.0, kBandOpacity = 0.16;

bool has_place(const Chart& chart, const Point& point) {
  return chart.across.has(point.at) && chart.up.has(point.value);
}

bool reaches_end(const Chart& chart, const Curve& curve) {
  return std::any_of(curve.points.begin(), curve.points.end(), [&](const Point& point) {
    return has_place(chart, point) && point.at >= chart.across.high;
  });
}

bool named_at_ends(const Chart& chart) {
  return std::all_of(chart.curves.begin(), chart.curves.end(),
                     [&](const Curve& curve) { return curve.unlisted || reaches_end(chart, curve); });
}

std::string end_of(const Curve& curve) {
  if (!curve.end.empty() || curve.points.empty()) return curve.end;
  return formatted(curve.format, curve.points.back().value);
}

// "At 16,384: softmax 12.3 %, ..." for readers who cannot see the curves.
std::string described(const Chart& chart) {
  std::string ends;
  for (const Curve& curve : chart.curves)
    if (!curve.unlisted && !curve.points.empty())
      ends += fmt::format("{}{} {}", ends.empty() ? "" : ", ", shown(curve.name), end_of(curve));
  return fmt::format("{} against {}, {}. At the end: {}.", chart.up.label, chart.across.label,
                     plural(static_cast<double>(chart.curves.size()), "curve"), ends);
}

class ChartDrawing {
 public:
  explicit ChartDrawing(const Chart& chart)
      : chart_(chart),
        labelled_(named_at_ends(chart)),
        heading_(chart.title, chart.subtitle, labelled_ ? std::vector<Entry>{} : legend()) {
    const double upper = heading_.lower() + 40.0;
    box_ = {kMargin + tick_room() + 10.0, upper, kWidth - (labelled_ ? label_room() : kMargin + 4.0),
            upper + std::max(kPlotHeight, kLabelStep * static_cast<double>(chart.curves.size()))};
  }

  std::string written() {
    Svg svg(kWidth, std::ceil(box_.lower + 62.0), chart_.title, described(chart_));
    heading_.draw(svg);
    draw_axes(svg);
    for (const Zone& zone : chart_.zones) draw_zone(svg, zone);
    for (const Mark& mark : chart_.marks) draw_mark(svg, mark);
    if (chart_.reference) draw_reference(svg, *chart_.reference);
    for (const Curve& curve : chart_.curves) draw_curve(svg, curve);
    if (labelled_) draw_end_labels(svg);
    return svg.written();
  }

 private:
  double x(double at) const {
    return box_.left + kInset + chart_.across.share(at) * (box_.width() - 2.0 * kInset);
  }
  double y(double value) const { return box_.lower - chart_.up.share(value) * box_.height(); }

  std::vector<Entry> legend() const {
    std::vector<Entry> entries;
    for (const Curve& curve : chart_.curves)
      if (!curve.unlisted) entries.push_back({curve.name, Entry::Sample::line, curve.look});
    return entries;
  }

  double tick_room() const {
    double most = 0.0;
    for (const Tick& tick : chart_.up.ticks) most = std::max(most, width_of(tick.text, kTextSize));
    return most;
  }

  double label_width(const Curve& curve) const {
    return width_of(shown(curve.name), kLabelSize) + width_of(end_of(curve) + " ", kLabelSize, true);
  }

  double label_room() const {
    double most = 0.0;
    for (const Curve& curve : chart_.curves)
      if (!curve.unlisted) most = std::max(most, label_width(curve));
    return kLeader + std::min(kMostLabel, most) + kMargin;
  }

  void draw_axes(Svg& svg) const {
    svg.text({.text = chart_.up.label, .at = {kMargin, box_.upper - 14.0}});
    for (const Tick& tick : chart_.up.ticks) {
      if (tick.at < chart_.up.low || tick.at > chart_.up.high) continue;
      svg.line({box_.left, y(tick.at)}, {box_.right, y(tick.at)}, {}, {{"data-up", fmt::format("{}", tick.at)}});
      svg.text({.text = tick.text, .at = {box_.left - 8.0, y(tick.at) + 4.0}, .anchor = Anchor::end});
    }
    double next = std::numeric_limits<double>::infinity();
    for (auto tick = chart_.across.ticks.rbegin(); tick != chart_.across.ticks.rend(); ++tick) {
      if (tick->at < chart_.across.low || tick->at > chart_.across.high) continue;
      const double at = x(tick->at), half = 0.5 * width_of(tick->text, kTextSize);
      svg.line({at, box_.lower}, {at, box_.lower + 5.0}, {}, {{"data-across", fmt::format("{}", tick->at)}});
      if (at + half + kTickGap > next) continue;
      next = at - half;
      svg.text({.text = tick->text, .at = {at, box_.lower + 20.0}, .anchor = Anchor::middle});
    }
    svg.text({.text = chart_.across.label,
              .at = {0.5 * (box_.left + box_.right), box_.lower + 43.0}, .anchor = Anchor::middle});
  }

  void draw_zone(Svg& svg, const Zone& zone) const {
    const Place corners[] = {{x(zone.from), y(zone.low)},
                             {x(zone.to), y(zone.low)},
                             {x(zone.to), y(zone.high)},
                             {x(zone.from), y(zone.high)}};
    svg.polygon(corners, Paint::grey, kBandOpacity);
    svg.text({.text = zone.name, .at = {corners[3].x + 5.0, corners[3].y + 14.0}});
  }

  void draw_mark(Svg& svg, const Mark& mark) const {
    if (!chart_.across.has(mark.at) || mark.at < chart_.across.low || mark.at > chart_.across.high) return;
    const double at = x(mark.at);
    const bool left = at > 0.5 * (box_.left + box_.right);
    svg.line({at, box_.upper}, {at, box_.lower}, {Paint::quiet, 1.0, "3 3"});
    svg.text({.text = mark.name, .at = {at + (left ? -6.0 : 6.0), box_.upper - 4.0},
              .anchor = left ? Anchor::end : Anchor::start, .halo = true});
  }

  void draw_reference(Svg& svg, const Reference& reference) const {
    std::vector<Place> places;
    for (const Point& point : reference.points)
      if (has_place(chart_, point)) places.push_back({x(point.at), y(point.value)});
    if (places.empty()) return;
    svg.open({{"data-reference", reference.name}});
    svg.polyline(places, {Paint::quiet, 1.25, "1 3"});
    svg.close();
    const Place at = places[reference.rising ? places.size() * 7 / 10 : 0];
    svg.text({.text = reference.name, .at = {at.x + (reference.rising ? -8.0 : 2.0), at.y - 6.0},
              .anchor = reference.rising ? Anchor::end : Anchor::start, .halo = true});
  }

  void draw_band(Svg& svg, const Curve& curve) const {
    std::vector<Place> around;
    for (const Point& point : curve.points)
      if (has_place(chart_, point) && point.low && point.high && chart_.up.has(*point.low))
        around.push_back({x(point.at), y(*point.low)});
    const std::size_t below = around.size();
    for (auto point = curve.points.rbegin(); point != curve.points.rend(); ++point)
      if (has_place(chart_, *point) && point->low && point->high && chart_.up.has(*point->low))
        around.push_back({x(point->at), y(*point->high)});
    if (below > 0) svg.polygon(around, curve.look.paint, kBandOpacity);
  }

  void draw_curve(Svg& svg, const Curve& curve) const {
    std::vector<Place> places;
    for (const Point& point : curve.points)
      if (has_place(chart_, point)) places.push_back({x(point.at), y(point.value)});
    if (places.empty()) return;
    svg.open({{"data-curve", curve.name}});
    draw_band(svg, curve);
    svg.polyline(places, {curve.look.paint, 2.25, curve.look.dash});
    for (const Place& place : places) {
      if (curve.marker == Marker::dot) svg.circle(place, 3.0, curve.look.paint);
      if (curve.marker == Marker::large_dot) svg.circle(place, 5.0, curve.look.paint);
      if (curve.marker == Marker::ring) svg.ring(place, 3.0, curve.look.paint);
    }
    svg.close();
  }

  void draw_end_labels(Svg& svg) const {
    std::vector<const Curve*> named;
    std::vector<double> wanted;
    for (const Curve& curve : chart_.curves) {
      if (curve.unlisted) continue;
      const auto last = std::find_if(curve.points.rbegin(), curve.points.rend(),
                                     [&](const Point& point) { return has_place(chart_, point); });
      named.push_back(&curve);
      wanted.push_back(y(last->value));
    }
    const std::vector<double> places = pushed_apart(wanted, kLabelStep, box_.upper, box_.lower);
    for (std::size_t i = 0; i < named.size(); ++i) {
      const Paint paint = named[i]->look.paint;
      const Place label{box_.right + kLeader, places[i]};
      if (std::abs(places[i] - wanted[i]) > 2.0)
        svg.line({x(chart_.across.high) + 6.0, wanted[i]}, {label.x - 3.0, label.y}, {paint});
      const double lead = width_of(end_of(*named[i]) + " ", kLabelSize, true);
      svg.text({.text = cut_to(shown(named[i]->name), kMostLabel - lead, kLabelSize),
                .at = {label.x, label.y + 4.5},
                .paint = paint,
                .size = kLabelSize,
                .lead = end_of(*named[i])});
    }
  }

  const Chart& chart_;
  bool labelled_;
  Heading heading_;
  Box box_;
};

}  // namespace

namespace {

// As the reader first sees it.
Chart at_first(Chart chart) {
  std::set<std::string> shown;
  for (const Curve& curve : chart.curves)
    if (curve.first && curve.of.empty()) shown.insert(curve.name);
  std::erase_if(chart.curves, [&](const Curve& curve) {
    return !curve.first || (!curve.of.empty() && !shown.contains(curve.of));
  });
  return chart;
}

}  // namespace

std::string drawn(const Chart& chart) {
  const Chart first = chart.every_curve ? chart : at_first(chart);
  return is_drawable(first) ? ChartDrawing(first).written() : "";
}

namespace {

constexpr double kStep = 24.0, kThick = 14.0, kMostName = 400.0, kColumnGap = 16.0, kMostColumn = 120.0;

class BarDrawing {
 public:
  explicit BarDrawing(const Bars& bars) : bars_(bars), heading_(bars.title, bars.subtitle, bars.legend) {
    double names = 0.0, beside = 0.0;
    for (const Bar& bar : bars.bars) names = std::max(names, width_of(shown(bar.name), kTextSize, bar.bold));
    for (std::size_t k = 0; k < bars.beside.size(); ++k) {
      double most = width_of(bars.beside[k], kTextSize);
      for (const Bar& bar : bars.bars)
        most = std::max(most, width_of(shown(bar.beside.at(k)), kTextSize, bar.bold));
      columns_.push_back(std::min(most, kMostColumn) + kColumnGap);
      beside += columns_.back();
    }
    box_.left = kMargin + std::min(names, kMostName) + 12.0;
    box_.right = kWidth - kMargin - (beside > 0.0 ? beside : 6.0);
    box_.upper = heading_.lower() + (bars.beside.empty() ? 18.0 : 36.0);
    box_.lower = box_.upper + kStep * static_cast<double>(bars.bars.size());
  }

  std::string written() const {
    Svg svg(kWidth, std::ceil(box_.lower + (bars_.across.label.empty() ? 36.0 : 60.0)), bars_.title,
            bars_.described);
    heading_.draw(svg);
    draw_axis(svg);
    draw_beside(svg, bars_.beside, box_.upper - 10.0, Paint::quiet, false);
    for (std::size_t i = 0; i < bars_.bars.size(); ++i) draw_bar(svg, bars_.bars[i], static_cast<double>(i));
    return svg.written();
  }

 private:
  double x(double value) const { return box_.left + bars_.across.share(value) * box_.width(); }

  void draw_beside(Svg& svg, const std::vector<std::string>& cells, double base, Paint paint,
                   bool bold) const {
    double right = box_.right;
    for (std::size_t k = 0; k < cells.size(); ++k)
      svg.text({.text = cut_to(shown(cells[k]), kMostColumn, kTextSize, bold),
                .at = {right += columns_[k], base}, .paint = paint, .bold = bold, .anchor = Anchor::end});
  }

  void draw_axis(Svg& svg) const {
    double next = std::numeric_limits<double>::infinity();
    for (auto tick = bars_.across.ticks.rbegin(); tick != bars_.across.ticks.rend(); ++tick) {
      if (tick->at < bars_.across.low || tick->at > bars_.across.high) continue;
      const double at = x(tick->at), half = 0.5 * width_of(tick->text, kTextSize);
      svg.line({at, box_.upper}, {at, box_.lower}, {}, {{"data-across", fmt::format("{}", tick->at)}});
      if (at + half + 8.0 > next) continue;
      next = at - half;
      svg.text({.text = tick->text, .at = {at, box_.lower + 17.0}, .anchor = Anchor::middle});
    }
    if (bars_.mark)
      svg.line({x(*bars_.mark), box_.upper}, {x(*bars_.mark), box_.lower}, {Paint::quiet, 1.25, "3 3"});
    svg.text({.text = bars_.across.label,
              .at = {0.5 * (box_.left + box_.right), box_.lower + 40.0}, .anchor = Anchor::middle});
  }

  void draw_bar(Svg& svg, const Bar& bar, double line) const {
    const double upper = box_.upper + kStep * line + 0.5 * (kStep - kThick), base = upper + kThick - 3.0;
    svg.open({{"data-bar", bar.name}});
    svg.text({.text = cut_to(shown(bar.name), kMostName, kTextSize, bar.bold),
              .at = {box_.left - 10.0, base}, .paint = Paint::ink, .bold = bar.bold, .anchor = Anchor::end});
    const bool linear = bars_.across.kind == Axis::Kind::linear;
    double from = linear ? std::clamp(0.0, bars_.across.low, bars_.across.high) : bars_.across.low;
    double sum = linear ? 0.0 : bars_.across.low;
    for (const Piece& piece : bar.pieces) {
      const double to = linear ? sum + piece.length : piece.length;
      const double left = std::min(x(from), x(to)), right = std::max(x(from), x(to));
      svg.rect(Box{left, upper, right, upper + kThick}, piece.paint);
      sum = from = to;
    }
    if (bar.low && bar.high && bars_.across.has(*bar.low))
      svg.line({x(*bar.low), upper + 0.5 * kThick}, {x(*bar.high), upper + 0.5 * kThick}, {Paint::ink, 1.5});
    draw_beside(svg, bar.beside, base, Paint::ink, bar.bold);
    svg.close();
  }

  const Bars& bars_;
  Heading heading_;
  std::vector<double> columns_;
  Box box_;
};

}  // namespace

std::string drawn(const Bars& bars) { return bars.bars.empty() ? "" : BarDrawing(bars).written(); }

}  // namespace sharpmax::report
