// Certificates of heads: upper bounds of the score spread, from the weights alone.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "audit/certificate/spectrum.h"
#include "model/architecture/architecture.h"
#include "model/transformer/model.h"
#include "sharpmax/job.h"

namespace sharpmax::audit {

// One head as two affine maps of unit-size inputs: what a bound over all inputs needs to know of it.
//
// A norm gives g * u (+ shift) with |u| <= sqrt(width), whatever the input. Its weights fold into the
// projections: query = Q u + q0, key = K v + k0; the score of a key at offset t is
//   scale (Q u + q0) . R_t (K v + k0),
// where R_t turns each rotation pair by its angle, and leaves the features past the pairs alone.

inline constexpr double kFloat = 0x1p-24, kHalf = 0x1p-11;  // one rounding to float32, to float16

struct FoldedSide {
  std::vector<double> matrix;  // [feature, width]
  std::vector<double> offset;  // [feature]
  // [feature]: how far what the forward pass computes in float may be from Q u + q0, at most, for any input.
  std::vector<double> rounding;
  double storage_error = 0.0;  // what a cache in float16 may add to that, relative to the feature itself
};

struct FoldedHead {
  std::int64_t width = 0, features = 0;
  std::int64_t pairs = 0;  // features 2 p and 2 p + 1 are turned together, p < pairs; the rest are not
  double radius = 0.0;     // |u| <= radius
  double scale = 0.0;      // not negative
  double cap = 0.0;        // scores become cap tanh(score / cap); 0: none
  double dot_error = 0.0;  // of q . k in float, relative to the sum of |q_i k_i|
  FoldedSide query, key;
};

// Of a model whose queries and keys are not normalized. Error{bad_file} where the head's weights hold NaN or
// infinities.
FoldedHead fold_head(const model::Model& model, std::int64_t layer, std::int64_t head);

// Layer 0 sees tokens, and there are only so many: its queries and keys before the turn are known.

// What the first layer's norm makes of tokens, before the norm's own weights: [token, width]. Only where
// positions do not enter the embedding. Error{bad_file} where an embedding is not finite.
std::vector<double> unit_inputs(const model::Model& model, const std::vector<model::Token>& tokens);

// Queries or keys of inputs, not turned: [input, feature].
std::vector<double> project(const FoldedHead& head, const FoldedSide& side,
                            const std::vector<double>& inputs);

// Of every token's query or key: the length of each rotation pair and the size of each feature that is not
// turned, never below what the forward pass computes.
Magnitudes magnitudes_of(const model::Model& model, const FoldedHead& head, const FoldedSide& side);

// A row of layer 0 that some text really has: how far a certificate could come down at most.

struct AttainedRow {
  std::int64_t length = 0;  // keys of the row
  // The widest row found: its query, its two keys and how far before the query they stand.
  double spread = 0.0;
  model::Token query = 0, high = 0, low = 0;
  std::int64_t high_offset = 0, low_offset = 0;
  // The sharpest row found: the weight of its peak under softmax at the beta asked for, and the text whose
  // last token's row it is, [length].
  double peak = 0.0;
  std::vector<model::Token> text;
};

struct Attack {
  std::int64_t length = 0;
  double beta = 1.0;
  std::vector<std::int64_t> queries;  // tokens to try
};

// Every one of these queries against the tokens whose keys are largest, at every offset.
AttainedRow attack(const model::Model& model, const FoldedHead& head, const Magnitudes& query,
                   const Magnitudes& key, const Attack& how);

// What no input can do to the heads of a model: certified upper bounds of the score spread of every head,
// from the weights alone. theory::log_sharp_length makes lengths of them.

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

// The same for one head, on the thread that asks, and so within a SerialBlas of the caller. Of the settings: beta.
HeadCertificate certify_head(const model::Model& model, std::int64_t layer, std::int64_t head,
                             const CertificateSettings& settings);
// All but the text of the attained row. Throws Error{bad_file}, or nlohmann's exceptions.
Json to_json(const HeadCertificate& head);
HeadCertificate certificate_in(const Json& json);

// Throws Error{unsupported} for a model whose spreads have no bound.
void check_certifiable(const model::Model& model);
// Whether the heads of layer 0 are bounded over all pairs of tokens, too, which takes most of the time.
bool bounded_by_vocabulary(const model::Model& model);
// Multiplications for one head, roughly.
double certificate_work(const model::Model& model, std::int64_t layer);

// The spread of one row over all inputs of the size that a norm leaves: a bound, and what some inputs reach.

// The spread of one row's scores, over all inputs of the size that a norm leaves.

// No row of this head spreads further, whatever enters the layer: any hidden state, any length, any offsets.
// Before the soft cap. Holds for scores as the forward pass computes them in float.
//
// Without rotation it is the largest value over the ball but for rounding: the folded product's spectral
// norm. With it, for any D > 0 that is constant on pairs (and so commutes with every turn)
//   spread <= 2 scale max |D query| max |D^-1 key|;
// D is searched for, and the maximum of |Q u + q0| over a ball is what duality gives it exactly.
double norm_bound(const FoldedHead& head);

// c tanh(score / c) of scores that spread at most `spread`; c = 0: no cap.
double capped_spread(double spread, double cap);

// How much of a norm bound inputs of the right size really reach.

// The spread of two keys under one query, each the best of its size that a climb finds: the query and the
// keys in turn, at the best offsets of a few hundred. After the soft cap. Whether any text makes such inputs
// is another question.
double reached_spread(const FoldedHead& head, const model::Rope& rope);

// Heads whose queries and keys are normalized before they are turned (QueryKeyNorm): the weights of those two
// norms are all that bounds their scores.
struct NormalizedHead {
  double bound = 0.0;    // as norm_bound(): no row spreads further
  double reached = 0.0;  // by one query and two keys, as reached_spread()
};
NormalizedHead normalized_head(const model::Model& model, std::int64_t layer, std::int64_t head);

}  // namespace sharpmax::audit
