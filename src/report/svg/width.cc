#include "report/svg/width.h"

#include "report/view/format.h"

namespace sharpmax::report {
namespace {

// Shares of the size, of the widest of the fonts that system-ui and sans-serif usually name (DejaVu Sans,
// Verdana): a label that fits in these fits in the others. tests/doors/test_figures.py asks a browser.
constexpr double kBold = 1.13, kWide = 1.08, kOther = 0.84;

struct Width {
  std::string_view characters;
  double share;
};
constexpr Width kWidths[] = {
    {"'ijlIJ", 0.29},   {" ,.:;/\\|", 0.34}, {"-f()[]t!r", 0.41}, {"\"*_`sz?cL", 0.56}, {"FkvxyPTYaoe", 0.62},
    {"KAVBRXZC", 0.70}, {"UHNDGOQ&", 0.79},  {"w#+<=>^~M", 0.86}, {"mW@%", 1.0},
};

double share_of(char32_t c) {
  if (c >= 0x300 && c <= 0x36f) return 0.0;  // combining marks
  if (c == 0xa0 || c == 0x202f || c == 0x2019 || c == 0xb7) return 0.34;
  if (c >= 0x1100 && (c < 0x2000 || c > 0x2bff)) return kWide;  // East Asian, emoji
  if (c >= 0x80) return kOther;
  for (const Width& width : kWidths)
    if (width.characters.find(static_cast<char>(c)) != std::string_view::npos) return width.share;
  return 0.64;
}

}  // namespace

double width_of(std::string_view text, double size, bool bold) {
  double sum = 0.0;
  for (const char32_t c : code_points(text)) sum += share_of(c);
  return sum * size * (bold ? kBold : 1.0);
}

std::string cut_to(std::string_view text, double width, double size, bool bold) {
  if (width_of(text, size, bold) <= width) return std::string(text);
  std::string kept;
  double left = width / size / (bold ? kBold : 1.0) - kOther;
  for (const char32_t c : code_points(text)) {
    left -= share_of(c);
    if (left < 0.0) break;
    append(kept, c);
  }
  while (kept.ends_with(' ')) kept.pop_back();
  return kept + "…";
}

}  // namespace sharpmax::report
