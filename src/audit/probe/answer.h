// A model asked a question: it goes on greedily, and its answer is right or wrong.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/probe/question.h"
#include "model/transformer/session.h"

namespace sharpmax::audit {

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
