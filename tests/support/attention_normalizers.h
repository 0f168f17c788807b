// The normalizers that attention tests run over: every member of the family as it comes, the settings
// that take another path through the kernels, and rules of the caller's own.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "normalizer/definition.h"
#include "sharpmax/machine.h"
#include "sharpmax/normalizer.h"
#include "support/own_rules.h"

namespace sharpmax::test {

inline std::vector<std::string> normalizers_under_test() {
  std::vector<std::string> texts;
  for (const NormalizerInfo& info : family()) texts.emplace_back(info.name);
  for (const char* text :
       {"softmax:beta=2.5", "softmax:beta=0", "softmax:beta=-1", "entropy_target:nats=2", "peak_target:weight=0.9",
        "entropy_target:nats=1,gradient=full", "peak_target:weight=0.6,gradient=full",
        "ssmax:s=0.43,b=0.2", "log_length:preset=qwen,length=16", "log_length:preset=llama4,floor=32",
        "log_length:preset=yarn,factor=4", "log_length:preset=yarn_dynamic,length=32", "entmax:alpha=1",
        "entmax:alpha=1.0001", "entmax:alpha=1.25", "entmax:alpha=1.75", "entmax:alpha=2", "asentmax:alpha=2,delta=0.5,beta=0.4",
        "top_k:k=1", "top_k:k=3,beta=2", "sink:c=0.1", "sigmoid:b=-1.5", "self_adjust:form=plain"}) {
    texts.emplace_back(text);
  }
  for (const std::string& own : own_rules()) texts.push_back(own);
  return texts;
}

// Whether a normalizer of normalizers_under_test() takes a case, if each takes every n-th: its place in that list is
// where it begins, so each case too meets every n-th normalizer.
inline bool takes_case(const std::string& normalizer, std::size_t case_index, std::size_t n) {
  static const std::vector<std::string> texts = normalizers_under_test();
  const auto place = std::find(texts.begin(), texts.end(), normalizer) - texts.begin();
  return case_index % n == static_cast<std::size_t>(place) % n;
}

// The same with one value a head, a little different each, where the member has such parameters.
inline AnyNormalizer one_value_per_head(const AnyNormalizer& normalizer, std::int64_t heads) {
  const Definition& definition = normalizer.definition();
  if (definition.parameters.empty()) return normalizer;
  std::vector<AnyNormalizer::NamedParameter> parameters;
  for (std::size_t i = 0; i < definition.parameters.size(); ++i) {
    std::vector<double> values(normalizer.parameters()[i].values().begin(), normalizer.parameters()[i].values().end());
    if (definition.parameters[i].learnable) {
      values.resize(static_cast<std::size_t>(heads), values[0]);
      for (std::size_t h = 0; h < values.size(); ++h) values[h] *= 1.0 + 0.02 * static_cast<double>(h % 4);
    }
    parameters.emplace_back(definition.parameters[i].name, Parameter(values));
  }
  return AnyNormalizer(normalizer.name(), std::span<const AnyNormalizer::NamedParameter>(parameters));
}

// As a test's name: letters, digits and _ only.
inline std::string test_name(std::string text) {
  for (char& c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = c == '-' ? 'm' : '_';
  }
  return text;
}

// Runs f(target) once for every instruction set this machine has, then goes back to the best.
template <class F>
void for_each_target(const F& f) {
  for (const std::string& target : available_targets()) {
    force_target(target);
    f(target);
  }
  force_target("");
}

}  // namespace sharpmax::test
