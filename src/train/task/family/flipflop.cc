// flipflop: n pairs of an instruction (write, read, ignore) and a bit. A read gives back the bit that was
// written last, however long ago (Liu et al., arXiv 2306.00946). Training asks at every instruction for the
// bit in memory; a test at the last, and its writes are rarer than those of the training.
#include "base/numbers.h"
#include "train/task/task.h"

namespace sharpmax::train {
namespace {

constexpr std::int32_t kWrite = 2, kRead = 3, kIgnore = 4;  // bits are the tokens 0 and 1

class FlipFlop : public Task {
 public:
  explicit FlipFlop(const TaskSettings&) {}

  TaskShape shape() const override { return {.vocabulary = 5, .classes = 2}; }
  std::int64_t smallest_size() const override { return 2; }  // a write and a read
  std::int64_t content(std::int64_t n) const override { return 2 * n; }
  std::vector<std::int64_t> places(std::int64_t n, Asking asking) const override {
    std::vector<std::int64_t> all;
    for (std::int64_t i = asking == Asking::test ? n - 1 : 1; i < n; ++i) all.push_back(2 * i);
    return all;
  }

  void draw(std::int64_t n, Asking asking, Draw& draw, const Sequence& out) const override {
    const double ignored = asking == Asking::test ? 0.98 : 0.8;  // as in the paper
    std::int32_t written = 0;                                    // place of the bit in memory
    std::size_t question = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const double chance = draw.unit();
      std::int32_t instruction = chance < ignored                           ? kIgnore
                                 : chance < ignored + 0.5 * (1.0 - ignored) ? kWrite
                                                                            : kRead;
      if (i == 0) instruction = kWrite;
      if (i + 1 == n) instruction = kRead;
      const std::int32_t bit = draw.below(2);
      const std::size_t at = to_size(2 * i);
      out.tokens[at] = instruction;
      if (i > 0 && (asking == Asking::training || i + 1 == n)) {
        out.answers[question] = out.tokens[to_size(written)];
        out.right[question++] = written;
      }
      if (i + 1 == n) break;  // the last bit is asked for
      out.tokens[at + 1] = instruction == kRead ? out.tokens[to_size(written)] : bit;
      if (instruction == kWrite) written = static_cast<std::int32_t>(at) + 1;
    }
  }
  std::string token_text(std::int32_t token) const override {
    constexpr const char* kWords[] = {"0", "1", "write", "read", "ignore"};
    return kWords[token];
  }
};

}  // namespace

const TaskKind& flipflop() {
  static const TaskKind kind{
      .name = "flipflop",
      .meaning = "the bit that was written last, n instructions back and forth",
      .defaults = {.keys = 2, .values = 2, .questions = 1, .least_size = 4, .largest_size = 16},
      .decoder = {.layers = 2, .width = 128, .heads = 4, .local_heads = 2, .head_width = 32},
      .steps = 2000,
      .sizes = {16, 64, 256, 1024},
      .make = [](const TaskSettings& settings) -> std::unique_ptr<Task> {
        return std::make_unique<FlipFlop>(settings);
      },
  };
  return kind;
}

}  // namespace sharpmax::train
