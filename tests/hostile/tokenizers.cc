// One broken vocabulary per defect, each named for it: refused with one sentence, never a crash.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "model/tokenizer/gguf_tokenizer.h"
#include "model/tokenizer/json_tokenizer.h"
#include "model/tokenizer/pattern.h"
#include "model/tokenizer/tokenizer.h"
#include "sharpmax/error.h"
#include "support/vocabularies.h"

namespace sharpmax::test {
namespace {

using namespace model;
using nlohmann::json;

template <class Make>
void expect_sentence(const Make& make, ErrorCode code, const std::string& words) {
  try {
    make();
    ADD_FAILURE() << "was accepted";
  } catch (const Error& error) {
    const std::string said = error.what();
    EXPECT_EQ(error.code(), code) << said;
    EXPECT_NE(said.find(words), std::string::npos) << said;
    for (const char c : said) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << said;
  }
}

struct GgufDefect {
  const char* name;
  std::function<void(GgufVocabulary&)> spoil;
  const char* words;
  ErrorCode code = ErrorCode::bad_file;
};

void expect_vocabularies_refused(const GgufVocabulary& good, const std::vector<GgufDefect>& defects) {
  EXPECT_NO_THROW(make_gguf_tokenizer(good));
  for (const GgufDefect& defect : defects) {
    SCOPED_TRACE(defect.name);
    GgufVocabulary bad = good;
    defect.spoil(bad);
    expect_sentence([&] { make_gguf_tokenizer(bad); }, defect.code, defect.words);
  }
}

TEST(HostileTokenizers, ByteLevelVocabularies) {
  Random random(3);
  expect_vocabularies_refused(
      byte_level_vocabulary(random, 10, "gpt-2"),
      {
          {"no tokens", [](auto& v) { v.texts.clear(); }, "the vocabulary has 0 tokens"},
          {"fewer types than tokens", [](auto& v) { v.types.pop_back(); }, "token types for"},
          {"more types than tokens", [](auto& v) { v.types.push_back(1); }, "token types for"},
          {"a type that is none", [](auto& v) { v.types[3] = 7; }, "token 3 has type 7"},
          {"a type below zero", [](auto& v) { v.types[3] = -1; }, "token 3 has type -1"},
          {"a byte that is not hexadecimal", [](auto& v) { v.texts[3] = "<0xGG>", v.types[3] = 6; },
           "'<0xGG>'"},
          {"a byte without its bracket", [](auto& v) { v.texts[3] = "<0x0A", v.types[3] = 6; }, "'<0x0A'"},
          {"the same text twice", [](auto& v) { v.texts[4] = v.texts[3]; }, "tokens 3 and 4 are both"},
          {"a token that is not UTF-8", [](auto& v) { v.texts[4] = std::string("a\xff"); },
           "token 4 is 'a\\xff', which is not UTF-8"},
          {"bos out of range", [](auto& v) { v.begin = 100000; }, "the bos token is 100000"},
          {"eos below zero", [](auto& v) { v.end = -2; }, "the eos token is -2"},
          {"end of turn out of range", [](auto& v) { v.end_of_turn = 1 << 30; }, "the end-of-turn token"},
          {"unknown out of range", [](auto& v) { v.unknown = std::numeric_limits<std::int64_t>::max(); },
           "the unknown token"},
          {"a merge of one token", [](auto& v) { v.merges[2] = std::string("a"); }, "merge 2 is 'a'"},
          {"a merge that is empty", [](auto& v) { v.merges[2] = std::string(""); }, "merge 2 is ''"},
          {"a merge with nothing on the right", [](auto& v) { v.merges[2] = std::string("a "); },
           "merge 2 is 'a '"},
          {"a merge of an unknown token", [](auto& v) { v.merges[2] = std::string("a nothing"); },
           "needs the token 'nothing'"},
          {"a merge that makes no token", [](auto& v) { v.merges[2] = std::string("a z"); },
           "needs the token 'az'"},
          {"a pre-tokenizer of another model", [](auto& v) { v.pre = "tea\x01"; },
           "pre-tokenizer 'tea\\x01' is not supported; known are default, gpt-2", ErrorCode::unsupported},
          {"a tokenizer of another kind", [](auto& v) { v.model = "bert"; },
           "tokenizer 'bert' is not supported", ErrorCode::unsupported},
      });
}

TEST(HostileTokenizers, SentencePieceVocabularies) {
  Random random(4);
  expect_vocabularies_refused(
      sentencepiece_vocabulary(random, 10),
      {
          {"no scores", [](auto& v) { v.scores.clear(); }, "0 scores for"},
          {"fewer scores than tokens", [](auto& v) { v.scores.pop_back(); }, "scores for"},
          {"more scores than tokens", [](auto& v) { v.scores.push_back(0); }, "scores for"},
          {"a score that is not a number",
           [](auto& v) { v.scores[7] = std::numeric_limits<float>::quiet_NaN(); }, "the score of token 7"},
          {"a byte that is not hexadecimal", [](auto& v) { v.texts[13] = "<0x+1>"; }, "'<0x+1>'"},
          {"the same text twice", [](auto& v) { v.texts[1] = "<unk>"; }, "tokens 0 and 1 are both '<unk>'"},
      });
}

TEST(HostileTokenizers, VocabulariesWithHolesEncodeWhatTheyCan) {
  GgufVocabulary bare{
      .file = "file", .model = "llama", .texts = {"a", "", ""}, .types = {1, 1, 1}, .scores = {0, 0, 0}};
  EXPECT_EQ(make_gguf_tokenizer(bare)->encode("a\xff", SpecialText::as_tokens),
            (std::vector<Token>{0, 0, 0, 0, 0}));
  GgufVocabulary few{.file = "file", .model = "gpt2", .texts = {"a"}};
  EXPECT_EQ(make_gguf_tokenizer(few)->encode("xax", SpecialText::as_tokens), (std::vector<Token>{0}));
  expect_sentence([&] { make_gguf_tokenizer(few)->bytes_of(1); }, ErrorCode::bad_argument,
                  "token 1; there are 1 tokens");
  expect_sentence([&] { make_gguf_tokenizer(few)->text_of(-1); }, ErrorCode::bad_argument, "token -1");
}

json good_json() {
  return json::parse(R"({"added_tokens": [{"id": 3, "content": "<s>", "special": true}], "normalizer": null,
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false}, "post_processor": null, "decoder": {"type": "ByteLevel"},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]}})");
}

