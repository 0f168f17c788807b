#include "audit/fix/trial.h"

#include "audit/probe/answer.h"
#include "model/generation/perplexity.h"

namespace sharpmax::audit {

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

Outcome try_on(model::Session& session, const Material& material, Part part,
               const std::function<void(std::int64_t)>& on_cost) {
  Outcome outcome;
  const std::int64_t cost = material.cost(part);
  std::int64_t done = 0;
  const auto tell = [&](std::int64_t now) {
    if (on_cost) on_cost(now);
  };
  for (const auto& chunk : material.text(part)) {
    const auto losses =
        model::chunk_losses(session, chunk, 0, [&](std::int64_t token) { tell(done + token); });
    const auto runs = runs_of(losses.losses);
    outcome.runs.insert(outcome.runs.end(), runs.begin(), runs.end());
    done += static_cast<std::int64_t>(chunk.size());
  }
  session.rewind(0);
  Examiner examiner(session);
  std::int64_t asked = 0, questions = 0;
  for (const TaskSet& task : material.tasks)
    questions += static_cast<std::int64_t>(Material::questions(task, part).size());
  for (const TaskSet& task : material.tasks) {
    std::vector<bool>& right = outcome.right.emplace_back();
    for (const Question& question : Material::questions(task, part)) {
      right.push_back(examiner.ask(question).right);
      ++asked;
      tell(done + (cost - done) * asked / questions);
    }
  }
  return outcome;
}

}  // namespace sharpmax::audit
