// Curves over a size, with their intervals: what a chart is, as a plain value, and its drawing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/figure/drawing/scale.h"
#include "report/figure/drawing/svg.h"

namespace sharpmax::report {

struct Point {
  double at = 0.0, value = 0.0;
  std::optional<double> low, high;
};

enum class Marker { dot, ring, large_dot, none };

struct Curve {
  std::string name;
  Look look;
  std::vector<Point> points;  // in order of `at`
  Marker marker = Marker::dot;
  std::string end;        // its last value in words, before the name
  bool unlisted = false;  // has no place among the names
};

// A thin dotted curve to judge by; its name stands above it, left of one that rises.
struct Reference {
  std::string name;
  std::vector<Point> points;
  bool rising = false;
};

// A vertical line.
struct Mark {
  double at;
  std::string name;
};

// A part of the plot that is shaded, between two sizes and two values.
struct Zone {
  std::string name;
  double from = 0.0, to = 0.0, low = 0.0, high = 0.0;
};

struct Chart {
  std::string title;
  std::string subtitle;
  Axis across, up;
  std::vector<Curve> curves;  // the last lies on top
  std::optional<Reference> reference;
  std::vector<Mark> marks;
  std::vector<Zone> zones;
};

// Whether there is a point to draw.
bool is_drawable(const Chart& chart);

// Curves are named at their ends if all of them reach the largest size, else in a legend.
std::string drawn(const Chart& chart);

}  // namespace sharpmax::report