struct JsonDefect {
  const char* name;
  const char* place;  // a JSON pointer
  const char* value;
  const char* words;
  ErrorCode code = ErrorCode::bad_file;
};

constexpr ErrorCode kUnsupported = ErrorCode::unsupported;

const JsonDefect kJsonDefects[] = {
    {"no model", "/model", "null", "has no model"},
    {"a model of another kind", "/model/type", R"("Unigram")", "model 'Unigram' is not supported",
     kUnsupported},
    {"a vocabulary that is a list", "/model/vocab", "[]", "no vocab"},
    {"an empty vocabulary", "/model/vocab", "{}", "the vocabulary has 0 tokens"},
    {"merges that are none", "/model/merges", "{}", "no merges"},
    {"an id twice", "/model/vocab/a", "1", "have the id 1"},
    {"an id that is text", "/model/vocab/a", R"("0")", "expected a whole number"},
    {"an id below zero", "/model/vocab/a", "-1", "expected a whole number"},
    {"an id with a fraction", "/model/vocab/a", "0.5", "expected a whole number"},
    {"an id that would want gigabytes", "/model/vocab/a", "4294967295", "expected a whole number below"},
    {"a merge of three", "/model/merges/0", R"(["a", "b", "c"])", "merge 0 is not a pair"},
    {"a merge of numbers", "/model/merges/0", "[1, 2]", "is not laid out as a tokenizer"},
    {"a merge without a space", "/model/merges/0", R"("ab")", "merge 0 is 'ab'"},
    {"a merge with two spaces", "/model/merges/0", R"("a b c")", "merge 0 is 'a b c'"},
    {"a merge of an unknown token", "/model/merges/0", R"("a z")", "needs the token 'z'"},
    {"a merge that makes no token", "/model/merges/0", R"("b a")", "needs the token 'ba'"},
    {"an unknown token that is none", "/model/unk_token", R"("<unk>")", "is not in the vocabulary"},
    {"dropout", "/model/dropout", "0.1", "dropout is not supported", kUnsupported},
    {"a suffix", "/model/end_of_word_suffix", R"("</w>")", "end_of_word_suffix is not supported",
     kUnsupported},
    {"an added token with another's id", "/added_tokens/0/id", "1", "contradicts"},
    {"an added token with another's text", "/added_tokens/0/content", R"("a")", "contradicts"},
    {"an added token without an id", "/added_tokens/0", R"({"content": "x"})", "is not laid out"},
    {"an added token far out", "/added_tokens/0/id", "99999999", "expected a whole number below"},
    {"a normalizer we do not know", "/normalizer", R"({"type": "Lowercase"})",
     "normalizer 'Lowercase' is not supported", kUnsupported},
    {"a normalizer without a type", "/normalizer", "{}", "a normalizer without a type"},
    {"a normalizer that is a number", "/normalizer", "1", "a normalizer without a type"},
    {"a pre-tokenizer we do not know", "/pre_tokenizer", R"({"type": "Whitespace"})",
     "pre-tokenizer 'Whitespace'", kUnsupported},
    {"a split without a pattern", "/pre_tokenizer", R"({"type": "Split", "behavior": "Isolated"})",
     "is not laid out"},
    {"a split that does something else", "/pre_tokenizer",
     R"({"type": "Split", "behavior": "Eaten", "pattern": {"String": "a"}})", "the behavior 'Eaten'"},
    {"an expression that is none", "/pre_tokenizer",
     R"({"type": "Split", "behavior": "Isolated", "pattern": {"Regex": "(a"}})", "is not one"},
    {"a metaspace of two characters", "/pre_tokenizer", R"({"type": "Metaspace", "replacement": "ab"})",
     "not one character"},
    {"a metaspace without any", "/pre_tokenizer", R"({"type": "Metaspace", "replacement": ""})",
     "not one character"},
    {"a metaspace that prepends otherwise", "/pre_tokenizer",
     R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "last"})", "prepend_scheme 'last'"},
    {"no decoder", "/decoder", "null", "has no decoder", kUnsupported},
    {"a decoder we do not know", "/decoder", R"({"type": "WordPiece"})", "decoder 'WordPiece'", kUnsupported},
    {"a decoder after the last", "/decoder",
     R"({"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "ByteFallback"}]})", "after Fuse",
     kUnsupported},
    {"a post-processor we do not know", "/post_processor", R"({"type": "BertProcessing"})",
     "post-processor 'BertProcessing'", kUnsupported},
    {"a template of an unknown token", "/post_processor",
     R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x"}}], "special_tokens": {}})",
     "is not laid out"},
    {"a template of a token out of range", "/post_processor",
     R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x"}}], "special_tokens": {"x": {"ids": [77]}}})",
     "adds token 77"},
};

