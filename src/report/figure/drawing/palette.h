// Colours and strokes of figures: those of the page (page/page.css, page/looks.js, page/ramp.js).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sharpmax::report {

// Okabe and Ito's hues, which colour-blind readers can tell apart, and what is around them.
enum class Paint { vermillion, green, purple, sky, amber, blue, brown, grey, ink, quiet, line, tint, card };

struct Shades {
  const char* name;
  const char* light;  // on white, as #rrggbb
  const char* dark;
};
const Shades& shades_of(Paint paint);

struct Look {
  Paint paint = Paint::grey;
  std::string_view dash;  // of SVG; empty: a whole line
};
inline constexpr std::string_view kDashed = "7 5", kDotted = "2 4";

// The text of a normalizer up to its parameters.
std::string family_of(std::string_view normalizer);
// One for each: a member that everybody knows has its own, others take what is left, in order.
std::vector<Look> looks_of(std::span<const std::string> normalizers);
// The colours of curves that are no normalizers, one after the other.
Paint nth_paint(std::size_t i);

// Cividis, from 0, dark, to 1, bright, as #rrggbb.
std::string ramp(double share);

}  // namespace sharpmax::report
