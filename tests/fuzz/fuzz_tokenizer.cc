// Any vocabulary is either refused with one Error or encodes any text; what it gives back is the text.
//
// The input: a byte that picks the kind, a vocabulary, and after the last zero byte a text. GGUF vocabularies
// are lines: "t TYPE SCORE TEXT" a token, "m LEFT RIGHT" a merge, "p NAME" the pre-tokenizer, "a" all bytes,
// "n" no space before the first word. The third kind is a tokenizer.json, the fourth a chat template.
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "model/file/model_file.h"
#include "model/chat/chat_template.h"
#include "model/tokenizer/gguf_tokenizer.h"
#include "model/tokenizer/json_tokenizer.h"
#include "model/tokenizer/tokenizer.h"
#include "model/tokenizer/utf8.h"
#include "sharpmax/error.h"

namespace {

using namespace sharpmax::model;

std::string_view next_word(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

long number(std::string_view word) {
  long value = 0;
  std::from_chars(word.data(), word.data() + word.size(), value);
  return value;
}

bool add_all_bytes(GgufVocabulary& made, bool spelt) {
  for (int byte = 0; byte < 256; ++byte) {
    const auto b = static_cast<std::uint8_t>(byte);
    made.texts.push_back(spelt ? std::string(spelling_of(b)) : name_of_byte(b));
    made.types.push_back(spelt ? 1 : 6);
    made.scores.push_back(0);
  }
  return true;
}

GgufVocabulary vocabulary_from(std::string_view lines, std::string model, bool& complete) {
  GgufVocabulary made{.file = "file", .model = std::move(model)};
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    const std::string_view kind = next_word(line);
    if (kind == "t") {
      made.types.push_back(number(next_word(line)));
      made.scores.push_back(static_cast<float>(number(next_word(line))));
      made.texts.emplace_back(line);
    } else if (kind == "m") {
      made.merges.emplace_back(line);
    } else if (kind == "p") {
      made.pre = line;
    } else if (kind == "b") {
      made.begin = number(line);
    } else if (kind == "n") {
      made.add_space_prefix = false;
    } else if (kind == "a" && !complete) {
      complete = add_all_bytes(made, made.model == "gpt2");
    }
  }
  return made;
}

void check(bool holds) {
  if (!holds) std::abort();
}

void try_out(const Tokenizer& tokenizer, std::string_view text) {
  for (const SpecialText special : {SpecialText::as_text, SpecialText::as_tokens}) {
    const std::vector<Token> tokens = tokenizer.encode_whole(text, special);
    TextStream stream(tokenizer);
    std::string streamed, joined;
    for (const Token token : tokens) {
      check(token >= 0 && token < tokenizer.size());
      streamed += stream.push(token);
      joined += tokenizer.bytes_of(token);
    }
    check(streamed + stream.flush() == joined);
    check(tokenizer.decode(tokens).size() <= joined.size());
  }
}

void run_gguf(std::string_view lines, const char* model, std::string_view text) {
  bool complete = false;
  GgufVocabulary vocabulary = vocabulary_from(lines, model, complete);
  const bool byte_level = vocabulary.model == "gpt2";
  // Tokens that stand for no bytes, or for others than they are found by, lose text as they do in llama.cpp.
  for (const std::int64_t type : vocabulary.types) complete &= type == 1;
  const auto tokenizer = make_gguf_tokenizer(std::move(vocabulary));
  try_out(*tokenizer, text);
  complete &= byte_level && tokenizer->ends().stops.empty();
  if (complete)
    check(tokenizer->decode(tokenizer->encode(text, SpecialText::as_text)) == as_llama_cpp_reads(text));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > 4096) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t zero = std::min(rest.rfind('\0'), rest.size());
  const std::string_view vocabulary = rest.substr(0, zero),
                         text = rest.substr(std::min(zero + 1, rest.size()));
  try {
    switch (data[0] % 4) {
      case 0:
        run_gguf(vocabulary, "gpt2", text);
        break;
      case 1:
        run_gguf(vocabulary, "llama", text);
        break;
      case 2:
        try_out(*make_json_tokenizer(parse_json_object(vocabulary, "tokenizer.json"), JsonSurroundings{}),
                text);
        break;
      default:
        ChatTemplate(vocabulary, {"<s>", "</s>"})
            .render({{"system", "be kind"}, {"user", std::string(text)}}, 0, {.steps = 100'000, .bytes = 1 << 16});
    }
  } catch (const sharpmax::Error& error) {
    check(error.code() == sharpmax::ErrorCode::bad_file || error.code() == sharpmax::ErrorCode::unsupported);
    check(!std::string_view(error.what()).empty());
  }
  return 0;
}
