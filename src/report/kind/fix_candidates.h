// What `sharpmax fix` tried, as the makers of its views ask for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/kind/kinds.h"

namespace sharpmax::report {

struct ModelShape {
  std::int64_t layers = 0, heads = 0;
};

// Throws Error{bad_argument} for a shape that no model has.
ModelShape shape_of(const Json& model);

struct TextChange {
  double from = 0.0, to = 0.0, tokens = 0.0;
  std::optional<double> plain, change, low, high;
};

struct AnswerFlips {
  std::optional<double> length;  // of the questions
  double questions = 0.0, plain = 0.0, right = 0.0, up = 0.0, down = 0.0;
  std::optional<double> p;

  std::optional<double> share(double n) const { return questions > 0.0 ? std::optional(n / questions) : std::nullopt; }
};

struct Against {
  TextChange text;
  std::vector<TextChange> by_position;
  AnswerFlips task;
  std::vector<AnswerFlips> by_length;
};

struct Candidate {
  std::string name;
  bool searched = false, chosen = false;
  double heads = 0.0;
  std::vector<std::string> normalizers;
  std::optional<double> score;
  std::optional<Against> tuning, held_out;
};

// What was tried, the chosen one first, then those that were judged on the part held out. Not the first trial, which does
// nothing: `plain` gets its normalizers.
std::vector<Candidate> candidates_of(const Json& results, std::vector<std::string>& plain);
// Null where none was chosen or judged.
const Candidate* chosen_of(const std::vector<Candidate>& candidates);

std::string with_ends(const TextChange& text, int digits = 3);  // +0.012 (+0.001 to +0.023)
std::string right_text(const AnswerFlips& flips);               // 45.0 % (+3 −1)

}  // namespace sharpmax::report
