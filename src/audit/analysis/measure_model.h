// Runs a model over a text and measures every head: what all of paper B's analyses are made of.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "audit/analysis/head_sums.h"
#include "model/transformer/session.h"

namespace sharpmax::audit {

struct HeadMeasurements {
  AnalysisSettings settings;  // as they were used
  RowPlan plan;
  std::vector<HeadSums> heads;     // by layer, then head
  bool plain_softmax = true;       // every head runs under softmax at temperature 1
  std::vector<std::string> notes;  // what the text did not allow, a sentence each
};

// How much is done, from 0 to 1.
using AnalysisProgress = std::function<void(double done)>;

struct AnalyzedText {
  std::span<const model::Token> tokens;
  std::optional<model::Token> begin;  // goes before every chunk; L counts it
};

// Consecutive chunks from the start of the text, fewer where there is less (fitted()). Each is read from an
// empty cache, all of it as one block: the session must have blocks and room of at least L tokens, else
// Error{bad_argument}. pause: as in BlockJob.
HeadMeasurements measure_heads(model::Session& session, const AnalyzedText& text,
                               const AnalysisSettings& settings, int threads,
                               const AnalysisProgress& progress = {},
                               const std::function<void()>& pause = {});

}  // namespace sharpmax::audit
