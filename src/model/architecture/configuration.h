// What one model is, in numbers: the description of its architecture filled in from its file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sharpmax::model {

enum class NormKind { root_mean_square, layer };
enum class Activation { silu, gelu_tanh };
// Which features of a head are turned together: (0, 1), (2, 3), … or (0, d/2), (1, d/2 + 1), …
enum class RotationPairs { interleaved, halves };
// Queries and keys normalized before they are turned: each head by itself, or all heads of a token together.
enum class QueryKeyNorm { none, head, width };

// How rotation angles are stretched so that positions past the trained length look like known ones.
struct RopeScaling {
  enum class Kind {
    none,
    linear,  // angle / factor
    ntk,     // base * factor^(d / (d - 2)): high frequencies keep their angle, low ones are stretched
    yarn,    // between the two by wavelength, and cos, sin times attention_factor
    llama3,  // as Llama 3.1 does it
    longrope,  // divisors of the file, others past the original length, and cos, sin times attention_factor
  };
  Kind kind = Kind::none;
  double factor = 1;
  double original_length = 0;   // yarn, llama3, longrope: the trained length
  double attention_factor = 0;  // yarn, longrope; 0: yarn's 0.1 ln(factor) + 1
  double beta_fast = 32, beta_slow = 1;
  bool whole_bounds = true;  // yarn: the bounds of the ramp are rounded to whole pairs
  double low_frequency_factor = 1, high_frequency_factor = 4;

  bool operator==(const RopeScaling&) const = default;
};

struct Rope {
  RotationPairs pairs = RotationPairs::halves;
  std::int64_t features = 0;  // the first of a head that are turned; 0: positions are learned instead
  double base = 10000;
  RopeScaling scaling;
  std::vector<float> divisors;  // one a pair, as files store Llama 3's frequencies; empty: none
  std::vector<float> short_divisors;  // longrope: within the original length
};

// Queries times 1 + beta ln(1 + floor(position / length)), after they are turned.
struct QueryGrowth {
  double beta = 0;  // 0: none
  double length = 1;
};

struct Configuration {
  std::string architecture;
  std::int64_t layers = 0;
  std::int64_t width = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_width = 0;
  std::int64_t hidden = 0;      // width within the feed-forward part
  std::int64_t context = 0;     // tokens that it was trained on
  std::int64_t vocabulary = 0;  // rows of the embedding

  NormKind norm = NormKind::root_mean_square;
  double epsilon = 1e-5;
  Activation activation = Activation::silu;
  bool gated = true;        // the feed-forward part multiplies two projections
  bool norm_before = true;  // what enters attention and feed-forward is normalized
  bool norm_after = false;  // what they give is normalized
  QueryKeyNorm query_key_norm = QueryKeyNorm::none;
  double embedding_scale = 1;
  double attention_scale = 0;  // of q . k
  double attention_cap = 0;    // c tanh(score / c); 0: none
  double logit_cap = 0;
  double residual_scale = 1;  // of what attention and feed-forward give, before it is added
  double logit_scale = 1;
  QueryGrowth query_growth;
  std::vector<std::int64_t> windows;  // one a layer: how many keys a query sees, itself included; 0: all
  Rope rope;
  std::optional<Rope> window_rope;  // of layers with a window, where theirs is another
  std::vector<bool> turned;         // one a layer: whether rotary positions enter it

  // Null: no rotary positions enter the layer.
  const Rope* rope_of(std::int64_t layer) const noexcept {
    const auto at = static_cast<std::size_t>(layer);
    if (rope.features == 0 || !turned[at]) return nullptr;
    return window_rope && windows[at] > 0 ? &*window_rope : &rope;
  }
  std::int64_t query_width() const noexcept { return heads * head_width; }
  std::int64_t kv_width() const noexcept { return kv_heads * head_width; }
};

// Scaling in place of what the file asks for, whose divisors go where they belong to it.
inline void set_scaling(Rope& rope, const RopeScaling& scaling) {
  if (rope.scaling.kind == RopeScaling::Kind::longrope) rope.divisors.clear();
  rope.scaling = scaling;
}

// "linear:2", "ntk:1.5", "yarn:4", "yarn:factor=4,original=8192,beta_fast=32,beta_slow=1,attention=1.1",
// "none". yarn's original length is `trained` where the text leaves it out.
RopeScaling parse_rope_scaling(std::string_view text, std::int64_t trained);

}  // namespace sharpmax::model
