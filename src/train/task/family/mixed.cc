// mixed: four tasks over one vocabulary, for one model: lookup, member, recall, and max retrieval as tokens (most). The
// question says which. A table of normalizers that is chosen for the model serves all four.
//
// A place holds two tokens. Items of lookup are (key, value), of member (key, item), of recall (key, item) and (value, item)
// one after the other, of most (rank, value).
#include <algorithm>

#include "base/numbers.h"
#include "train/task/task.h"

namespace sharpmax::train {
namespace {

// Tokens: keys, values, ranks (as many as values), then marks.
struct Words {
  std::int32_t keys, values;
  std::int32_t value(std::int32_t v) const { return keys + v; }
  std::int32_t rank(std::int32_t r) const { return keys + values + r; }
  enum Mark : std::int32_t { bar, item, ask_lookup, ask_member, ask_recall, ask_most, kMarks };
  std::int32_t mark(Mark m) const { return keys + 2 * values + m; }
  std::int32_t no() const { return values; }  // answers of member; the others are values
  std::int32_t yes() const { return values + 1; }
};

class Mixture : public Task {
 public:
  explicit Mixture(const TaskSettings& settings)
      : s_(settings), w_{static_cast<std::int32_t>(settings.keys), static_cast<std::int32_t>(settings.values)} {}

  TaskShape shape() const override {
    return {.vocabulary = s_.keys + 2 * s_.values + Words::kMarks, .slots = 2, .classes = s_.values + 2};
  }
  // Member asks for keys that are not there.
  std::int64_t largest_size() const override { return std::max<std::int64_t>(s_.keys - s_.questions, 0); }
  double chance() const override { return 1.0 / static_cast<double>(s_.values); }

 protected:
  void put(const Sequence& out, std::int64_t place, std::int32_t a, std::int32_t b) const {
    out.tokens[2 * to_size(place)] = a;
    out.tokens[2 * to_size(place) + 1] = b;
  }
  std::vector<std::int64_t> questions_from(std::int64_t first, std::int64_t count, std::int64_t step = 1) const {
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < count; ++i) all.push_back(first + i * step);
    return all;
  }

  TaskSettings s_;
  Words w_;
};

class MixedLookup : public Mixture {
 public:
  using Mixture::Mixture;
  std::string_view subtask() const override { return "lookup"; }
  std::vector<std::int64_t> places(std::int64_t n, Asking) const override {
    return questions_from(n, std::min(s_.questions, n));
  }
  void draw(std::int64_t n, Asking, Draw& draw, const Sequence& out) const override {
    const std::vector<std::int32_t> keys = draw.distinct(n, s_.keys);
    for (std::int64_t i = 0; i < n; ++i) put(out, i, keys[to_size(i)], w_.value(draw.below(s_.values)));
    const std::vector<std::int32_t> chosen = draw.distinct(static_cast<std::int64_t>(out.right.size()), n);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      put(out, n + static_cast<std::int64_t>(i), keys[to_size(chosen[i])], w_.mark(Words::ask_lookup));
      out.answers[i] = out.tokens[2 * to_size(chosen[i]) + 1] - w_.value(0);
      out.right[i] = chosen[i];
    }
  }
};

class MixedMember : public Mixture {
 public:
  using Mixture::Mixture;
  std::string_view subtask() const override { return "member"; }
  double chance() const override { return 0.5; }
  std::vector<std::int64_t> places(std::int64_t n, Asking) const override {
    return questions_from(n + 1, s_.questions);
  }
  void draw(std::int64_t n, Asking, Draw& draw, const Sequence& out) const override {
    const std::vector<std::int32_t> keys = draw.distinct(n + s_.questions, s_.keys);  // n are there, the others are not
    put(out, 0, w_.mark(Words::bar), w_.mark(Words::item));
    for (std::int64_t i = 0; i < n; ++i) put(out, i + 1, keys[to_size(i)], w_.mark(Words::item));
    for (std::size_t i = 0; i < out.right.size(); ++i) {
      const bool there = draw.below(2) == 1;
      const std::size_t from = there ? to_size(draw.below(n)) : to_size(n) + i;
      put(out, n + 1 + static_cast<std::int64_t>(i), keys[from], w_.mark(Words::ask_member));
      out.answers[i] = there ? w_.yes() : w_.no();
      out.right[i] = there ? static_cast<std::int32_t>(from) + 1 : -1;
    }
  }
};

