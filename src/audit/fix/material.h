// What rules are tried on, in two parts: one to choose by, one held out to report on.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "audit/probe/question.h"
#include "model/transformer/session.h"
#include "sharpmax/fix.h"

namespace sharpmax::audit {

enum class Part { tuning, held_out };

// Questions of one length, or all of a file's.
struct TaskSet {
  std::int64_t length = 0;  // 0: a file's
  std::vector<Question> tuning, held_out;
};

struct Material {
  std::vector<std::vector<model::Token>> tuning, held_out;  // chunks of the text
  std::vector<TaskSet> tasks;

  const std::vector<std::vector<model::Token>>& text(Part part) const {
    return part == Part::tuning ? tuning : held_out;
  }
  static const std::vector<Question>& questions(const TaskSet& task, Part part) {
    return part == Part::tuning ? task.tuning : task.held_out;
  }
  // Tokens that one part takes to read, about: what work is measured by.
  std::int64_t cost(Part part) const;
  // Tokens that a session must have room for.
  std::int64_t room(const model::Tokenizer& tokenizer) const;
};

// The first `tokens` of the text to the one part, as many after them to the other, in chunks of `length`;
// half of the text each where it is shorter. Every chunk begins with the token that the model expects before
// a text. Error{bad_argument} where a part would have fewer than kLeastTokens.
inline constexpr std::int64_t kLeastTokens = 64;
void add_text(Material& material, const model::Tokenizer& tokenizer, std::span<const model::Token> text,
              std::int64_t tokens, std::int64_t length);

// `questions` for either part at each length; parts share no context.
void add_probe(Material& material, const model::Model& model, const Probe& probe,
               std::span<const std::int64_t> lengths, std::int64_t questions);

// A line each: {"prompt": "...", "answer": "..."}. Lines go to either part by turns, after a shuffle by seed.
// Error{bad_file} names the line. `name` is the file's.
void add_task_file(Material& material, const model::Tokenizer& tokenizer, std::string_view text,
                   std::string_view name, std::uint64_t seed);

// One rule tried: losses on text, and which questions were answered right.

using sharpmax::TextRun;
using Outcome = FixOutcome;

// Reads one part of the material from the beginning. `on_cost` is told how much of Material::cost() is
// through.
Outcome try_on(model::Session& session, const Material& material, Part part,
               const std::function<void(std::int64_t)>& on_cost = {});

std::vector<TextRun> runs_of(
    std::span<const float> losses);  // of one chunk; losses[i] has i + 1 tokens before it

}  // namespace sharpmax::audit
