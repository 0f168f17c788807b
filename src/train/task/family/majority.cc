// majority: a beginning, n symbols of two kinds, an end: which kind is there more often? It needs the mean
// over all places, so sharp attention must lose here. A control.
#include "base/numbers.h"
#include "train/task/task.h"

namespace sharpmax::train {
namespace {

class Majority : public Task {
 public:
  explicit Majority(const TaskSettings&) {}

  TaskShape shape() const override { return {.vocabulary = 4, .classes = 2}; }
  std::vector<std::int64_t> places(std::int64_t n, Asking) const override { return {n + 1}; }

  void draw(std::int64_t n, Asking, Draw& draw, const Sequence& out) const override {
    constexpr double kRare =
        0.35;  // share of the rarer kind, on average: the margin must not vanish as n grows
    constexpr std::int32_t kBeginning = 2, kEnd = 3;
    const double ones = draw.below(2) == 1 ? 1.0 - kRare : kRare;
    std::int64_t count = 0;
    for (std::size_t i = 1; i <= to_size(n); ++i) {
      out.tokens[i] = draw.unit() < ones ? 1 : 0;
      count += out.tokens[i];
    }
    if (2 * count == n) {  // no majority: the first changes sides
      out.tokens[1] = 1 - out.tokens[1];
      count += out.tokens[1] == 1 ? 1 : -1;
    }
    out.tokens[0] = kBeginning;
    out.tokens[to_size(n) + 1] = kEnd;
    out.answers[0] = 2 * count > n ? 1 : 0;
    out.right[0] = -1;
  }
  std::string token_text(std::int32_t token) const override {
    constexpr const char* kWords[] = {"0", "1", "begin", "end"};
    return kWords[token];
  }
};

}  // namespace

const TaskKind& majority() {
  static const TaskKind kind{
      .name = "majority",
      .meaning = "the commoner of two symbols among n: a control that sharp attention must lose",
      .defaults = {.keys = 2, .values = 2, .questions = 1, .least_size = 4, .largest_size = 16},
      .decoder = {.layers = 1, .width = 64, .heads = 2, .local_heads = 0, .head_width = 32},
      .steps = 1000,
      .sizes = {16, 64, 256, 1024, 4096},
      .make = [](const TaskSettings& settings) -> std::unique_ptr<Task> {
        return std::make_unique<Majority>(settings);
      },
  };
  return kind;
}

}  // namespace sharpmax::train
