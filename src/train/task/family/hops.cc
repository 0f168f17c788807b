// hops: n places, each a key, the key that it points to, and a value; then questions: the value of the key that a key
// points to. Two look-ups, one after the other, so dispersion compounds. Training begins with one look-up (the value
// of the key itself) and mixes in the second after a quarter of its steps; a test asks for two alone.
#include <algorithm>

#include "base/numbers.h"
#include "train/task/task.h"

namespace sharpmax::train {
namespace {

constexpr double kFirstTwo = 0.25;  // of the training: the first question that needs two look-ups

class Hops : public Task {
 public:
  explicit Hops(const TaskSettings& settings) : s_(settings) {}

  // Keys as they stand for themselves, keys that are pointed to, values, and two kinds of questions.
  TaskShape shape() const override {
    return {.vocabulary = 2 * s_.keys + s_.values + 3, .slots = 3, .classes = s_.values};
  }
  std::int64_t smallest_size() const override { return 2; }
  std::int64_t largest_size() const override { return s_.keys; }
  std::vector<std::int64_t> places(std::int64_t n, Asking) const override {
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < std::min(s_.questions, n); ++i) all.push_back(n + i);
    return all;
  }

  void draw(std::int64_t n, Asking asking, Draw& draw, const Sequence& out) const override {
    const std::vector<std::int32_t> keys = draw.distinct(n, s_.keys), target = draw.distinct(n, n);
    const auto pointed = static_cast<std::int32_t>(s_.keys), value = 2 * pointed,
               nothing = value + static_cast<std::int32_t>(s_.values);
    const auto put = [&](std::size_t place, std::int32_t a, std::int32_t b, std::int32_t c) {
      out.tokens[3 * place] = a, out.tokens[3 * place + 1] = b, out.tokens[3 * place + 2] = c;
    };
    for (std::size_t i = 0; i < to_size(n); ++i)
      put(i, keys[i], pointed + keys[to_size(target[i])], value + draw.below(s_.values));
    const std::vector<std::int32_t> chosen = draw.distinct(static_cast<std::int64_t>(out.right.size()), n);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const bool coin = draw.below(2) == 1;
      const bool two = asking == Asking::test || (out.progress >= kFirstTwo && coin);
      const std::int32_t answer = two ? target[to_size(chosen[i])] : chosen[i];
      put(to_size(n) + i, keys[to_size(chosen[i])], nothing, nothing + (two ? 2 : 1));
      out.answers[i] = out.tokens[3 * to_size(answer) + 2] - value;
      out.right[i] = answer;
    }
  }

 private:
  TaskSettings s_;
};

}  // namespace

const TaskKind& hops() {
  static const TaskKind kind{
      .name = "hops",
      .meaning = "the value of the key that a key points to: two look-ups among n places",
      .defaults = {.keys = 1024, .values = 64, .questions = 16, .least_size = 4, .largest_size = 16},
      .decoder = {.layers = 2, .width = 128, .heads = 2, .local_heads = 0, .head_width = 64},
      .steps = 4000,
      .sizes = {16, 64, 256, 1024},
      .make = [](const TaskSettings& settings) -> std::unique_ptr<Task> {
        return std::make_unique<Hops>(settings);
      },
  };
  return kind;
}

}  // namespace sharpmax::train
