#include "report/svg/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "report/svg/figures.h"
#include "report/view/format.h"

namespace sharpmax::report {
namespace {

constexpr Shades kShades[] = {
    {"vermillion", "#c24e00", "#ff8b4a"}, {"green", "#00805c", "#3ccb9c"}, {"purple", "#a8467f", "#ee9bcb"},
    {"sky", "#2484bb", "#69c3f5"},        {"amber", "#a87200", "#efb437"}, {"blue", "#1f4fa8", "#8aabff"},
    {"brown", "#7d5a3c", "#cfa986"},      {"grey", "#50585f", "#bcc5cc"},  {"ink", "#1c2024", "#e9ecee"},
    {"quiet", "#5b646d", "#a3adb5"},      {"line", "#dfe3e6", "#343b41"},  {"tint", "#f0f3f4", "#24292e"},
    {"card", "#ffffff", "#14171a"},
};
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

}  // namespace

const Shades& shades_of(Paint paint) { return kShades[static_cast<std::size_t>(paint)]; }

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

namespace {

constexpr double kRound = 8.0;
constexpr std::string_view kFonts =
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : shown(text)) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

std::string listed(Attributes attributes) {
  std::string out;
  for (const auto& [name, value] : attributes) out += fmt::format(" {}=\"{}\"", name, escaped(value));
  return out;
}

std::string listed(std::span<const Place> places) {
  std::string out;
  for (const Place& place : places)
    out += fmt::format("{}{},{}", out.empty() ? "" : " ", number(place.x), number(place.y));
  return out;
}

std::string dashes(std::string_view dash) {
  return dash.empty() ? "" : fmt::format(" stroke-dasharray=\"{}\"", dash);
}

std::string rect_of(const Box& box, double round) {
  return fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{}", number(box.left),
                     number(box.upper), number(box.width()), number(box.height()),
                     round > 0.0 ? fmt::format(" rx=\"{}\"", number(round)) : "");
}

std::string rules(const std::set<Paint>& fills, const std::set<Paint>& strokes, const char* Shades::*shade) {
  std::string out;
  for (const Paint paint : fills)
    out += fmt::format(".{}{{fill:{}}}", shades_of(paint).name, shades_of(paint).*shade);
  for (const Paint paint : strokes)
    out += fmt::format(".s-{}{{stroke:{};fill:none}}", shades_of(paint).name, shades_of(paint).*shade);
  return out;
}

}  // namespace

bool is_figure(std::string_view beginning) noexcept {
  const std::string_view first = beginning.substr(0, beginning.find('\n'));
  return first.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"") &&
         first.find("role=\"img\" font-family=\"") != std::string_view::npos &&
         first.find(kFonts) != std::string_view::npos;
}

std::string number(double value) {
  std::string text = fmt::format("{:.2f}", value);
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text == "-0" ? "0" : text;
}

Svg::Svg(double width, double height, std::string title, std::string described)
    : width_(width), height_(height), title_(std::move(title)), described_(std::move(described)) {
  const Box all{0.5, 0.5, width - 0.5, height - 0.5};
  body_ += fmt::format("{} class=\"{} {}\"/>\n", rect_of(all, kRound), fill_class(Paint::card), "edge");
  strokes_.insert(Paint::line);
}

std::string Svg::fill_class(Paint paint) {
  fills_.insert(paint);
  return shades_of(paint).name;
}

std::string Svg::stroke_class(const Stroke& stroke) {
  strokes_.insert(stroke.paint);
  return fmt::format("class=\"s-{}\"{}{}", shades_of(stroke.paint).name,
                     stroke.width == 1.0 ? "" : fmt::format(" stroke-width=\"{}\"", number(stroke.width)),
                     dashes(stroke.dash));
}

void Svg::line(Place from, Place to, const Stroke& stroke, Attributes more) {
  body_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" {}{}/>\n", number(from.x),
                       number(from.y), number(to.x), number(to.y), stroke_class(stroke), listed(more));
}

void Svg::polyline(std::span<const Place> places, const Stroke& stroke) {
  body_ += fmt::format("<polyline points=\"{}\" {} stroke-linejoin=\"round\" stroke-linecap=\"{}\"/>\n",
                       listed(places), stroke_class(stroke), stroke.dash.empty() ? "round" : "butt");
}

