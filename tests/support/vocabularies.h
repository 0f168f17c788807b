// Vocabularies for tokenizer tests: every byte a token, and merges drawn at random.
#pragma once

#include <string>
#include <vector>

#include "model/tokenizer/gguf_tokenizer.h"
#include "model/tokenizer/tokenizer.h"
#include "model/tokenizer/utf8.h"
#include "support/random.h"

namespace sharpmax::test {

// Merges join tokens that are there already, so that every merge can come to be used.
inline model::GgufVocabulary byte_level_vocabulary(Random& random, std::size_t merges, std::string pre) {
  model::GgufVocabulary made;
  made.file = "file";
  made.model = "gpt2";
  made.pre = std::move(pre);
  for (int byte = 0; byte < 256; ++byte)
    made.texts.emplace_back(model::spelling_of(static_cast<std::uint8_t>(byte)));
  const std::string common = "abc 1\n";  // mostly of these, so that texts meet them
  std::vector<std::string> parts;
  for (const char c : common) parts.emplace_back(model::spelling_of(static_cast<std::uint8_t>(c)));
  for (std::size_t i = 0; i < merges; ++i) {
    const std::string left = parts[random.size(0, parts.size() - 1)];
    const std::string right = parts[random.size(0, parts.size() - 1)];
    if (std::find(made.texts.begin(), made.texts.end(), left + right) == made.texts.end()) {
      made.texts.push_back(left + right);
      parts.push_back(left + right);
    }
    made.merges.push_back(left + " " + right);
  }
  made.texts.insert(made.texts.end(), {"<s>", "<user>"});
  made.types.assign(made.texts.size(), 1);
  made.types[made.texts.size() - 2] = 3;
  made.types[made.texts.size() - 1] = 4;
  return made;
}

inline model::GgufVocabulary sentencepiece_vocabulary(Random& random, std::size_t pieces) {
  model::GgufVocabulary made;
  made.file = "file";
  made.model = "llama";
  made.texts = {"<unk>", "<s>", "</s>"};
  made.types = {2, 3, 3};
  for (int byte = 0; byte < 256; ++byte) {
    made.texts.push_back(model::name_of_byte(static_cast<std::uint8_t>(byte)));
    made.types.push_back(6);
  }
  std::vector<std::string> parts = {"a", "b", "c", "\xe2\x96\x81", "1", "\n", "\xc3\xa9"};
  const std::size_t first = parts.size();
  while (parts.size() < first + pieces) {
    const std::string text =
        parts[random.size(0, parts.size() - 1)] + parts[random.size(0, parts.size() - 1)];
    if (std::find(parts.begin(), parts.end(), text) == parts.end()) parts.push_back(text);
  }
  made.texts.insert(made.texts.end(), parts.begin(), parts.end());
  made.types.resize(made.texts.size(), 1);
  // Few different scores, so that equal ones meet.
  for (std::size_t i = 0; i < made.texts.size(); ++i)
    made.scores.push_back(-static_cast<float>(random.size(0, 20)));
  return made;
}

// Bytes of any kind, most of them from few, in runs.
inline std::string random_bytes(Random& random, std::size_t most) {
  const std::string common = "abc  1\n'\xc3\xa9\xe2\x96\x81";
  std::string text;
  for (std::size_t size = random.size(0, most); text.size() < size;) {
    const bool usual = random.uniform() < 0.8;
    const char c = usual ? common[random.size(0, common.size() - 1)] : static_cast<char>(random.size(0, 255));
    text.append(random.uniform() < 0.1 ? random.size(1, 20) : 1, c);
  }
  return text;
}

}  // namespace sharpmax::test
