// Questions as tokens of a model, and a model that answers them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/probe/probe_text.h"
#include "model/tokenizer/chat.h"
#include "model/transformer/model.h"
#include "model/transformer/session.h"

namespace sharpmax::audit {

// Questions as tokens of a model, cut to a length.

struct Question {
  std::vector<model::Token> prompt;
  std::string answer;
  std::int64_t item_begin = 0, item_end = 0;  // tokens of the right item; none for a question from a file
  std::int64_t context = 0;                   // questions of one context are not independent
};

struct Probe {
  ProbeKind kind = ProbeKind::lookup;
  bool chat = false;  // as a message in the model's own template; Error{unsupported} where it has none
  std::uint64_t seed = 0;
};

// How many questions share a context, where there is more than one to ask. Reading a context costs as much as
// about so many answers.
inline constexpr std::int64_t kQuestionsPerContext = 10;

// `count` questions of at most `length` tokens each, and no more than two items shorter than that. Contexts
// are numbered from `first_context` on; others give other questions. Error{bad_argument} where not one item
// fits.
std::vector<Question> probe_questions(const model::Model& model, const Probe& probe, std::int64_t length,
                                      std::int64_t count, std::int64_t first_context = 0);
// The same for a tokenizer alone; `chat` as wanted by probe.chat.
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
