// A task: sequences whose answers are known, of any size. One file in family/ is one task; the build makes
// the list from the folder.
//
// A sequence is a row of places. A place holds one or more tokens, whose embeddings are added: a key with its
// value, or the two digits of a number. At the asked places the model must name the answer, which has one or
// more parts of as many classes.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "sharpmax/train.h"

namespace sharpmax::train {

// Random draws of one sequence, one after another: a function of seed and stream alone.

class Draw {
 public:
  Draw(std::uint64_t seed, std::uint64_t stream) : random_(seed, stream) {}

  // Uniform in [0, bound), bound <= 2^31; biased by less than 2^-32.
  std::int32_t below(std::int64_t bound) {
    const std::uint64_t high = next(), low = next();
    const auto product = static_cast<unsigned __int128>(high << 32 | low) * static_cast<std::uint64_t>(bound);
    return static_cast<std::int32_t>(product >> 64);
  }
  double unit() { return (next() + 0.5) * 0x1p-32; }

  // `count` different numbers of [0, bound), in random order.
  std::vector<std::int32_t> distinct(std::int64_t count, std::int64_t bound);

  template <class T>
  void shuffle(std::span<T> values) {
    for (std::size_t i = values.size(); i > 1; --i)
      std::swap(values[i - 1], values[static_cast<std::size_t>(below(static_cast<std::int64_t>(i)))]);
  }

 private:
  std::uint32_t next() {
    if (at_ % 4 == 0) bits_ = random_.bits(at_ / 4);
    return bits_[at_++ % 4];
  }

  CounterRandom random_;
  std::uint64_t at_ = 0;
  std::array<std::uint32_t, 4> bits_{};
};

// Streams of one seed, apart from each other. Steps are below 2^40, sequences of a step below 2^21.
enum class Purpose : std::uint64_t { initial = 0, training = 1, test = 2 };
constexpr std::uint64_t stream_of(Purpose purpose, std::int64_t step, std::int64_t sequence) {
  return static_cast<std::uint64_t>(purpose) << 62 | static_cast<std::uint64_t>(step) << 21 |
         static_cast<std::uint64_t>(sequence);
}

// Training may ask more often within a sequence than a test, which asks at the end.
enum class Asking { training, test };

// What all sequences of a task have in common.
struct TaskShape {
  std::int64_t vocabulary = 0;
  std::int64_t slots = 1;    // tokens of a place
  std::int64_t classes = 0;  // of one part of an answer
  std::int64_t parts = 1;
};

// One sequence, to be filled in.
struct Sequence {
  std::span<std::int32_t> tokens;   // [place, slot]
  std::span<std::int32_t> answers;  // [asked, part]
  std::span<std::int32_t> right;    // [asked]: the place that an answer must be read from; -1: none
  double progress = 1.0;            // share of the training done, for tasks with a curriculum
  std::int64_t number = 0;          // of the sequence within its stream
};

inline constexpr std::int64_t kAnySize = std::numeric_limits<std::int64_t>::max();

// A mixture has several tasks over one vocabulary. Training takes them by turns, and each is tested by itself.
class Task {
 public:
  virtual ~Task() = default;
  virtual std::string_view subtask() const { return ""; }  // name within a mixture
  virtual std::vector<const Task*> subtasks() const { return {this}; }
  // The task of a training step; progress is the share of the training done.
  virtual const Task& of_step(std::int64_t, [[maybe_unused]] double progress) const { return *this; }
  virtual TaskShape shape() const = 0;
  virtual std::int64_t smallest_size() const { return 1; }
  virtual std::int64_t largest_size() const { return kAnySize; }  // that the vocabulary can fill
  virtual std::vector<std::int64_t> sizes() const { return {}; }  // all that it has, ascending; empty: any
  // How many sequences of a size there are.
  virtual std::int64_t sequences(std::int64_t, Asking) const { return kAnySize; }
  // The asked places of a sequence of size n, ascending. The last is the last place of the sequence.
  virtual std::vector<std::int64_t> places(std::int64_t n, Asking asking) const = 0;
  // Places whose number grows with n, which is what a rule that depends on the length must know of the
  // trained size.
  virtual std::int64_t content(std::int64_t n) const { return n; }
  // Accuracy of a guess.
  virtual double chance() const {
    const TaskShape s = shape();
    return std::pow(1.0 / static_cast<double>(s.classes), static_cast<double>(s.parts));
  }
  virtual void draw(std::int64_t n, Asking asking, Draw& draw, const Sequence& out) const = 0;
  // A token as a word, and the token that stands for an answer, for tasks with one token per place.
  virtual std::string token_text(std::int32_t token) const { return std::string("t").append(std::to_string(token)); }
  virtual std::int32_t token_of_answer(std::int32_t answer) const { return answer; }
};

// Words of a vocabulary of keys, values and a bar: k17, v3, |.
inline std::string key_or_value(std::int64_t token, const TaskSettings& settings) {
  if (token < settings.keys) return std::string("k").append(std::to_string(token));
  return token < settings.keys + settings.values ? std::string("v").append(std::to_string(token - settings.keys)) : "|";
}

// A task with a name, and how it is trained and tested if nobody says otherwise.
struct TaskKind {
  std::string_view name;
  std::string_view meaning;  // one line, for help
  TaskSettings defaults;
  DecoderSettings decoder;
  std::int64_t steps = 1000;
  double learning_rate = 1e-3;
  std::vector<std::int64_t> sizes;  // of the tests
  std::unique_ptr<Task> (*make)(const TaskSettings&) = nullptr;
};

std::span<const TaskKind* const> task_kinds();  // by name
// Throws RequestError{bad_argument} for an unknown name, with the nearest known one.
const TaskKind& task_kind(std::string_view name);

// Tasks that are lists of records: a user's own file, and CLRS-Text (record_task.cc). Whether a task's name is that of one;
// and its kind, for which the file is read, unless it is the one read before. Throws Error{io, bad_file}; RequestError for a
// task that CLRS-Text has not.
bool names_records(std::string_view task);
const TaskKind& record_task_kind(std::string_view name);

// A table of normalizers per head is chosen at sizes up to so many times the trained one, and judged beyond.
inline constexpr std::int64_t kChosenUpTo = 4;
// Sizes to choose at: 1, 2 and 4 times the trained one, of a task that has some sizes only those up to 4 times.
std::vector<std::int64_t> sizes_to_choose_at(const Task& task, std::int64_t trained);

// Settings with the defaults of the kind in place of zeros, checked. Throws RequestError{bad_argument}.
TaskSettings complete(const TaskKind& kind, TaskSettings settings);
// Throws RequestError{bad_argument} if the task has no sequences of size n.
void check_size(const Task& task, const TaskSettings& settings, std::string_view field, std::int64_t n);

// Sequences of one size.
struct Batch {
  std::int64_t size = 0;  // n
  std::int64_t sequences = 0, length = 0, slots = 1, parts = 1;
  std::vector<std::int32_t> tokens;   // [sequence, place, slot]
  std::vector<std::int64_t> places;   // asked
  std::vector<std::int32_t> answers;  // [sequence, asked, part]
  std::vector<std::int32_t> right;    // [sequence, asked]

