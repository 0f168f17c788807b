// Every member of the family at several parameters, with the laws that each must keep.
#pragma once

#include <string_view>
#include <vector>

#include "support/row.h"

namespace sharpmax::test {

enum class Mass { one, at_most_one, any };

struct Setting {
  std::string_view text;
  Mass mass = Mass::one;
  bool shift_invariant = true;  // weights depend on score differences only
  bool symmetric = true;        // permuting the keys permutes the weights
  bool monotone = true;         // a larger score never has a smaller weight
  bool nonnegative = true;
  bool searched = false;  // an iteration settles a temperature or a threshold
};

inline const std::vector<Setting>& all_settings() {
  static const std::vector<Setting> settings = {
      {.text = "softmax"},
      {.text = "softmax:beta=2.5"},
      {.text = "softmax:beta=-1", .monotone = false},
      {.text = "adaptive"},
      {.text = "adaptive:gradient=full"},
      {.text = "adaptive:polynomial=0.25/1/1,threshold=0.1,gradient=full"},
      {.text = "entropy_target", .searched = true},
      {.text = "entropy_target:nats=0.05", .searched = true},
      {.text = "entropy_target:nats=0.5,gradient=full", .searched = true},
      {.text = "peak_target", .searched = true},
      {.text = "peak_target:weight=0.9", .searched = true},
      {.text = "peak_target:weight=0.8,gradient=full", .searched = true},
      {.text = "ssmax"},
      {.text = "ssmax:s=0.43,b=0.2"},
      {.text = "log_length:length=3"},
      {.text = "log_length:preset=llama4,a=0.3,floor=2"},
      {.text = "log_length:preset=yarn,factor=4"},
      {.text = "log_length:preset=yarn_dynamic,length=2"},
      {.text = "sparsemax"},
      {.text = "entmax15"},
      {.text = "entmax:alpha=1", .searched = true},
      {.text = "entmax:alpha=1.000001", .searched = true},
      {.text = "entmax:alpha=1.25", .searched = true},
      {.text = "entmax", .searched = true},
      {.text = "entmax:alpha=2", .searched = true},
      {.text = "entmax:alpha=3", .searched = true},
      {.text = "entmax:alpha=16", .searched = true},
      {.text = "asentmax", .searched = true},
      {.text = "asentmax:alpha=1.3,delta=0.4,beta=0.3,gamma=-0.7", .searched = true},
      {.text = "asentmax:alpha=2,delta=0.1,beta=0.25,gamma=1.5", .searched = true},
      {.text = "top_k:k=3,beta=0.7"},
      {.text = "top_k:k=1"},
      {.text = "hard"},
      {.text = "sink", .mass = Mass::at_most_one, .shift_invariant = false},
      {.text = "softmax1:c=0.25", .mass = Mass::at_most_one, .shift_invariant = false},
      {.text = "sink:c=0"},
      {.text = "softpick", .mass = Mass::at_most_one, .shift_invariant = false},
      {.text = "sigmoid", .mass = Mass::any, .shift_invariant = false},
      {.text = "sigmoid:b=-0.5", .mass = Mass::any, .shift_invariant = false},
      {.text = "stick_breaking",
       .mass = Mass::at_most_one,
       .shift_invariant = false,
       .symmetric = false,
       .monotone = false},
      {.text = "self_adjust", .mass = Mass::at_most_one, .shift_invariant = false},
      {.text = "self_adjust:form=plain",
       .mass = Mass::any,
       .shift_invariant = false,
       .monotone = false,
       .nonnegative = false},
      {.text = "relu", .mass = Mass::any, .shift_invariant = false},
      {.text = "linear", .shift_invariant = false},
  };
  return settings;
}

// Runs body(setting, normalizer) for all of them; a failure names the setting.
template <class Body>
void for_each_setting(const Body& body) {
  for (const Setting& setting : all_settings()) {
    SCOPED_TRACE(setting.text);
    body(setting, AnyNormalizer::parse(setting.text));
  }
}

// linear's scores are products of positive features; all others take any finite score.
inline Row scores_for(const AnyNormalizer& normalizer, Row row) {
  if (normalizer.definition().needs_queries_and_keys) {
    for (double& e : row) e = std::abs(e) + 0x1p-10;
  }
  return row;
}

}  // namespace sharpmax::test
