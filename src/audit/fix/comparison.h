// A rule against doing nothing, on the same tokens and the same questions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "audit/fix/trial.h"

namespace sharpmax::audit {

// Tokens with at least `from` and fewer than `to` before them: what the rule adds to their mean loss.
struct LossChange {
  std::int64_t from = 0, to = 0, tokens = 0;
  double plain = 0;          // mean loss without the rule, nats
  double change = 0;         // rule less plain; below 0: the rule is better
  double low = 0, high = 0;  // 95 %, over the paired runs; NaN below two
};

// The same questions under either: exact match.
struct Flips {
  std::int64_t questions = 0, plain = 0, rule = 0;  // right
  std::int64_t up = 0, down = 0;                    // wrong to right, right to wrong
  double p = 1;  // two-sided sign test (McNemar's, exact); questions count as independent
};

struct Comparison {
  LossChange text;                  // all tokens
  std::vector<LossChange> buckets;  // 0–128, 128–512, 512–2048, …
  Flips task;                       // all questions
  std::vector<Flips> tasks;         // by task set
};

// Both of the same part of the same material. A part without text or questions has zeros.
Comparison compare(const Outcome& plain, const Outcome& rule);

// P(|B - n/2| >= |up - n/2|) for B binomial (n, 1/2), n = up + down; 1 where nothing flipped.
double sign_test(std::int64_t up, std::int64_t down);

}  // namespace sharpmax::audit
