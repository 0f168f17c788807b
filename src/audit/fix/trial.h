// One rule tried: losses on text, and which questions were answered right.
#pragma once

#include <functional>
#include <vector>

#include "audit/fix/material.h"
#include "model/transformer/session.h"

namespace sharpmax::audit {

// Losses of neighbouring tokens are not independent; runs of so many stand for one observation each. A run
// has the tokens with from .. from + kRunLength - 1 tokens before them, so buckets by position hold whole
// runs.
struct TextRun {
  std::int64_t from = 0, tokens = 0;
  double loss = 0;  // sum, nats
  bool operator==(const TextRun&) const = default;
};

// What a rule did on one part of the material.
struct Outcome {
  std::vector<TextRun> runs;             // of all chunks, in order
  std::vector<std::vector<bool>> right;  // by task set, by question
  bool operator==(const Outcome&) const = default;
};

// Reads one part of the material from the beginning. `on_cost` is told how much of Material::cost() is
// through.
Outcome try_on(model::Session& session, const Material& material, Part part,
               const std::function<void(std::int64_t)>& on_cost = {});

std::vector<TextRun> runs_of(
    std::span<const float> losses);  // of one chunk; losses[i] has i + 1 tokens before it

}  // namespace sharpmax::audit
