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

// How rotation angles are stretched so that positions past the trained length look like known ones.
struct RopeScaling {
  enum class Kind {
    none,
    linear,  // angle / factor
    ntk,     // base * factor^(d / (d - 2)): high frequencies keep their angle, low ones are stretched
    yarn,    // between the two by wavelength, and cos, sin times attention_factor
    llama3,  // as Llama 3.1 does it
  };
  Kind kind = Kind::none;
  double factor = 1;
  double original_length = 0;   // yarn, llama3: the trained length
  double attention_factor = 0;  // yarn; 0: 0.1 ln(factor) + 1
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
};

// Heads of two kinds in every layer: the first turn with the position and see a window, the others have no positions
// and see everything.
struct LocalHeads {
  std::int64_t heads = 0;
  std::int64_t window = 0;  // keys that one of them sees, its own included
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
  bool norm_after = false;  // what attention and feed-forward give is normalized too
  double embedding_scale = 1;
  double attention_scale = 0;  // of q . k
  double attention_cap = 0;    // c tanh(score / c); 0: none
  double logit_cap = 0;
  std::vector<std::int64_t> windows;  // one a layer: how many keys a query sees, itself included; 0: all
  Rope rope;
  std::optional<LocalHeads> local;  // empty: all heads of a layer are alike

  bool turns(std::int64_t head) const noexcept { return rope.features > 0 && (!local || head < local->heads); }
  // How many keys a query of a head sees, itself included; 0: all.
  std::int64_t window_of(std::int64_t layer, std::int64_t head) const {
    if (local) return head < local->heads ? local->window : 0;
    return windows[static_cast<std::size_t>(layer)];
  }
  std::int64_t query_width() const noexcept { return heads * head_width; }
  std::int64_t kv_width() const noexcept { return kv_heads * head_width; }
};

// "linear:2", "ntk:1.5", "yarn:4", "yarn:factor=4,original=8192,beta_fast=32,beta_slow=1,attention=1.1",
// "none". yarn's original length is `trained` where the text leaves it out.
RopeScaling parse_rope_scaling(std::string_view text, std::int64_t trained);

}  // namespace sharpmax::model