  std::int64_t asked() const noexcept { return static_cast<std::int64_t>(places.size()); }
  std::int64_t tail() const noexcept {
    return length - places.front();
  }  // places from the first asked one on
};

// `count` sequences of size n from number `first` on, of the streams of `purpose` and `step`.
struct BatchRequest {
  std::uint64_t seed = 0;
  Purpose purpose = Purpose::training;
  std::int64_t step = 0, first = 0, count = 0, size = 0;
  double progress = 1.0;  // share of the training done
};
void draw_batch(const Task& task, const BatchRequest& request, Batch& batch);

// Size of the sequences of a training step, uniform between the least and the largest.
std::int64_t size_of_step(const Task& task, const TaskSettings& settings, std::uint64_t seed, std::int64_t step);

// Numbers as tokens: a place holds the high and the low digit of one, so that numbers near each other share a
// digit.

// Numbers of [0, count) in a base that makes two digits of each. Tokens: high digits, low digits, then three
// marks.
class TwoDigits {
 public:
  explicit TwoDigits(std::int64_t count)
      : base_(static_cast<std::int32_t>(std::ceil(std::sqrt(static_cast<double>(count))))) {}

  std::int32_t base() const noexcept { return base_; }
  std::int64_t vocabulary() const noexcept { return 2 * base_ + 3; }
  void put(std::int32_t number, std::span<std::int32_t> place) const {
    place[0] = number / base_;
    place[1] = base_ + number % base_;
  }
  void put_beginning(std::span<std::int32_t> place) const { put_mark(0, place); }
  void put_bar(std::span<std::int32_t> place) const { put_mark(1, place); }
  void put_answer(std::int32_t number, std::span<std::int32_t> parts) const {
    parts[0] = number / base_;
    parts[1] = number % base_;
  }

 private:
  void put_mark(std::int32_t mark, std::span<std::int32_t> place) const {
    place[0] = 2 * base_ + mark;
    place[1] = 2 * base_ + 2;
  }
  std::int32_t base_;
};

// n different numbers of a random window of [0, count): its width is log-uniform from n to count. Few numbers
// out of a wide window are easy to tell apart, so a task that orders them needs the narrow ones too.
inline std::vector<std::int32_t> crowded_numbers(std::int64_t n, std::int64_t count, Draw& draw) {
  const double least = std::log(static_cast<double>(n)), most = std::log(static_cast<double>(count));
  const auto width =
      std::clamp(static_cast<std::int64_t>(std::exp(least + draw.unit() * (most - least))), n, count);
  const std::int32_t low = draw.below(count - width + 1);
  std::vector<std::int32_t> numbers = draw.distinct(n, width);
  for (std::int32_t& number : numbers) number += low;
  return numbers;
}

// Settings as JSON and back, from their lists of fields; presets and named arms.

Json settings_json(const RunSettings& settings);
RunSettings settings_in(const Json& json);  // may throw nlohmann's exceptions

// All that a request says, with presets, task and defaults in their places. Throws RequestError.
RunSettings settings_of(const TrainRequest& request);

}  // namespace sharpmax::train