class MixedRecall : public Mixture {
 public:
  using Mixture::Mixture;
  std::string_view subtask() const override { return "recall"; }
  std::int64_t content(std::int64_t n) const override { return 2 * n; }
  std::vector<std::int64_t> places(std::int64_t n, Asking) const override {
    return questions_from(2 * n + 2, std::min(s_.questions, n), 2);
  }
  void draw(std::int64_t n, Asking, Draw& draw, const Sequence& out) const override {
    const std::vector<std::int32_t> keys = draw.distinct(n, s_.keys);
    const std::int32_t bar = w_.mark(Words::bar), item = w_.mark(Words::item);
    put(out, 0, bar, item);
    for (std::int64_t i = 0; i < n; ++i) {
      put(out, 2 * i + 1, keys[to_size(i)], item);
      put(out, 2 * i + 2, w_.value(draw.below(s_.values)), item);
    }
    put(out, 2 * n + 1, bar, item);
    const std::vector<std::int32_t> chosen = draw.distinct(static_cast<std::int64_t>(out.right.size()), n);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const std::int64_t place = 2 * n + 2 + 2 * static_cast<std::int64_t>(i), value = 2 * chosen[i] + 2;
      const std::int32_t found = out.tokens[2 * to_size(value)];
      put(out, place, keys[to_size(chosen[i])], w_.mark(Words::ask_recall));
      if (i + 1 < chosen.size()) put(out, place + 1, found, item);  // the answer, for the questions after it
      out.answers[i] = found - w_.value(0);
      out.right[i] = static_cast<std::int32_t>(value);
    }
  }
};

// Max retrieval: the value of the item with the highest rank. No other item has that rank, however many there are.
//
// A test asks once, after all items. Training asks after every second item for the best so far, of which most ranks are near
// others: otherwise a sequence has one answer, where those of the other tasks have sixteen, and few of them are hard.
class MixedMost : public Mixture {
 public:
  using Mixture::Mixture;
  std::string_view subtask() const override { return "most"; }
  std::vector<std::int64_t> places(std::int64_t n, Asking asking) const override {
    if (asking == Asking::test) return {n};
    std::vector<std::int64_t> all = questions_from(kItemsPerQuestion, n / kItemsPerQuestion, kItemsPerQuestion + 1);
    if (n % kItemsPerQuestion > 0) all.push_back(n + n / kItemsPerQuestion);
    return all;
  }
  void draw(std::int64_t n, Asking asking, Draw& draw, const Sequence& out) const override {
    if (asking == Asking::test)
      draw_test(n, draw, out);
    else
      draw_training(n, draw, out);
  }

 private:
  static constexpr std::int64_t kItemsPerQuestion = 2;

  void draw_test(std::int64_t n, Draw& draw, const Sequence& out) const {
    const std::int32_t highest = 1 + draw.below(s_.values - 1), right = draw.below(n);
    for (std::int64_t i = 0; i < n; ++i)
      put(out, i, w_.rank(i == right ? highest : draw.below(highest)), w_.value(draw.below(s_.values)));
    ask(out, n, 0, right);
  }
  // Ranks of a window of random width; the best so far is always one item alone.
  void draw_training(std::int64_t n, Draw& draw, const Sequence& out) const {
    const std::int32_t width = 2 + draw.below(s_.values - 1), low = draw.below(s_.values - width + 1);
    std::int32_t best = -1, right = 0;
    std::int64_t place = 0;
    std::size_t asked = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      std::int32_t rank = low + draw.below(width);
      while (rank == best) rank = low + draw.below(width);
      if (rank > best) best = rank, right = static_cast<std::int32_t>(place);
      put(out, place++, w_.rank(rank), w_.value(draw.below(s_.values)));
      if ((i + 1) % kItemsPerQuestion == 0 || i + 1 == n) ask(out, place++, asked++, right);
    }
  }
  void ask(const Sequence& out, std::int64_t place, std::size_t question, std::int32_t right) const {
    put(out, place, w_.mark(Words::bar), w_.mark(Words::ask_most));
    out.answers[question] = out.tokens[2 * to_size(right) + 1] - w_.value(0);
    out.right[question] = right;
  }
};

// As a whole it has the sequences of recall, the longest of the four.
class Mixed : public MixedRecall {
 public:
  explicit Mixed(const TaskSettings& settings)
      : MixedRecall(settings), lookup_(settings), member_(settings), recall_(settings), most_(settings) {}
  std::string_view subtask() const override { return ""; }
  std::vector<const Task*> subtasks() const override { return {&lookup_, &member_, &recall_, &most_}; }
  // Member comes last: trained from the first step on, it stayed at chance.
  const Task& of_step(std::int64_t step, double progress) const override {
    const Task* const first[] = {&lookup_, &recall_, &most_};
    const Task* const all[] = {&member_, &lookup_, &member_, &recall_, &most_, &member_, &most_, &recall_};
    return progress < kFirstMember ? *first[step % std::ssize(first)] : *all[step % std::ssize(all)];
  }

 private:
  static constexpr double kFirstMember = 0.15;
  MixedLookup lookup_;
  MixedMember member_;
  MixedRecall recall_;
  MixedMost most_;
};

}  // namespace

const TaskKind& mixed() {
  static const TaskKind kind{
      .name = "mixed",
      .meaning = "lookup, member, recall and max retrieval, in turn, for one model",
      .defaults = {.keys = 16'512, .values = 64, .questions = 16, .least_size = 4, .largest_size = 16},
      .decoder = {.layers = 2, .width = 128, .heads = 2, .local_heads = 0, .local_layers = 1, .head_width = 128, .window = 2},
      .steps = 8000,
      .learning_rate = 2e-3,
      .sizes = {16, 64, 1024, 16'384},
      .make = [](const TaskSettings& settings) -> std::unique_ptr<Task> {
        return std::make_unique<Mixed>(settings);
      },
  };
  return kind;
}

}  // namespace sharpmax::train
