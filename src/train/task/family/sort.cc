// sort: a beginning, n different numbers, a bar, then the same in ascending order: each is asked for after
// those before it, which is what one step of a greedy answer sees. A control, as minimum is.
#include <algorithm>

#include "base/numbers.h"
#include "train/task/task.h"

namespace sharpmax::train {
namespace {

class Sort : public Task {
 public:
  explicit Sort(const TaskSettings& settings) : s_(settings), digits_(settings.keys) {}

  TaskShape shape() const override {
    return {.vocabulary = digits_.vocabulary(), .slots = 2, .classes = digits_.base(), .parts = 2};
  }
  std::int64_t largest_size() const override { return s_.keys; }
  std::int64_t content(std::int64_t n) const override { return 2 * n; }
  std::vector<std::int64_t> places(std::int64_t n, Asking) const override {
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < n; ++i) all.push_back(n + 1 + i);
    return all;
  }

  void draw(std::int64_t n, Asking, Draw& draw, const Sequence& out) const override {
    const std::vector<std::int32_t> numbers = crowded_numbers(n, s_.keys, draw);
    std::vector<std::size_t> order(numbers.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return numbers[a] < numbers[b]; });
    digits_.put_beginning(out.tokens);
    digits_.put_bar(out.tokens.subspan(2 * to_size(n + 1), 2));
    for (std::size_t i = 0; i < order.size(); ++i) {
      digits_.put(numbers[i], out.tokens.subspan(2 * (i + 1), 2));
      digits_.put_answer(numbers[order[i]], out.answers.subspan(2 * i, 2));
      out.right[i] = static_cast<std::int32_t>(order[i]) + 1;
      if (i + 1 < order.size())
        digits_.put(numbers[order[i]], out.tokens.subspan(2 * (to_size(n) + 2 + i), 2));
    }
  }

 private:
  TaskSettings s_;
  TwoDigits digits_;
};

}  // namespace

const TaskKind& sort() {
  static const TaskKind kind{
      .name = "sort",
      .meaning = "n numbers in ascending order, one by one: a control that the order of near numbers decides",
      .defaults = {.keys = 1024, .values = 2, .questions = 1, .least_size = 4, .largest_size = 16},
      .decoder = {.layers = 2, .width = 128, .heads = 4, .local_heads = 0, .head_width = 32},
      .steps = 2500,
      .sizes = {16, 32, 64, 128, 256, 512},
      .make = [](const TaskSettings& settings) -> std::unique_ptr<Task> {
        return std::make_unique<Sort>(settings);
      },
  };
  return kind;
}

}  // namespace sharpmax::train
