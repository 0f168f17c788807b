#include "audit/fix/fix_run.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "audit/probe/question.h"
#include "base/in_quotes.h"
#include "base/random.h"
#include "model/generation/generate.h"
#include "model/tokenizer/utf8.h"
#include "sharpmax/error.h"

namespace sharpmax::audit {
namespace {

using model::Token;

// Reading and answering one question whose context was read already, in tokens: what asking costs beside
// reading.
constexpr std::int64_t kAnswerCost = 30;

std::vector<std::vector<Token>> chunks_of(const model::Tokenizer& tokenizer, std::span<const Token> part,
                                          std::int64_t length) {
  std::vector<std::vector<Token>> chunks;
  for (std::size_t at = 0; at + 1 < part.size(); at += static_cast<std::size_t>(length)) {
    const auto piece = part.subspan(at, std::min(part.size() - at, static_cast<std::size_t>(length)));
    if (piece.size() < 2) break;  // one token predicts nothing
    std::vector<Token> chunk;
    if (tokenizer.ends().add_begin && tokenizer.ends().begin) chunk.push_back(*tokenizer.ends().begin);
    chunk.insert(chunk.end(), piece.begin(), piece.end());
    chunks.push_back(std::move(chunk));
  }
  return chunks;
}

std::string text_at(const nlohmann::json& line, const char* key, const std::string& where) {
  const auto found = line.find(key);
  if (found == line.end() || !found->is_string() || found->get_ref<const std::string&>().empty())
    throw Error(ErrorCode::bad_file, fmt::format("{}: no text for \"{}\"", where, key));
  return found->get<std::string>();
}

Question question_of(const model::Tokenizer& tokenizer, std::string_view line, const std::string& where) {
  nlohmann::json json;
  try {
    json = nlohmann::json::parse(line);
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorCode::bad_file,
                fmt::format("{}: not JSON: {}; expected {{\"prompt\": ..., \"answer\": ...}}", where,
                            in_quotes(line)));
  }
  if (!json.is_object())
    throw Error(ErrorCode::bad_file,
                fmt::format("{}: not an object; expected {{\"prompt\": ..., \"answer\": ...}}", where));
  for (const auto& item : json.items())
    if (item.key() != "prompt" && item.key() != "answer")
      throw Error(ErrorCode::bad_file, fmt::format("{}: {} is unknown; expected prompt and answer", where,
                                                   in_quotes(item.key())));
  Question question;
  question.prompt = tokens_of_prompt(tokenizer, text_at(json, "prompt", where));
  question.answer = text_at(json, "answer", where);
  if (question.answer.find_first_not_of(" \t\r\n") == std::string::npos)
    throw Error(ErrorCode::bad_file, fmt::format("{}: the answer is white space", where));
  question.answer.erase(0, question.answer.find_first_not_of(" \t\r\n"));
  return question;
}

void shuffle(std::vector<Question>& questions, std::uint64_t seed) {
  const CounterRandom random(seed, /*stream=*/0);
  for (std::size_t i = 0; i + 1 < questions.size(); ++i) {
    const std::uint64_t left = questions.size() - i;
    std::swap(questions[i], questions[i + ((std::uint64_t{random.bits(i)[0]} * left) >> 32)]);
  }
}

}  // namespace

std::int64_t Material::cost(Part part, std::size_t share) const {
  const auto& chunks = text(part);
  if (share < chunks.size()) return static_cast<std::int64_t>(chunks[share].size());
  const TaskSet& task = tasks[share - chunks.size()];
  std::int64_t tokens = 0, context = -1;
  for (const Question& question : questions(task, part)) {
    if (task.length == 0 || question.context != context) tokens += static_cast<std::int64_t>(question.prompt.size());
    context = question.context;
    tokens += kAnswerCost;
  }
  return tokens;
}

std::int64_t Material::cost(Part part) const {
  std::int64_t tokens = 0;
  for (std::size_t share = 0; share < shares(part); ++share) tokens += cost(part, share);
  return tokens;
}

std::int64_t Material::text_room() const {
  std::int64_t room = 1;
  for (const Part part : {Part::tuning, Part::held_out})
    for (const auto& chunk : text(part)) room = std::max(room, static_cast<std::int64_t>(chunk.size()));
  return room;
}

std::int64_t Material::question_room(const model::Tokenizer& tokenizer) const {
  std::int64_t room = 1;
  for (const Part part : {Part::tuning, Part::held_out})
    for (const TaskSet& task : tasks) room = std::max(room, room_for(tokenizer, questions(task, part)));
  return room;
}

