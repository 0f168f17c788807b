// Questions as tokens of a model, and a model that answers them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/chat/chat_template.h"
#include "model/tokenizer/tokenizer.h"
#include "model/transformer/model.h"
#include "model/transformer/session.h"

namespace sharpmax::audit {

// Prompts whose right answer is known: the maximum of a sequence (paper A's figure 3, growing), and the value
// of one of many keys. Drawn by counter: a prompt is a function of seed, context and question.

enum class ProbeKind { max, lookup };
std::string_view name_of(ProbeKind kind);
// "max" or "lookup"; Error{bad_argument} for another.
ProbeKind probe_kind_of(std::string_view name);

// A question as text. Questions of one context share their beginning, all of its items included.
struct ProbeText {
  std::string items;     // all of them, and for max the question
  std::string question;  // what else a message has to ask; plain text goes straight on to the opening
  std::string opening;   // how the answer begins; `answer` comes next
  std::string answer;
  std::size_t item_begin = 0, item_end = 0;  // bytes of the right item's value within `items`
};

// Keys of a look-up are single words up to 155 items, and pairs of words beyond: those share words with one
// another, which makes them harder to distinguish.
//
// At most so many items in a context: for look-up there are no more keys.
std::int64_t most_items(ProbeKind kind);

// The question about item `asked` of a context of `items` (for max there is one question: `asked` is unused).
// Error{bad_argument} where these are not there.
ProbeText probe_text(ProbeKind kind, std::uint64_t seed, std::uint64_t context, std::int64_t items,
                     std::int64_t asked);

// Which items of a context are asked about: `count` different ones, spread over the whole of it; fewer where
// there are fewer.
std::vector<std::int64_t> asked_items(std::uint64_t seed, std::uint64_t context, std::int64_t items,
                                      std::int64_t count);

// Questions as tokens of a model, cut to a length.

struct Question {
  std::vector<model::Token> prompt;
  std::string answer;
  std::int64_t item_begin = 0, item_end = 0;  // tokens of the right item; none for a question from a file
  std::int64_t context = 0;                   // questions of one context are not independent
};

struct Probe {
  ProbeKind kind = ProbeKind::lookup;
  bool chat = false;  // as a message in the model's own template; Error{unsupported} if it has none
  std::uint64_t seed = 0;
};

// How many questions share a context, if there is more than one to ask. Reading a context costs as much as
// about so many answers.
inline constexpr std::int64_t kQuestionsPerContext = 10;

// `count` questions of at most `length` tokens each, and no more than two items shorter than that. Contexts
// are numbered from `first_context` on; others give other questions. Error{bad_argument} where not one item
// fits.
std::vector<Question> probe_questions(const model::Model& model, const Probe& probe, std::int64_t length,
                                      std::int64_t count, std::int64_t first_context = 0);
// The same for a tokenizer alone; `chat` as in probe.chat.
std::vector<Question> probe_questions(const model::Tokenizer& tokenizer,
                                      const std::optional<model::ChatTemplate>& chat, const Probe& probe,
                                      std::int64_t length, std::int64_t count,
                                      std::int64_t first_context = 0);

// A whole plain prompt as the model is to see it.
std::vector<model::Token> tokens_of_prompt(const model::Tokenizer& tokenizer, std::string_view text);

// A model asked a question: it goes on greedily, and its answer is right or wrong.

enum class Verdict { right, wrong, open };
// Of what was given so far, white space before it aside: right if it is the answer and then no letter or
// digit; open while more could make it right. `ended`: no more will come.
Verdict judge(std::string_view given, std::string_view answer, bool ended);

struct Answer {
  bool right = false;
  std::string given;  // up to where it was clear
};

// Asks questions one after another. What a question has in common with the one before is not read again.
class Examiner {
 public:
  // The session must be at its beginning, and have room for prompts and answers (room_for).
  explicit Examiner(model::Session& session) : session_(session) {}
  Answer ask(const Question& question);
  // After ask(): reads the right answer's own tokens but the last after the prompt, whatever was given: with
  // the prompt's last token these are the rows that have to bring it forth. How many were read.
  std::int64_t read_right_answer(const Question& question);

 private:
  std::span<const float> read(const Question& question);

  model::Session& session_;
  std::vector<model::Token> read_;  // what the session holds
};

// Tokens that the longest of these takes with its answer.
std::int64_t room_for(const model::Tokenizer& tokenizer, std::span<const Question> questions);

}  // namespace sharpmax::audit
