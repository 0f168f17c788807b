// recall: key value key value ... then key answer key answer ... (MQAR, multi-query associative recall). A
// key and its value are neighbors, so a local head must bind them before a global head can look the key up.
#include <algorithm>

#include "base/numbers.h"
#include "train/task/task.h"

namespace sharpmax::train {
namespace {

class Recall : public Task {
 public:
  explicit Recall(const TaskSettings& settings) : s_(settings) {}

  TaskShape shape() const override { return {.vocabulary = s_.keys + s_.values + 1, .classes = s_.values}; }
  std::int64_t largest_size() const override { return s_.keys; }
  std::int64_t content(std::int64_t n) const override { return 2 * n; }
  std::vector<std::int64_t> places(std::int64_t n, Asking) const override {
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < std::min(s_.questions, n); ++i) all.push_back(2 * n + 2 + 2 * i);
    return all;
  }

  void draw(std::int64_t n, Asking, Draw& draw, const Sequence& out) const override {
    const std::vector<std::int32_t> keys = draw.distinct(n, s_.keys);
    const auto first_value = static_cast<std::int32_t>(s_.keys),
               bar = static_cast<std::int32_t>(s_.keys + s_.values);
    out.tokens[0] = bar;
    for (std::size_t i = 0; i < to_size(n); ++i) {
      out.tokens[2 * i + 1] = keys[i];
      out.tokens[2 * i + 2] = first_value + draw.below(s_.values);
    }
    const std::size_t begin = 2 * to_size(n) + 2;
    out.tokens[begin - 1] = bar;
    const std::vector<std::int32_t> chosen = draw.distinct(static_cast<std::int64_t>(out.right.size()), n);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const std::size_t value = 2 * to_size(chosen[i]) + 2;
      out.tokens[begin + 2 * i] = keys[to_size(chosen[i])];
      // the answer, for the questions after it
      if (i + 1 < chosen.size()) out.tokens[begin + 2 * i + 1] = out.tokens[value];
      out.answers[i] = out.tokens[value] - first_value;
      out.right[i] = static_cast<std::int32_t>(value);
    }
  }
  std::string token_text(std::int32_t token) const override { return key_or_value(token, s_); }
  std::int32_t token_of_answer(std::int32_t answer) const override { return static_cast<std::int32_t>(s_.keys) + answer; }

 private:
  TaskSettings s_;
};

}  // namespace

const TaskKind& recall() {
  static const TaskKind kind{
      .name = "recall",
      .meaning = "the value of a key among n pairs; key and value are neighbors (MQAR)",
      .defaults = {.keys = 8192, .values = 64, .questions = 16, .least_size = 4, .largest_size = 16},
      .decoder = {.layers = 2, .width = 128, .heads = 1, .local_heads = 0, .local_layers = 1, .head_width = 128, .window = 2},
      .steps = 2000,
      .sizes = {16, 64, 256, 1024, 4096},
      .make = [](const TaskSettings& settings) -> std::unique_ptr<Task> {
        return std::make_unique<Recall>(settings);
      },
  };
  return kind;
}

}  // namespace sharpmax::train