void Svg::polygon(std::span<const Place> places, Paint fill, double opacity) {
  body_ += fmt::format("<polygon points=\"{}\" class=\"{}\" opacity=\"{}\"/>\n", listed(places),
                       fill_class(fill), number(opacity));
}

void Svg::circle(Place middle, double radius, Paint fill) {
  body_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" class=\"{}\"/>\n", number(middle.x),
                       number(middle.y), number(radius), fill_class(fill));
}

void Svg::ring(Place middle, double radius, Paint stroke) {
  circle(middle, radius, Paint::card);
  body_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" {}/>\n", number(middle.x), number(middle.y),
                       number(radius), stroke_class({stroke, 1.5}));
}

void Svg::rect(const Box& box, Paint fill, double round, Attributes more) {
  body_ += fmt::format("{} class=\"{}\"{}/>\n", rect_of(box, round), fill_class(fill), listed(more));
}

void Svg::rect(const Box& box, std::string_view colour, double round, Attributes more) {
  body_ += fmt::format("{} fill=\"{}\"{}/>\n", rect_of(box, round), colour, listed(more));
}

void Svg::path(std::string_view commands, std::string_view colour) {
  body_ += fmt::format("<path d=\"{}\" fill=\"{}\"/>\n", commands, colour);
}

void Svg::text(const Label& words) {
  std::string more;
  if (words.anchor != Anchor::start)
    more += fmt::format(" text-anchor=\"{}\"", words.anchor == Anchor::end ? "end" : "middle");
  if (words.bold) more += " font-weight=\"600\"";
  const std::string lead =
      words.lead.empty() ? "" : fmt::format("<tspan font-weight=\"600\">{}</tspan> ", escaped(words.lead));
  body_ += fmt::format("<text x=\"{}\" y=\"{}\" class=\"{}{}\" font-size=\"{}\"{}>{}{}</text>\n",
                       number(words.at.x), number(words.at.y), fill_class(words.paint),
                       words.halo ? " halo" : "", number(words.size), more, lead, escaped(words.text));
}

void Svg::open(Attributes more) { body_ += fmt::format("<g{}>\n", listed(more)); }

void Svg::open_cells(Place at, double scale) {
  body_ += fmt::format("<g transform=\"translate({} {}) scale({:.5g})\" shape-rendering=\"crispEdges\">\n",
                       number(at.x), number(at.y), scale);
}

void Svg::close() { body_ += "</g>\n"; }

std::string Svg::written() const {
  const auto in = [&](const char* Shades::*shade) {
    return fmt::format(
        "{0}.edge{{stroke:{1}}}.halo{{paint-order:stroke;stroke:{2};stroke-width:4px;stroke-linejoin:round}}",
        rules(fills_, strokes_, shade), shades_of(Paint::line).*shade, shades_of(Paint::card).*shade);
  };
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "role=\"img\" "
      "font-family=\"{2}\">\n<title>{3}</title>\n<desc>{4}</desc>\n<style>{5}@media "
      "(prefers-color-scheme:dark){{{6}}}"
      "</style>\n{7}</svg>\n",
      number(width_), number(height_), kFonts, escaped(title_), escaped(described_), in(&Shades::light),
      in(&Shades::dark), body_);
}

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
              .at = {kMargin, y += kTitleStep}, .paint = Paint::ink, .size = kTitleSize, .bold = true});
  y += 1.0;
  for (const std::string& line : subtitle_)
    svg.text({.text = line, .at = {kMargin, y += kTextStep}});
  for (const auto& [entry, at] : legend_) {
    if (entry.sample == Entry::Sample::line)
      svg.line({at.x, at.y - 4.0}, {at.x + kSample, at.y - 4.0}, {entry.look.paint, 2.5, entry.look.dash});
    else
      svg.rect({at.x, at.y - 10.0, at.x + kBoxSample, at.y + 2.0}, entry.look.paint, 2.0);
    svg.text({.text = entry.name,
              .at = {at.x + sample_width(entry) + kAfterSample, at.y}, .paint = Paint::ink});
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
