// Attempts to break every bound of src/theory, and how near they came.
//
// A bound is attacked by making value / bound as large as possible over all inputs that meet the hypotheses:
// from random places and from corners of the unit cube that describes them, uphill along each coordinate in
// turn. More than 1 breaks it. Not reaching 1 says that the bound may be loose, or the search weak.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sharpmax::theory {

struct Attack {
  std::string bound;   // what is attacked, in words
  std::string source;  // "A, lemma 2.1", "B, corollary 3", "ours"
  bool holds = true;   // what is claimed: false for published forms that do not hold, and reference curves
  std::size_t dimensions = 0;
  std::function<double(const std::vector<double>& place)>
      ratio;  // value / bound of the input at a place in [0, 1]^d
  std::vector<std::vector<double>> hints = {};
};

// Every bound at the sizes below, in the order of docs/design/theory.md.
inline constexpr double kAttackedSpread = 5.69;  // the mean that paper A measured in Gemma 2B
inline constexpr double kAttackedKeys = 16;
std::vector<Attack> attacks();

// The largest ratio found from the hints and from `starts` places; the same seed finds the same.
double reached(const Attack& attack, std::uint64_t seed, int starts);

// The parts of attacks(), one a file.
std::vector<Attack> attacks_on_rows();       // dispersion, norms, entropy, lemma 1
std::vector<Attack> attacks_on_peaks();      // every member's peak range
std::vector<Attack> attacks_on_selection();  // distance, separability
std::vector<Attack> attacks_on_gradients();

}  // namespace sharpmax::theory
