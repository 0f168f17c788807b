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

void Svg::frame(const Box& box, Paint stroke, double round) {
  body_ += fmt::format("{} {}/>\n", rect_of(box, round), stroke_class({stroke}));
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

}  // namespace sharpmax::report
