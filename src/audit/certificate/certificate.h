// What no input can do to the heads of a model: certified upper bounds of the score spread of every head,
// from the weights alone. theory::log_sharp_length makes lengths of them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "audit/certificate/vocabulary.h"
#include "model/transformer/model.h"

namespace sharpmax::audit {

struct HeadCertificate {
  std::int64_t layer = 0, head = 0;
  std::int64_t window = 0;    // keys that a query sees at most; 0: all
  double norm_spread = 0.0;   // over all inputs of the size that the norm leaves
  double norm_reached = 0.0;  // by some such inputs, which no text need have
  // Of layer 0, where positions are rotary: over all pairs of tokens at any offsets.
  std::optional<double> vocabulary_spread;
  std::optional<AttainedRow> attained;  // a row that some text has

  // No row of this head spreads further. Scores after the soft cap, before any temperature.
  double spread() const {
    return vocabulary_spread ? std::min(*vocabulary_spread, norm_spread) : norm_spread;
  }
};

struct CertificateSettings {
  double beta = 1.0;  // for the peaks of attained rows
  int threads = 0;    // 0: what OpenMP would use; the results do not depend on it
  // Hears, from one thread at a time, which share of the work is done.
  std::function<void(double)> progress;
};

// In order of layers and heads. Error{bad_file} where weights that matter are not finite.
std::vector<HeadCertificate> certify_heads(const model::Model& model, const CertificateSettings& settings);

}  // namespace sharpmax::audit
