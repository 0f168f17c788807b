#include "report/svg/heading.h"

#include <algorithm>

#include "report/view/format.h"

namespace sharpmax::report {
namespace {

constexpr double kTitleStep = 21.0, kTextStep = 17.0, kLegendStep = 20.0;
constexpr double kSample = 28.0, kBoxSample = 12.0, kAfterSample = 7.0, kBetween = 22.0;

double sample_width(const Entry& entry) { return entry.sample == Entry::Sample::line ? kSample : kBoxSample; }

}  // namespace

std::vector<std::string> wrapped(std::string_view text, double width, double size, bool bold) {
  const std::string safe = shown(text);
  std::vector<std::string> lines;
  std::string line;
  for (std::size_t begin = 0; begin < safe.size();) {
    const std::size_t end = std::min(safe.find(' ', begin), safe.size());
    const std::string word = cut_to(std::string_view(safe).substr(begin, end - begin), width, size, bold);
    const std::string longer = line.empty() ? word : line + " " + word;
    if (!line.empty() && width_of(longer, size, bold) > width) {
      lines.push_back(line);
      line = word;
    } else {
      line = longer;
    }
    begin = end + 1;
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

Heading::Heading(std::string_view title, std::string_view subtitle, const std::vector<Entry>& legend,
                 double width)
    : title_(wrapped(title, width - 2 * kMargin, kTitleSize, true)),
      subtitle_(wrapped(subtitle, width - 2 * kMargin, kTextSize)) {
  constexpr std::size_t kMostLines = 4;  // of a hostile name
  if (title_.size() > kMostLines) title_.resize(kMostLines);
  if (subtitle_.size() > kMostLines) subtitle_.resize(kMostLines);
  lower_ = 12.0 + kTitleStep * static_cast<double>(title_.size()) +
           kTextStep * static_cast<double>(subtitle_.size());
  legend_upper_ = lower_ + 6.0;
  place_legend(legend, width);
}

void Heading::place_legend(const std::vector<Entry>& legend, double width) {
  if (legend.empty()) return;
  Place at{kMargin, legend_upper_ + kLegendStep};
  for (Entry entry : legend) {
    const double most = width - 2 * kMargin - kSample - kAfterSample;
    entry.name = cut_to(shown(entry.name), most, kTextSize);
    const double wide = sample_width(entry) + kAfterSample + width_of(entry.name, kTextSize);
    if (at.x > kMargin && at.x + wide > width - kMargin) at = {kMargin, at.y + kLegendStep};
    legend_.push_back({entry, at});
    at.x += wide + kBetween;
  }
  lower_ = at.y + 4.0;
}

void Heading::draw(Svg& svg) const {
  double y = 9.0;
  for (const std::string& line : title_)
    svg.text({.text = line,
              .at = {kMargin, y += kTitleStep},
              .paint = Paint::ink,
              .size = kTitleSize,
              .bold = true});
  y += 1.0;
  for (const std::string& line : subtitle_)
    svg.text({.text = line, .at = {kMargin, y += kTextStep}, .size = kTextSize});
  for (const auto& [entry, at] : legend_) {
    if (entry.sample == Entry::Sample::line)
      svg.line({at.x, at.y - 4.0}, {at.x + kSample, at.y - 4.0}, {entry.look.paint, 2.5, entry.look.dash});
    else
      svg.rect({at.x, at.y - 10.0, at.x + kBoxSample, at.y + 2.0}, entry.look.paint, 2.0);
    svg.text({.text = entry.name,
              .at = {at.x + sample_width(entry) + kAfterSample, at.y},
              .paint = Paint::ink,
              .size = kTextSize});
  }
}

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
