#include "audit/probe/question.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "model/generation/generate.h"
#include "sharpmax/error.h"

namespace sharpmax::audit {
namespace {

using model::SpecialText;
using model::Token;

std::size_t shared(std::span<const Token> a, std::span<const Token> b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

// Makes the tokens of a probe's questions; knows where the message lies within the whole text.
class Writer {
 public:
  Writer(const model::Tokenizer& tokenizer, const std::optional<model::ChatTemplate>& chat,
         const Probe& probe)
      : tokenizer_(tokenizer), probe_(probe), chat_(chat) {}

  Question write(std::uint64_t context, std::int64_t items, std::int64_t asked) const {
    const ProbeText text = probe_text(probe_.kind, probe_.seed, context, items, asked);
    const std::string whole = whole_text(text);
    // The template may write of its own before the items, and these are there once.
    const std::size_t at = whole.find(text.items);
    Question question{.prompt = encoded(whole), .answer = text.answer};
    // A vocabulary may join the item with what stands around it: tokens from the first that has some of it to
    // the last.
    question.item_begin =
        static_cast<std::int64_t>(shared(encoded(whole.substr(0, at + text.item_begin)), question.prompt));
    const std::vector<Token> through = encoded(whole.substr(0, at + text.item_end));
    const std::size_t same = shared(through, question.prompt);
    question.item_end = static_cast<std::int64_t>(same + (same < through.size() ? 1 : 0));
    question.context = static_cast<std::int64_t>(context);
    return question;
  }

  std::int64_t tokens(std::uint64_t context, std::int64_t items) const {
    // The longest question counts: names are not of one length, so every asked item is a little different.
    std::int64_t most = 0;
    for (const std::int64_t asked : asked_of(context, items)) {
      const ProbeText text = probe_text(probe_.kind, probe_.seed, context, items, asked);
      most = std::max(most, static_cast<std::int64_t>(encoded(whole_text(text)).size()));
    }
    return most;
  }

  std::vector<std::int64_t> asked_of(std::uint64_t context, std::int64_t items) const {
    if (probe_.kind == ProbeKind::max) return {0};
    return asked_items(probe_.seed, context, items, kQuestionsPerContext);
  }

 private:
  std::string whole_text(const ProbeText& text) const {
    if (!chat_) return text.items + text.opening;
    return chat_->render(text.items + text.question, std::nullopt) + text.opening;
  }
  std::vector<Token> encoded(std::string_view text) const {
    if (chat_) return tokenizer_.encode(text, SpecialText::as_tokens);
    return tokens_of_prompt(tokenizer_, text);
  }

  const model::Tokenizer& tokenizer_;
  Probe probe_;
  std::optional<model::ChatTemplate> chat_;
};

// The most items that fit; 0: none. The number of tokens grows with the number of items.
std::int64_t items_that_fit(const Writer& writer, ProbeKind kind, std::uint64_t context,
                            std::int64_t length) {
  std::int64_t fits = 0, too_many = 1;
  while (too_many <= most_items(kind) && writer.tokens(context, too_many) <= length) {
    fits = too_many;
    too_many *= 2;
  }
  too_many = std::min(too_many, most_items(kind) + 1);
  while (too_many - fits > 1) {
    const std::int64_t middle = fits + (too_many - fits) / 2;
    (writer.tokens(context, middle) <= length ? fits : too_many) = middle;
  }
  return fits;
}

}  // namespace

std::vector<Token> tokens_of_prompt(const model::Tokenizer& tokenizer, std::string_view text) {
  std::vector<Token> tokens;
  if (tokenizer.ends().add_begin && tokenizer.ends().begin) tokens.push_back(*tokenizer.ends().begin);
  const auto rest = tokenizer.encode(text, SpecialText::as_text);
  tokens.insert(tokens.end(), rest.begin(), rest.end());
  return tokens;
}

std::vector<Question> probe_questions(const model::Model& model, const Probe& probe, std::int64_t length,
                                      std::int64_t count, std::int64_t first_context) {
  std::optional<model::ChatTemplate> chat;
  if (probe.chat) chat = model::chat_template_of(model.file());
  return probe_questions(model.tokenizer(), chat, probe, length, count, first_context);
}

std::vector<Question> probe_questions(const model::Tokenizer& tokenizer,
                                      const std::optional<model::ChatTemplate>& chat, const Probe& probe,
                                      std::int64_t length, std::int64_t count, std::int64_t first_context) {
  const Writer writer(tokenizer, chat, probe);
  std::vector<Question> questions;
  for (auto context = static_cast<std::uint64_t>(first_context);
       static_cast<std::int64_t>(questions.size()) < count; ++context) {
    const std::int64_t items = items_that_fit(writer, probe.kind, context, length);
    if (items < 1)
      throw Error(ErrorCode::bad_argument,
                  fmt::format("a {} prompt of {} tokens was asked for; one of a single item has {}",
                              name_of(probe.kind), length, writer.tokens(context, 1)));
    for (const std::int64_t asked : writer.asked_of(context, items)) {
      if (static_cast<std::int64_t>(questions.size()) == count) break;
      questions.push_back(writer.write(context, items, asked));
    }
  }
  return questions;
}

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
