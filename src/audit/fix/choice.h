// A rule against doing nothing, and which rule is best by what the user is after.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "audit/fix/material.h"

namespace sharpmax::audit {

// A rule against doing nothing, on the same tokens and the same questions.

using sharpmax::Flips;
using sharpmax::LossChange;
using Comparison = FixComparison;

// Both of the same part of the same material. A part without text or questions has zeros.
Comparison compare(const Outcome& plain, const Outcome& rule);

// P(|B - n/2| >= |up - n/2|) for B binomial (n, 1/2), n = up + down; 1 where nothing flipped.
double sign_test(std::int64_t up, std::int64_t down);

// Which rule is best by what the user is after, and whether it may be called better than doing nothing.
//
// Many rules are tried on the tuning part, so the best of them looks better there than it is. One is chosen
// by its score on that part, and that one alone is tested on the part held out.

inline constexpr double kSignificant = 0.05;  // p of the sign test below which a change of answers counts

enum class Goal { text, task, both };
Goal goal_of(std::string_view name);  // Error{bad_argument}
std::string_view name_of(Goal goal);

struct Criterion {
  Goal goal = Goal::both;
  double allowed_loss = 0.02;  // both: largest rise of the loss for a better look-up, nats per token
};

// The larger the better; 0 is doing nothing. text: the loss that is saved. task: the share of questions
// gained. both: their sum, one nat per token against all questions. Minus infinity for what the goal rules out,
// or NaN losses.
double score(const Comparison& tuning, const Criterion& criterion);

// The place of the largest score above 0, the first of equals; none: leave it as it is.
std::optional<std::size_t> best_of(std::span<const double> scores);

using Finding = FixFinding;
// What the held-out part says about the rule that was chosen.
Finding judge_held_out(const Comparison& held_out, const Criterion& criterion);
// What a finding that is not better shows, as the end of a sentence: "which is worse".
std::string_view shortfall(const Finding& finding, Goal goal);

}  // namespace sharpmax::audit
