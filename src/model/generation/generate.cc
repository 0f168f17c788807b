#include "model/generation/generate.h"

#include <algorithm>
#include <chrono>

namespace sharpmax::model {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// In the session's own blocks, so that telling of them changes nothing.
std::span<const float> read_prompt(Session& session, std::span<const Token> prompt, const Generation& wish) {
  const auto block = static_cast<std::size_t>(session.block());
  session.check(prompt);  // before any work
  std::size_t done = 0;
  for (; done + block < prompt.size(); done += block) {
    session.feed(prompt.subspan(done, block));
    if (wish.on_prompt) wish.on_prompt(static_cast<std::int64_t>(done + block));
  }
  return session.feed_for_last(prompt.subspan(done));
}

}  // namespace

Ending generate(Session& session, std::span<const Token> prompt, Sampler& sampler, const Generation& wish,
                GenerationTimes& times) {
  times = {.prompt_tokens = static_cast<std::int64_t>(prompt.size())};
  const auto start = Clock::now();
  std::span<const float> logits = read_prompt(session, prompt, wish);
  times.prompt_seconds = seconds_since(start);
  const auto first = Clock::now();
  const auto end = [&](Ending ending) {
    times.generated_seconds = seconds_since(first);
    return ending;
  };
  for (;;) {
    if (times.generated_tokens == wish.most) return end(Ending::as_many_as_wanted);
    const std::size_t known = wish.known > 0 ? static_cast<std::size_t>(wish.known) : logits.size();
    const Token token = sampler.pick(logits.first(std::min(known, logits.size())));
    if (std::find(wish.stops.begin(), wish.stops.end(), token) != wish.stops.end())
      return end(Ending::stop_token);
    if (wish.on_token) wish.on_token(token);
    ++times.generated_tokens;
    if (times.generated_tokens == wish.most) return end(Ending::as_many_as_wanted);
    if (session.position() == session.capacity()) return end(Ending::context_full);
    logits = session.feed_for_last({&token, 1});
  }
}

}  // namespace sharpmax::model
