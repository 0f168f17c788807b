// minimum: a beginning, then n different numbers: the least so far. Training asks at every place, a test at
// the last. What fails here is the order of near numbers, so sharper attention does not help. A control.
#include "base/numbers.h"
#include "train/task/task.h"

namespace sharpmax::train {
namespace {

class Minimum : public Task {
 public:
  explicit Minimum(const TaskSettings& settings) : s_(settings), digits_(settings.keys) {}

  TaskShape shape() const override {
    return {.vocabulary = digits_.vocabulary(), .slots = 2, .classes = digits_.base(), .parts = 2};
  }
  std::int64_t largest_size() const override { return s_.keys; }
  std::vector<std::int64_t> places(std::int64_t n, Asking asking) const override {
    if (asking == Asking::test) return {n};
    std::vector<std::int64_t> all;
    for (std::int64_t i = 1; i <= n; ++i) all.push_back(i);
    return all;
  }

  void draw(std::int64_t n, Asking asking, Draw& draw, const Sequence& out) const override {
    const std::vector<std::int32_t> numbers = crowded_numbers(n, s_.keys, draw);
    digits_.put_beginning(out.tokens);
    std::size_t least = 0;
    for (std::size_t i = 0; i < to_size(n); ++i) {
      digits_.put(numbers[i], out.tokens.subspan(2 * (i + 1), 2));
      if (numbers[i] < numbers[least]) least = i;
      if (asking == Asking::test && i + 1 < to_size(n)) continue;
      const std::size_t question = asking == Asking::test ? 0 : i;
      digits_.put_answer(numbers[least], out.answers.subspan(2 * question, 2));
      out.right[question] = static_cast<std::int32_t>(least) + 1;
    }
  }

 private:
  TaskSettings s_;
  TwoDigits digits_;
};

}  // namespace

const TaskKind& minimum() {
  static const TaskKind kind{
      .name = "minimum",
      .meaning = "the least of n numbers: a control that the order of near numbers decides",
      .defaults = {.keys = 1024, .values = 2, .questions = 1, .least_size = 4, .largest_size = 16},
      .decoder = {.layers = 2, .width = 128, .heads = 4, .local_heads = 0, .head_width = 32},
      .steps = 4000,
      .sizes = {16, 32, 64, 128, 256, 512},
      .make = [](const TaskSettings& settings) -> std::unique_ptr<Task> {
        return std::make_unique<Minimum>(settings);
      },
  };
  return kind;
}

}  // namespace sharpmax::train