TEST(HostileTokenizers, TokenizerJsonFiles) {
  EXPECT_NO_THROW(make_json_tokenizer(good_json(), JsonSurroundings{}));
  for (const JsonDefect& defect : kJsonDefects) {
    SCOPED_TRACE(defect.name);
    json bad = good_json();
    bad[json::json_pointer(defect.place)] = json::parse(defect.value);
    expect_sentence([&] { make_json_tokenizer(bad, JsonSurroundings{}); }, defect.code, defect.words);
  }
}

TEST(HostileTokenizers, ExpressionsThatMeanSomethingElseOrTooMuchAreRefused) {
  for (const char* expression : {"(*COMMIT)a",  "(?R)",    "(?C1)a",         "\\C",     "\\Qa\\E",
                                 "a\\",         "(?<n>a)", "(?P<n>a)\\k<n>", "\\bfoo",  "[a&&b]",
                                 "[[:alpha:]]", "[a",      "\\p{Foo}",       "\\pL",    "\\p{L",
                                 "\\h",         "[\\S]",   "\\x{110000000}", "\\uZZZZ", "(?m:a)"}) {
    SCOPED_TRACE(expression);
    expect_sentence([&] { in_pcre2(expression); }, ErrorCode::unsupported, "the regular expression");
  }
  expect_sentence([&] { Pattern p(std::string(20000, 'a')); }, ErrorCode::unsupported, "20000 bytes");
  expect_sentence([&] { Pattern p("\\x{110000}"); }, ErrorCode::bad_file, "is not one");
  // Without a limit this takes longer than the universe has.
  expect_sentence([&] { Pattern("(?:a|aa)*(?:a|aa)*(?:a|aa)*(?:a|aa)*\\d").cut(std::string(3000, 'a')); },
                  ErrorCode::unsupported, "gives up on this text");
}

}  // namespace
}  // namespace sharpmax::test
