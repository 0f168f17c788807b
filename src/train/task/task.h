// A task: sequences whose answers are known, of any size. One file in family/ is one task; the build makes
// the list from the folder.
//
// A sequence is a row of places. A place holds one or more tokens, whose embeddings are added: a key with its
// value, or the two digits of a number. At the asked places the model must name the answer, which has one or
// more parts of as many classes.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sharpmax/train.h"
#include "train/task/draw.h"

namespace sharpmax::train {

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

class Task {
 public:
  virtual ~Task() = default;
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
  virtual void draw(std::int64_t n, Asking asking, Draw& draw, const Sequence& out) const = 0;
  // A token as a word, and the token that stands for an answer, for tasks with one token per place.
  virtual std::string token_text(std::int32_t token) const { return "t" + std::to_string(token); }
  virtual std::int32_t token_of_answer(std::int32_t answer) const { return answer; }
};

// Words of a vocabulary of keys, values and a bar: k17, v3, |.
inline std::string key_or_value(std::int64_t token, const TaskSettings& settings) {
  if (token < settings.keys) return "k" + std::to_string(token);
  return token < settings.keys + settings.values ? "v" + std::to_string(token - settings.keys) : "|";
}

// A task with a name, and how it is trained and tested if nobody says otherwise.
struct TaskKind {
  std::string_view name;
  std::string_view meaning;  // one line, for help
  TaskSettings defaults;
  DecoderSettings decoder;
  std::int64_t steps = 1000;
  std::vector<std::int64_t> sizes;  // of the tests
  std::unique_ptr<Task> (*make)(const TaskSettings&) = nullptr;
};

std::span<const TaskKind* const> task_kinds();  // by name
// Throws RequestError{bad_argument} for an unknown name, with the nearest known one.
const TaskKind& task_kind(std::string_view name);

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

}  // namespace sharpmax::train