std::int64_t Material::room(const model::Tokenizer& tokenizer) const {
  return std::max(text_room(), question_room(tokenizer));
}

void add_text(Material& material, const model::Tokenizer& tokenizer, std::span<const Token> text,
              std::int64_t tokens, std::int64_t length) {
  const auto there = static_cast<std::int64_t>(text.size());
  const std::int64_t each = std::min(tokens, there / 2);
  if (each < kLeastTokens)
    throw Error(
        ErrorCode::bad_argument,
        fmt::format("the text has {} tokens; it must have at least {}, half of them to choose by, half held out",
                    there, 2 * kLeastTokens));
  const auto half = static_cast<std::size_t>(each);
  material.tuning = chunks_of(tokenizer, text.first(half), length);
  material.held_out = chunks_of(tokenizer, text.subspan(half, half), length);
}

void add_probe(Material& material, const model::Model& model, const Probe& probe,
               std::span<const std::int64_t> lengths, std::int64_t questions) {
  for (const std::int64_t length : lengths) {
    // Lengths draw from contexts of their own: the items of a longer prompt are not those of a shorter one.
    Probe own = probe;
    own.seed = CounterRandom(probe.seed, static_cast<std::uint64_t>(length)).bits(0)[0];
    const std::int64_t contexts = questions;  // never fewer than are taken
    material.tasks.push_back({length, probe_questions(model, own, length, questions),
                              probe_questions(model, own, length, questions, contexts)});
  }
}

void add_task_file(Material& material, const model::Tokenizer& tokenizer, std::string_view text,
                   std::string_view name, std::uint64_t seed) {
  std::vector<Question> questions;
  std::int64_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const std::string where = fmt::format("{}, line {}", name, number);
    if (!model::is_utf8(line)) throw Error(ErrorCode::bad_file, fmt::format("{}: not UTF-8", where));
    questions.push_back(question_of(tokenizer, line, where));
  }
  if (questions.size() < 2)
    throw Error(ErrorCode::bad_file,
                fmt::format("{}: it has {} questions; it must have at least 2, one to choose by and one held out",
                            name, questions.size()));
  shuffle(questions, seed);
  TaskSet task;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    questions[i].context = static_cast<std::int64_t>(i);
    (i % 2 == 0 ? task.tuning : task.held_out).push_back(std::move(questions[i]));
  }
  material.tasks.push_back(std::move(task));
}

std::vector<TextRun> runs_of(std::span<const float> losses) {
  std::vector<TextRun> runs;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const std::int64_t from = (static_cast<std::int64_t>(i) + 1) / sharpmax::kRunLength * sharpmax::kRunLength;
    if (runs.empty() || runs.back().from != from) runs.push_back({.from = from});
    runs.back().loss += static_cast<double>(losses[i]);
    ++runs.back().tokens;
  }
  return runs;
}

Outcome try_share(model::Session& session, const Material& material, Part part, std::size_t share,
                  const std::function<void(std::int64_t)>& on_cost) {
  Outcome outcome;
  const auto tell = [&](std::int64_t now) {
    if (on_cost) on_cost(now);
  };
  const auto& chunks = material.text(part);
  if (share < chunks.size()) {
    outcome.runs = runs_of(model::chunk_losses(session, chunks[share], 0, tell).losses);
    return outcome;
  }
  const std::int64_t cost = material.cost(part, share);
  const auto& questions = Material::questions(material.tasks[share - chunks.size()], part);
  session.rewind(0);
  Examiner examiner(session);
  std::vector<bool>& right = outcome.right.emplace_back();
  for (const Question& question : questions) {
    right.push_back(examiner.ask(question).right);
    tell(cost * static_cast<std::int64_t>(right.size()) / static_cast<std::int64_t>(questions.size()));
  }
  return outcome;
}

void append(Outcome& outcome, Outcome share) {
  outcome.runs.insert(outcome.runs.end(), share.runs.begin(), share.runs.end());
  for (std::vector<bool>& right : share.right) outcome.right.push_back(std::move(right));
}

Outcome try_on(model::Session& session, const Material& material, Part part,
               const std::function<void(std::int64_t)>& on_cost) {
  Outcome outcome;
  std::int64_t done = 0;
  for (std::size_t share = 0; share < material.shares(part); ++share) {
    append(outcome, try_share(session, material, part, share, [&](std::int64_t now) {
             if (on_cost) on_cost(done + now);
           }));
    done += material.cost(part, share);
  }
  return outcome;
}

}  // namespace sharpmax::audit
