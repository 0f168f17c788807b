#include "retrieval/task/task.h"

#include <cmath>

#include "base/random.h"

namespace sharpmax::retrieval {
namespace {

// Streams of one seed. The low 56 bits of a stream number the step, or the size and the attempt.
enum class Purpose : std::uint64_t { training = 1, testing = 2 };

constexpr std::uint64_t stream_of(Purpose purpose, std::uint64_t which, std::uint64_t attempt) {
  return (static_cast<std::uint64_t>(purpose) << 56) | (attempt << 48) | which;
}

constexpr std::uint64_t kItemsPerSet = std::uint64_t{1}
                                       << 30;  // indices of one set never reach the next one's

// One item from 64 random bits: 44 for the priority, 20 for the class.
double priority_of(std::uint64_t bits) { return static_cast<double>(bits >> 20) * 0x1p-44; }
std::int32_t class_of(std::uint64_t bits, std::int64_t classes) {
  return static_cast<std::int32_t>(((bits & 0xFFFFF) * static_cast<std::uint64_t>(classes)) >> 20);
}

std::uint64_t join(std::uint32_t low, std::uint32_t high) { return (std::uint64_t{high} << 32) | low; }

// Items [first, first + priorities.size()) of a set, two from a draw; `first` is even. visit(index in the set, priority).
template <class Visit>
void draw_run(const CounterRandom& random, std::uint64_t base, std::int64_t classes, std::int64_t first,
              std::span<double> priorities, std::span<std::int32_t> classes_of_items, const Visit& visit) {
  const auto place = [&](std::size_t i, std::uint64_t bits) {
    priorities[i] = priority_of(bits);
    classes_of_items[i] = class_of(bits, classes);
    visit(first + static_cast<std::int64_t>(i), priorities[i]);
  };
  for (std::size_t i = 0; i < priorities.size(); i += 2) {
    const auto bits = random.bits(base + static_cast<std::uint64_t>(first) / 2 + i / 2);
    place(i, join(bits[0], bits[1]));
    if (i + 1 < priorities.size()) place(i + 1, join(bits[2], bits[3]));
  }
}

// False when first place is shared.
bool draw_items(const CounterRandom& random, std::uint64_t base, std::int64_t classes, std::int64_t n,
                Set& set) {
  set.priorities.resize(static_cast<std::size_t>(n));
  set.classes.resize(static_cast<std::size_t>(n));
  double best = -1.0;
  bool tied = false;
  draw_run(random, base, classes, 0, set.priorities, set.classes, [&](std::int64_t i, double priority) {
    if (priority == best) tied = true;
    if (priority > best) {
      best = priority;
      set.right = i;
      tied = false;
    }
  });
  return !tied;
}

double unit(std::uint32_t bits) { return (static_cast<double>(bits) + 0.5) * 0x1p-32; }

CounterRandom random_of(const TestSet& set) {
  return {set.seed, stream_of(Purpose::testing, static_cast<std::uint64_t>(set.n), set.attempt)};
}
std::uint64_t base_of(const TestSet& set) { return static_cast<std::uint64_t>(set.index) * kItemsPerSet; }

}  // namespace

double query_of(const TestSet& set) { return unit(random_of(set).bits(base_of(set))[0]); }

void draw_test_items(const TestSet& set, std::int64_t first, std::span<double> priorities,
                     std::span<std::int32_t> classes) {
  draw_run(random_of(set), base_of(set) + 1, set.classes, first, priorities, classes, [](std::int64_t, double) {});
}

void draw_test_set(std::uint64_t seed, std::int64_t classes, std::int64_t n, std::int64_t index, Set& set) {
  for (TestSet drawn{.seed = seed, .classes = classes, .n = n, .index = index};; ++drawn.attempt) {
    if (!draw_items(random_of(drawn), base_of(drawn) + 1, classes, n, set)) continue;
    set.query = query_of(drawn);
    return;
  }
}

void draw_training_set(const TrainingSettings& settings, std::uint64_t seed, std::int64_t step,
                       std::int64_t index, Set& set) {
  const std::uint64_t base = static_cast<std::uint64_t>(index) * kItemsPerSet;
  for (std::uint64_t attempt = 0;; ++attempt) {
    const CounterRandom random(seed, stream_of(Purpose::training, static_cast<std::uint64_t>(step), attempt));
    const auto words = random.bits(base);
    const auto more = random.bits(base + 1);
    const std::uint64_t sizes = static_cast<std::uint64_t>(settings.largest_size - settings.least_size + 1);
    const std::int64_t n =
        settings.least_size + static_cast<std::int64_t>((std::uint64_t{words[1]} * sizes) >> 32);
    if (!draw_items(random, base + 2, settings.classes, n, set)) continue;
    set.query = unit(words[0]);
    if (settings.crowding == Crowding::none || unit(words[2]) >= settings.crowded) return;
    const double width = std::pow(settings.least_width, unit(words[3]));
    const double low = settings.crowding == Crowding::top ? 1.0 - width : unit(more[0]) * (1.0 - width);
    const double top = low + width;  // counted from the top, where neighbours of 1 keep their digits
    for (double& priority : set.priorities) priority = top - width * (1.0 - priority);
    return;
  }
}

}  // namespace sharpmax::retrieval
