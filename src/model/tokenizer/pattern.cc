#define PCRE2_CODE_UNIT_WIDTH 8
#include "model/tokenizer/pattern.h"

#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <array>

#include "base/in_quotes.h"
#include "model/tokenizer/utf8.h"
#include "sharpmax/error.h"

namespace sharpmax::model {
namespace {

constexpr std::size_t kJitStackBytes = 8U << 20;
// PCRE2's own default. The expressions of our models stay below it on a megabyte of one letter, digit or space
// (tests/laws/tokenizer_laws.cc).
constexpr std::uint32_t kMatchLimit = 10'000'000;
constexpr std::uint32_t kHeapKilobytes = 64 * 1024;
constexpr std::size_t kMaxExpression = 16 * 1024;

std::string words_of(int error) {
  std::array<PCRE2_UCHAR, 200> words{};
  pcre2_get_error_message(error, words.data(), words.size());
  return reinterpret_cast<const char*>(words.data());
}

// What one thread needs to match, kept from call to call.
struct MatchSpace {
  pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_jit_stack* stack = pcre2_jit_stack_create(32 * 1024, kJitStackBytes, nullptr);

  MatchSpace() {
    if (data == nullptr || context == nullptr) throw std::bad_alloc();
    pcre2_set_match_limit(context, kMatchLimit);
    pcre2_set_heap_limit(context, kHeapKilobytes);
    if (stack != nullptr) pcre2_jit_stack_assign(context, nullptr, stack);
  }
  ~MatchSpace() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    pcre2_jit_stack_free(stack);
  }
  MatchSpace(const MatchSpace&) = delete;
  MatchSpace& operator=(const MatchSpace&) = delete;
};

}  // namespace

struct Pattern::Code {
  std::string expression;
  pcre2_code* code = nullptr;

  Code(std::string_view shown, std::string_view expression_in_pcre2, std::uint32_t options)
      : expression(shown) {
    int error = 0;
    PCRE2_SIZE at = 0;
    code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression_in_pcre2.data()), expression_in_pcre2.size(),
                         PCRE2_UTF | options, &error, &at, nullptr);
    if (code == nullptr)
      throw Error(ErrorCode::bad_file, fmt::format("tokenizer: the regular expression {} is not one: {}",
                                                   in_quotes(shown), words_of(error)));
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // without it the interpreter runs: slower, the same answers
  }
  ~Code() { pcre2_code_free(code); }
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
};

Pattern::Pattern(std::string_view expression) {
  if (expression.size() > kMaxExpression)
    throw Error(ErrorCode::unsupported, fmt::format("tokenizer: a regular expression of {} bytes; at most {}",
                                                    expression.size(), kMaxExpression));
  code_ = std::make_shared<Code>(expression, in_pcre2(expression),
                                 PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C);
}

Pattern Pattern::literal(std::string_view text) {
  return Pattern(std::make_shared<Code>(text, text, PCRE2_LITERAL));
}

std::vector<Piece> Pattern::cut(std::string_view text) const {
  thread_local MatchSpace space;
  std::vector<Piece> pieces;
  std::size_t done = 0;  // up to here the text is in pieces
  std::size_t from = 0;  // from here we look for a match
  while (from < text.size()) {
    // No check of the UTF-8: it would read the rest of the text for every word.
    const int found = pcre2_match(code_->code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                                  PCRE2_NO_UTF_CHECK, space.data, space.context);
    if (found == PCRE2_ERROR_NOMATCH) break;
    if (found < 0)
      throw Error(ErrorCode::unsupported,
                  fmt::format("tokenizer: the regular expression {} gives up on this text: {}",
                              in_quotes(code_->expression), words_of(found)));
    const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(space.data);
    const std::size_t begin = ends[0], end = ends[1];
    if (end <= begin) {  // an empty match: nothing to cut off
      from = std::max(from, begin) +
             std::max<std::size_t>(1, character_length(text.substr(std::max(from, begin))));
      continue;
    }
    if (begin > done) pieces.push_back({text.substr(done, begin - done), false});
    pieces.push_back({text.substr(begin, end - begin), true});
    done = from = end;
  }
  if (done < text.size()) pieces.push_back({text.substr(done), false});
  return pieces;
}

}  // namespace sharpmax::model
