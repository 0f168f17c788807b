// What `sharpmax bound --spread` found, as the makers of its views ask for it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/kind/kinds.h"

namespace sharpmax::report {

struct PeakRange {
  double n = 0.0;
  std::optional<double> high, low, untied_low, ceiling, weight_high, weight_low;
  std::string found_by;
  bool sums_to_one = true, moves_with_level = false;

  bool searched() const { return found_by == "search"; }
};

struct PeakLoss {
  std::optional<double> lost, regained, sure;
};

struct Member {
  std::string name, refused;
  std::vector<PeakRange> ranges;
  std::optional<PeakLoss> loss;

  const PeakRange* at(double n) const;
};

struct Bounds {
  const Json& results;
  std::vector<Member> members;
  std::vector<std::string> names;  // of those with ranges
  std::vector<Look> looks;
  std::vector<double> sizes;
  double spread = 0.0;

  explicit Bounds(const Json& from);
  Look look(const std::string& name) const;
  std::string title() const;
  std::string weight_words() const;  // that were asked for: "half of the weight"
};

std::string lost_text(const PeakLoss& loss);               // never, always, 99 to 999,999
std::vector<Item> notes_of(const Bounds& bounds);          // of marks behind names
std::vector<Section> brief_sections(const Bounds& bounds);  // for a terminal: the largest weight at every number of keys

}  // namespace sharpmax::report
