// Laws of tokenizers: what goes in comes out, however it is cut, after a number of steps that grows as its length.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "model/tokenizer/bpe_model.h"
#include "model/tokenizer/pattern.h"
#include "model/tokenizer/tokenizer.h"
#include "model/tokenizer/utf8.h"
#include "support/random.h"
#include "support/vocabularies.h"

namespace sharpmax::test {
namespace {

using namespace model;

std::string joined_bytes(const Tokenizer& tokenizer, const std::vector<Token>& tokens) {
  std::string text;
  for (const Token token : tokens) text += tokenizer.bytes_of(token);
  return text;
}

TEST(TokenizerLaws, ByteLevelTextsComeBackByteForByte) {
  for_each_seed(60, [](Random& random) {
    const char* kPre[] = {"default", "gpt-2", "smollm", "llama-bpe", "qwen2", "falcon"};
    const auto tokenizer = make_byte_level_bpe(byte_level_vocabulary(random, 60, kPre[random.size(0, 5)]));
    for (int i = 0; i < 20; ++i) {
      const std::string text = random_bytes(random, 200);
      const std::vector<Token> tokens = tokenizer->encode(text, SpecialText::as_text);
      // llama.cpp's reading of invalid bytes is part of its tokens, so it is part of ours.
      EXPECT_EQ(tokenizer->decode(tokens), as_llama_cpp_reads(text));
      EXPECT_EQ(joined_bytes(*tokenizer, tokens), as_llama_cpp_reads(text));
      EXPECT_TRUE(!is_utf8(text) || tokenizer->decode(tokens) == text) << text;
    }
  });
}

std::string with_plain_spaces(std::string text) {
  for (std::size_t at = text.find("\xe2\x96\x81"); at != std::string::npos; at = text.find("\xe2\x96\x81"))
    text.replace(at, 3, 1, ' ');
  return text;
}

TEST(TokenizerLaws, SentencePieceTextsComeBackByteForByteBrokenOrNot) {
  for_each_seed(60, [](Random& random) {
    GgufVocabulary vocabulary = sentencepiece_vocabulary(random, 60);
    vocabulary.add_space_prefix = random.uniform() < 0.5;
    const auto tokenizer = make_sentencepiece_bpe(vocabulary);
    for (int i = 0; i < 20; ++i) {
      const std::string text = random_bytes(random, 200);
      const std::vector<Token> tokens = tokenizer->encode(text, SpecialText::as_text);
      // U+2581 and a space are one to this vocabulary; behind a broken character a space may come back as
      // the former.
      EXPECT_EQ(with_plain_spaces(tokenizer->decode(tokens)), with_plain_spaces(text));
      const bool plain = is_utf8(text) && text == with_plain_spaces(text);
      EXPECT_TRUE(!plain || tokenizer->decode(tokens) == text) << text;
      const bool prefix = *vocabulary.add_space_prefix && !text.empty();
      EXPECT_EQ(joined_bytes(*tokenizer, tokens), (prefix ? " " : "") + tokenizer->decode(tokens));
    }
  });
}

// Scans the whole word for the best pair, joins it, and begins again.
template <class Find>
void join_naively(std::vector<Symbol>& symbols, const Find& find) {
  while (true) {
    std::optional<Join> best;
    std::size_t at = 0;
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
      const auto join = find(symbols[i], symbols[i + 1]);
      if (join && (!best || join->order < best->order)) {
        best = join;
        at = i;
      }
    }
    if (!best) return;
    symbols[at].token = best->token;
    symbols[at].size += symbols[at + 1].size;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

TEST(TokenizerLaws, TheQueueJoinsAsOneWouldByHand) {
  for_each_seed(300, [](Random& random) {
    const Token letters = static_cast<Token>(random.size(1, 4));
    std::vector<std::vector<std::optional<Join>>> table(64, std::vector<std::optional<Join>>(64));
    Token made = letters;
    while (made < 40) {
      auto& cell = table[random.size(0, static_cast<std::size_t>(made) - 1)]
                        [random.size(0, static_cast<std::size_t>(made) - 1)];
      if (!cell)
        cell = Join{static_cast<double>(random.size(0, 30)), made++};  // equal orders: the left one first
      if (random.uniform() < 0.02) break;
    }
    std::size_t lookups = 0;
    const auto find = [&](const Symbol& left, const Symbol& right) {
      ++lookups;
      return table[static_cast<std::size_t>(left.token)][static_cast<std::size_t>(right.token)];
    };
    std::vector<Symbol> word;
    const std::size_t size = random.size(0, 60);
    for (std::uint32_t i = 0; i < size; ++i)
      word.push_back({static_cast<Token>(random.size(0, static_cast<std::size_t>(letters) - 1)), i, 1});
    std::vector<Symbol> naive = word;
    join_neighbours(word, find);
    EXPECT_LE(lookups, 3 * size);  // every pair once, and two new ones for each of at most size - 1 joins
    join_naively(naive, find);
    ASSERT_EQ(word.size(), naive.size());
    for (std::size_t i = 0; i < word.size(); ++i) {
      EXPECT_EQ(word[i].token, naive[i].token);
      EXPECT_EQ(word[i].size, naive[i].size);
      EXPECT_EQ(word[i].begin, naive[i].begin);
    }
  });
}

// A step for each pair of bytes would be met by the runner's limit: it takes hours.
TEST(TokenizerLaws, AMillionBytesOfOneThingAreAWordLikeAnyOther) {
  Random random(1);
  const auto bytes = make_byte_level_bpe(byte_level_vocabulary(random, 200, "llama-bpe"));
  const auto pieces = make_sentencepiece_bpe(sentencepiece_vocabulary(random, 200));
  for (const char* unit : {"a", " ", "1", "\n", "ab", "\xff"}) {
    std::string text;
    while (text.size() < 1'000'000) text += unit;
    for (const std::string& run : {text, text + "x"}) {
      EXPECT_EQ(bytes->decode(bytes->encode(run, SpecialText::as_tokens)), as_llama_cpp_reads(run));
      EXPECT_EQ(pieces->decode(pieces->encode(run, SpecialText::as_tokens)), run);
    }
  }
}

TEST(TokenizerLaws, AStreamGivesWholeCharactersAndAllBytes) {
  for_each_seed(200, [](Random& random) {
    const auto tokenizer = make_sentencepiece_bpe(sentencepiece_vocabulary(random, 5));
    std::string valid;
    for (std::size_t i = random.size(0, 30); i > 0; --i) {
      constexpr char32_t kBelow[] = {0x80, 0x800, 0xd800, 0x110000};
      const char32_t c = static_cast<char32_t>(random.uniform() * kBelow[random.size(0, 3)]);
      append_code_point(valid, c >= 0xd800 && c < 0xe000 ? U'x' : c);
    }
    const bool broken = random.uniform() < 0.3;
    const std::string text = broken ? random_bytes(random, 60) : valid;
    const std::vector<Token> tokens = tokenizer->encode(text, SpecialText::as_text);
    TextStream stream(*tokenizer);
    std::string shown;
    for (const Token token : tokens) {
      const std::string part = stream.push(token);
      EXPECT_TRUE(broken || is_utf8(part));
      shown += part;
    }
    shown += stream.flush();
    EXPECT_EQ(shown, joined_bytes(*tokenizer, tokens));
    EXPECT_EQ(stream.flush(), "");
  });
}

TEST(TokenizerLaws, WhatAnExpressionCutsIsTheTextAgain) {
  for_each_seed(200, [](Random& random) {
    const char* kExpressions[] = {R"(\s+(?!\S)|\w*)", R"(a|b?)", R"((?=a))", R"([^\S\n]?x*)", "c"};
    const std::string text = with_replacements(random_bytes(random, 100));
    const char* expression = kExpressions[random.size(0, 4)];
    if (std::string_view(expression).find("[^\\S") != std::string_view::npos) return;  // refused: hostile/
    std::string joined;
    for (const Piece& piece : Pattern(expression).cut(text)) {
      EXPECT_FALSE(piece.text.empty());
      joined += piece.text;
    }
    EXPECT_EQ(joined, text);
  });
}

TEST(TokenizerLaws, SpacesAreThoseOfUnicode) {
  const Pattern space(R"(\s)"), within(R"([\s])"), no_space(R"(\S)");
  for (char32_t c = 0; c < 0x11000; ++c) {
    if (c >= 0xd800 && c < 0xe000) continue;
    std::string text;
    append_code_point(text, c);
    const bool is_space = (c >= 9 && c <= 13) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
                          (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
                          c == 0x205f || c == 0x3000;
    EXPECT_EQ(space.cut(text)[0].matched, is_space) << static_cast<unsigned>(c);
    EXPECT_EQ(within.cut(text)[0].matched, is_space) << static_cast<unsigned>(c);
    EXPECT_EQ(no_space.cut(text)[0].matched, !is_space) << static_cast<unsigned>(c);
  }
}

// llama.cpp's own way: every token in turn, the longest first, through what is still text.
std::vector<std::pair<std::size_t, Token>> taken_in_turn(std::string text, std::vector<SpecialToken> tokens) {
  std::stable_sort(tokens.begin(), tokens.end(),
                   [](const auto& a, const auto& b) { return a.text.size() > b.text.size(); });
  std::vector<std::pair<std::size_t, Token>> found;
  for (const SpecialToken& token : tokens) {
    for (std::size_t at = text.find(token.text); at != std::string::npos; at = text.find(token.text, at)) {
      found.emplace_back(at, token.token);
      text.replace(at, token.text.size(), std::string(token.text.size(), '\1'));
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

TEST(TokenizerLaws, SpecialTextsAreTakenLongestFirst) {
  for_each_seed(300, [](Random& random) {
    const auto draw = [&](std::size_t size) {
      std::string text;
      while (text.size() < size) text += "ab<"[random.size(0, 2)];
      return text;
    };
    std::vector<SpecialToken> tokens;
    for (Token i = 0; i < 6; ++i) {
      const std::string text = draw(random.size(1, 4));
      const bool there =
          std::any_of(tokens.begin(), tokens.end(), [&](const auto& t) { return t.text == text; });
      if (!there) tokens.push_back({text, i});
    }
    const std::string text = draw(random.size(0, 40));
    const SpecialTexts specials(tokens);
    std::vector<std::pair<std::size_t, Token>> found;
    for (const auto& match : specials.longest_first(text))
      found.emplace_back(match.begin, tokens[match.index].token);
    EXPECT_EQ(found, taken_in_turn(text, tokens)) << text;
  });
}

}  // namespace
}  // namespace sharpmax::test
