// lookup: (key + value) x n, then questions (key + ?). Key and value share a place, so nothing has to be
// bound: one layer is enough, and what remains is to find one key among n.
#include <algorithm>

#include "base/numbers.h"
#include "train/task/task.h"

namespace sharpmax::train {
namespace {

class Lookup : public Task {
 public:
  explicit Lookup(const TaskSettings& settings) : s_(settings) {}

  TaskShape shape() const override {
    return {.vocabulary = s_.keys + s_.values + 1, .slots = 2, .classes = s_.values};
  }
  std::int64_t largest_size() const override { return s_.keys; }
  std::vector<std::int64_t> places(std::int64_t n, Asking) const override {
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < std::min(s_.questions, n); ++i) all.push_back(n + i);
    return all;
  }

  void draw(std::int64_t n, Asking, Draw& draw, const Sequence& out) const override {
    const std::vector<std::int32_t> keys = draw.distinct(n, s_.keys);
    const auto first_value = static_cast<std::int32_t>(s_.keys),
               ask = static_cast<std::int32_t>(s_.keys + s_.values);
    for (std::size_t i = 0; i < to_size(n); ++i) {
      out.tokens[2 * i] = keys[i];
      out.tokens[2 * i + 1] = first_value + draw.below(s_.values);
    }
    const std::vector<std::int32_t> chosen = draw.distinct(static_cast<std::int64_t>(out.right.size()), n);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const std::size_t at = to_size(n) + i, from = to_size(chosen[i]);
      out.tokens[2 * at] = keys[from];
      out.tokens[2 * at + 1] = ask;
      out.answers[i] = out.tokens[2 * from + 1] - first_value;
      out.right[i] = chosen[i];
    }
  }

 private:
  TaskSettings s_;
};

}  // namespace

const TaskKind& lookup() {
  static const TaskKind kind{
      .name = "lookup",
      .meaning = "the value of a key among n pairs; key and value share a place",
      .defaults = {.keys = 16'384, .values = 64, .questions = 16, .least_size = 4, .largest_size = 16},
      .decoder = {.layers = 1, .width = 128, .heads = 1, .local_heads = 0, .head_width = 128},
      .steps = 1000,
      .learning_rate = 2e-3,
      .sizes = {16, 64, 256, 1024, 4096, 16'384},
      .make = [](const TaskSettings& settings) -> std::unique_ptr<Task> {
        return std::make_unique<Lookup>(settings);
      },
  };
  return kind;
}

}  // namespace sharpmax::train
