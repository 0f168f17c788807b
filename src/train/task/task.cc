#include "train/task/task.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "base/in_quotes.h"
#include "base/numbers.h"
#include "normalizer/definition.h"
#include "train/task/task_list.h"

namespace sharpmax::train {
namespace {

[[noreturn]] void refuse(const std::string& sentence) {
  throw RequestError(ErrorCode::bad_argument, sentence);
}

[[noreturn]] void refuse_name(std::string_view name) {
  std::vector<std::string_view> known;
  for (const TaskKind* kind : task_kinds()) known.push_back(kind->name);
  refuse(fmt::format("{}: there is no task {}; the tasks are {}{}", operand("task"), in_quotes(name),
                     joined(known), suggestion(name, known)));
}

// Of a task that has some sizes only; empty: all between.
std::vector<std::int64_t> sizes_between(const Task& task, const TaskSettings& settings) {
  std::vector<std::int64_t> found;
  for (const std::int64_t size : task.sizes())
    if (size >= settings.least_size && size <= settings.largest_size && task.sequences(size, Asking::training) > 0)
      found.push_back(size);
  return found;
}

// Sequence number that no batch reaches: the draw of a step's size.
constexpr std::int64_t kSizeStream = (1 << 21) - 1;

}  // namespace

std::vector<std::int32_t> Draw::distinct(std::int64_t count, std::int64_t bound) {
  constexpr std::int64_t kSparse = 4;  // below a quarter, few draws meet a number that is taken
  std::vector<std::int32_t> values(to_size(count));
  if (count * kSparse <= bound) {
    std::vector<bool> taken(to_size(bound));
    for (std::int32_t& value : values) {
      do value = below(bound);
      while (taken[to_size(value)]);
      taken[to_size(value)] = true;
    }
    return values;
  }
  std::vector<std::int32_t> all(to_size(bound));
  std::iota(all.begin(), all.end(), 0);
  for (std::int64_t i = 0; i < count; ++i) {
    std::swap(all[to_size(i)], all[to_size(i + below(bound - i))]);
    values[to_size(i)] = all[to_size(i)];
  }
  return values;
}

std::span<const TaskKind* const> task_kinds() {
  static const std::vector<const TaskKind*> kinds = [] {
    std::vector<const TaskKind*> list;
    for (const auto kind : kTaskFamily) list.push_back(&kind());
    std::sort(list.begin(), list.end(),
              [](const TaskKind* a, const TaskKind* b) { return a->name < b->name; });
    return list;
  }();
  return kinds;
}

const TaskKind& task_kind(std::string_view name) {
  if (names_records(name)) return record_task_kind(name);
  for (const TaskKind* kind : task_kinds())
    if (kind->name == name) return *kind;
  refuse_name(name);
}

TaskSettings complete(const TaskKind& kind, TaskSettings settings) {
  settings.task = kind.name;
  if (names_records(kind.name))
    for (const auto& [name, value] : {std::pair("keys", settings.keys), std::pair("values", settings.values),
                                      std::pair("questions", settings.questions)})
      if (value != 0) refuse(fmt::format("{} does not go with a task of records", named(name, std::to_string(value))));
  const auto place = [](std::int64_t& value, std::int64_t otherwise) {
    if (value == 0) value = otherwise;
  };
  place(settings.keys, kind.defaults.keys);
  place(settings.values, kind.defaults.values);
  place(settings.questions, kind.defaults.questions);
  place(settings.least_size, kind.defaults.least_size);
  place(settings.largest_size, kind.defaults.largest_size);
  if (settings.least_size > settings.largest_size)
    refuse(fmt::format("{} is above {}", named("least_size", std::to_string(settings.least_size)),
                       named("largest_size", std::to_string(settings.largest_size))));
  const auto task = kind.make(settings);
  check_size(*task, settings, "largest_size", settings.largest_size);
  check_size(*task, settings, "least_size", settings.least_size);
  return settings;
}

void check_size(const Task& task, const TaskSettings& settings, std::string_view field, std::int64_t n) {
  if (const std::vector<std::int64_t> sizes = task.sizes();
      !sizes.empty() && std::find(sizes.begin(), sizes.end(), n) == sizes.end())
    refuse(fmt::format("{}: {} has no records of that size; its sizes are {}", named(field, std::to_string(n)),
                       settings.task, fmt::join(sizes, ", ")));
  const Asking asking = field == "sizes" ? Asking::test : Asking::training;
  if (task.sequences(n, asking) < 1)
    refuse(fmt::format("{}: {} has no records of that size to {}", named(field, std::to_string(n)), settings.task,
                       asking == Asking::test ? "test" : "train"));
  const std::int64_t least = task.smallest_size(), most = task.largest_size();
  if (n < least)
    refuse(fmt::format("{}: {} has sequences of at least {} items", named(field, std::to_string(n)),
                       settings.task, least));
  if (n > most)
    refuse(fmt::format("{}: with {} different keys, {} has sequences of at most {} items; {} makes more",
                       named(field, std::to_string(n)), settings.keys, settings.task, most, named("keys")));
}

std::vector<std::int64_t> sizes_to_choose_at(const Task& task, std::int64_t trained) {
  std::vector<std::int64_t> all;
  if (const std::vector<std::int64_t> known = task.sizes(); !known.empty()) {
    for (const std::int64_t size : known)
      if (size >= trained && size <= kChosenUpTo * trained && task.sequences(size, Asking::test) > 0) all.push_back(size);
    return all;
  }
  for (std::int64_t factor = 1; factor <= kChosenUpTo; factor *= 2)
    if (factor * trained <= task.largest_size()) all.push_back(factor * trained);
  return all;
}

void draw_batch(const Task& task, const BatchRequest& request, Batch& batch) {
  const TaskShape shape = task.shape();
  const Asking asking = request.purpose == Purpose::test ? Asking::test : Asking::training;
  batch.size = request.size;
  batch.sequences = request.count;
  batch.slots = shape.slots;
  batch.parts = shape.parts;
  batch.places = task.places(request.size, asking);
  batch.length = batch.places.back() + 1;
  const std::size_t tokens = to_size(batch.length * shape.slots), asked = batch.places.size();
  const std::size_t answers = asked * to_size(shape.parts);
  batch.tokens.resize(to_size(request.count) * tokens);
  batch.answers.resize(to_size(request.count) * answers);
  batch.right.resize(to_size(request.count) * asked);
  for (std::size_t i = 0; i < to_size(request.count); ++i) {
    Draw draw(request.seed,
              stream_of(request.purpose, request.step, request.first + static_cast<std::int64_t>(i)));
    task.draw(request.size, asking, draw,
              {.tokens = std::span(batch.tokens).subspan(i * tokens, tokens),
               .answers = std::span(batch.answers).subspan(i * answers, answers),
               .right = std::span(batch.right).subspan(i * asked, asked),
               .progress = request.progress,
               .number = request.first + static_cast<std::int64_t>(i)});
  }
}

std::int64_t size_of_step(const Task& task, const TaskSettings& settings, std::uint64_t seed, std::int64_t step) {
  Draw draw(seed, stream_of(Purpose::training, step, kSizeStream));
  if (const std::vector<std::int64_t> sizes = sizes_between(task, settings); !sizes.empty())
    return sizes[to_size(draw.below(static_cast<std::int64_t>(sizes.size())))];
  return settings.least_size + draw.below(settings.largest_size - settings.least_size + 1);
}

}  // namespace sharpmax::train
