// member: a beginning, n keys, then questions: is this key among them? About half of the answers are no, so a
// head must also be able to find nothing; the beginning is there to be looked at then.
#include <algorithm>

#include "base/numbers.h"
#include "train/task/task.h"

namespace sharpmax::train {
namespace {

class Member : public Task {
 public:
  explicit Member(const TaskSettings& settings) : s_(settings) {}

  TaskShape shape() const override { return {.vocabulary = s_.keys + 3, .slots = 2, .classes = 2}; }
  // the others are absent
  std::int64_t largest_size() const override { return std::max<std::int64_t>(s_.keys - s_.questions, 0); }
  std::vector<std::int64_t> places(std::int64_t n, Asking) const override {
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < s_.questions; ++i) all.push_back(n + 1 + i);
    return all;
  }

  void draw(std::int64_t n, Asking, Draw& draw, const Sequence& out) const override {
    const auto beginning = static_cast<std::int32_t>(s_.keys);
    const std::int32_t item = beginning + 1, ask = beginning + 2;
    const std::vector<std::int32_t> keys =
        draw.distinct(n + s_.questions, s_.keys);  // n are there, the others are not
    const auto put = [&](std::size_t place, std::int32_t key, std::int32_t role) {
      out.tokens[2 * place] = key;
      out.tokens[2 * place + 1] = role;
    };
    put(0, beginning, item);
    for (std::size_t i = 0; i < to_size(n); ++i) put(1 + i, keys[i], item);
    for (std::size_t i = 0; i < out.right.size(); ++i) {
      const bool there = draw.below(2) == 1;
      const std::size_t from = there ? to_size(draw.below(n)) : to_size(n) + i;
      put(to_size(n) + 1 + i, keys[from], ask);
      out.answers[i] = there ? 1 : 0;
      out.right[i] = there ? static_cast<std::int32_t>(from) + 1 : -1;
    }
  }

 private:
  TaskSettings s_;
};

}  // namespace

const TaskKind& member() {
  static const TaskKind kind{
      .name = "member",
      .meaning = "whether a key is among n keys; half of the time it is not",
      .defaults = {.keys = 16'384, .values = 2, .questions = 16, .least_size = 4, .largest_size = 16},
      .decoder = {.layers = 1, .width = 128, .heads = 1, .local_heads = 0, .head_width = 128},
      .steps = 2000,
      .learning_rate = 2e-3,
      .sizes = {16, 64, 256, 1024, 4096, 16'000},
      .make = [](const TaskSettings& settings) -> std::unique_ptr<Task> {
        return std::make_unique<Member>(settings);
      },
  };
  return kind;
}

}  // namespace sharpmax::train
