// One rule tried: losses on text, and which questions were answered right.
#pragma once

#include <functional>
#include <vector>

#include "audit/fix/material.h"
#include "model/transformer/session.h"
#include "sharpmax/fix.h"

namespace sharpmax::audit {

using sharpmax::TextRun;
using Outcome = FixOutcome;

// Reads one part of the material from the beginning. `on_cost` is told how much of Material::cost() is
// through.
Outcome try_on(model::Session& session, const Material& material, Part part,
               const std::function<void(std::int64_t)>& on_cost = {});

std::vector<TextRun> runs_of(
    std::span<const float> losses);  // of one chunk; losses[i] has i + 1 tokens before it

}  // namespace sharpmax::audit
