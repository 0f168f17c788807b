#include "report/svg/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "report/svg/heading.h"
#include "report/svg/svg.h"
#include "report/view/format.h"

namespace sharpmax::report {
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
                .at = {right += columns_[k], base},
                .paint = paint,
                .size = kTextSize,
                .bold = bold,
                .anchor = Anchor::end});
  }

  void draw_axis(Svg& svg) const {
    double next = std::numeric_limits<double>::infinity();
    for (auto tick = bars_.across.ticks.rbegin(); tick != bars_.across.ticks.rend(); ++tick) {
      if (tick->at < bars_.across.low || tick->at > bars_.across.high) continue;
      const double at = x(tick->at), half = 0.5 * width_of(tick->text, kTextSize);
      const std::pair<std::string_view, std::string> data[] = {{"data-across", fmt::format("{}", tick->at)}};
      svg.line({at, box_.upper}, {at, box_.lower}, {}, data);
      if (at + half + 8.0 > next) continue;
      next = at - half;
      svg.text(
          {.text = tick->text, .at = {at, box_.lower + 17.0}, .size = kTextSize, .anchor = Anchor::middle});
    }
    if (bars_.mark)
      svg.line({x(*bars_.mark), box_.upper}, {x(*bars_.mark), box_.lower}, {Paint::quiet, 1.25, "3 3"});
    svg.text({.text = bars_.across.label,
              .at = {0.5 * (box_.left + box_.right), box_.lower + 40.0},
              .size = kTextSize,
              .anchor = Anchor::middle});
  }

  void draw_bar(Svg& svg, const Bar& bar, double line) const {
    const double upper = box_.upper + kStep * line + 0.5 * (kStep - kThick), base = upper + kThick - 3.0;
    const std::pair<std::string_view, std::string> data[] = {{"data-bar", bar.name}};
    svg.open(data);
    svg.text({.text = cut_to(shown(bar.name), kMostName, kTextSize, bar.bold),
              .at = {box_.left - 10.0, base},
              .paint = Paint::ink,
              .size = kTextSize,
              .bold = bar.bold,
              .anchor = Anchor::end});
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
