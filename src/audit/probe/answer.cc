#include "audit/probe/answer.h"

#include <algorithm>
#include <cctype>

#include "model/generation/sampler.h"

namespace sharpmax::audit {
namespace {

using model::Token;

// Tokens after the answer's own: white space before it, and the one that shows where it ends.
constexpr std::int64_t kMoreTokens = 3;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || (c & 0x80) != 0; }

std::int64_t most_tokens(const model::Tokenizer& tokenizer, std::string_view answer) {
  const auto tokens = tokenizer.encode(answer, model::SpecialText::as_text);
  return static_cast<std::int64_t>(tokens.size()) + kMoreTokens;
}

}  // namespace

Verdict judge(std::string_view given, std::string_view answer, bool ended) {
  given.remove_prefix(std::min(given.find_first_not_of(" \t\n\r"), given.size()));
  const auto open = ended ? Verdict::wrong : Verdict::open;
  if (given.size() < answer.size()) return answer.starts_with(given) ? open : Verdict::wrong;
  if (!given.starts_with(answer)) return Verdict::wrong;
  if (given.size() == answer.size()) return ended ? Verdict::right : Verdict::open;
  return is_word(answer.back()) && is_word(given[answer.size()]) ? Verdict::wrong : Verdict::right;
}

std::span<const float> Examiner::read(const Question& question) {
  const auto& prompt = question.prompt;
  auto same = static_cast<std::size_t>(
      std::mismatch(read_.begin(), read_.end(), prompt.begin(), prompt.end()).first - read_.begin());
  same = std::min(same, prompt.size() - 1);  // logits come of reading the last
  session_.rewind(static_cast<std::int64_t>(same));
  read_ = prompt;
  return session_.feed_for_last(std::span(prompt).subspan(same));
}

Answer Examiner::ask(const Question& question) {
  const model::Tokenizer& tokenizer = session_.model().tokenizer();
  const auto& stops = tokenizer.ends().stops;
  const auto known = static_cast<std::size_t>(tokenizer.size());
  std::span<const float> logits = read(question);
  Answer answer;
  const std::int64_t most = most_tokens(tokenizer, question.answer);
  for (std::int64_t i = 1;; ++i) {
    const Token token = model::likeliest(logits.first(std::min(known, logits.size())));
    const bool stopped = std::find(stops.begin(), stops.end(), token) != stops.end();
    if (!stopped) answer.given += tokenizer.bytes_of(token);
    const Verdict verdict = judge(answer.given, question.answer, stopped || i == most);
    if (verdict != Verdict::open) {
      answer.right = verdict == Verdict::right;
      session_.rewind(static_cast<std::int64_t>(question.prompt.size()));
      return answer;
    }
    logits = session_.feed_for_last({&token, 1});
  }
}

std::int64_t Examiner::read_right_answer(const Question& question) {
  // As text goes on after a word: " 4821".
  auto tokens = session_.model().tokenizer().encode(" " + question.answer, model::SpecialText::as_text);
  session_.rewind(static_cast<std::int64_t>(question.prompt.size()));
  if (!tokens.empty()) tokens.pop_back();
  session_.feed(tokens);
  session_.rewind(static_cast<std::int64_t>(question.prompt.size()));
  return static_cast<std::int64_t>(tokens.size());
}

std::int64_t room_for(const model::Tokenizer& tokenizer, std::span<const Question> questions) {
  std::int64_t room = 0;
  for (const Question& question : questions)
    room = std::max(room, static_cast<std::int64_t>(question.prompt.size()) +
                              most_tokens(tokenizer, " " + question.answer));
  return room;
}

}  // namespace sharpmax::audit
