// Every task against a slow solver that reads the tokens alone: its answers are those of the sequence, and
// the right place is where the answer stands. Sequences are a function of seed, step and number, however many
// are drawn at a time.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "train/task/task.h"

namespace sharpmax::train {
namespace {

using Tokens = std::vector<std::vector<std::int32_t>>;  // [place][slot]

Tokens tokens_in(const Batch& batch, std::int64_t sequence) {
  Tokens tokens;
  for (std::int64_t p = 0; p < batch.length; ++p) {
    const auto at = batch.tokens.begin() + (sequence * batch.length + p) * batch.slots;
    tokens.emplace_back(at, at + batch.slots);
  }
  return tokens;
}

struct Solution {
  std::vector<std::int32_t> answer;
  std::int32_t right = -1;
};

// One function per task: the answer at a place, from the tokens up to it.
using Solver = Solution (*)(const Tokens&, std::int64_t place, std::int64_t n, const TaskSettings&);

Solution solve_lookup(const Tokens& t, std::int64_t place, std::int64_t n, const TaskSettings& s) {
  for (std::int32_t i = 0; i < n; ++i)
    if (t[i][0] == t[place][0]) return {{static_cast<std::int32_t>(t[i][1] - s.keys)}, i};
  return {};
}
Solution solve_member(const Tokens& t, std::int64_t place, std::int64_t n, const TaskSettings&) {
  for (std::int32_t i = 1; i <= n; ++i)
    if (t[i][0] == t[place][0]) return {{1}, i};
  return {{0}, -1};
}
Solution solve_recall(const Tokens& t, std::int64_t place, std::int64_t n, const TaskSettings& s) {
  for (std::int32_t i = 1; i <= 2 * n; i += 2)
    if (t[i][0] == t[place][0]) return {{static_cast<std::int32_t>(t[i + 1][0] - s.keys)}, i + 1};
  return {};
}
// The kind of question stands in the third slot; the last token is that for two look-ups.
Solution solve_hops(const Tokens& t, std::int64_t place, std::int64_t n, const TaskSettings& s) {
  const std::int64_t last = 2 * s.keys + s.values + 2;
  std::int32_t key = t[place][0];
  for (std::int64_t hop = t[place][2] == last ? 2 : 1; hop > 0; --hop)
    for (std::int32_t i = 0; i < n; ++i) {
      if (t[i][0] != key) continue;
      if (hop == 1) return {{static_cast<std::int32_t>(t[i][2] - 2 * s.keys)}, i};
      key = static_cast<std::int32_t>(t[i][1] - s.keys);
      break;
    }
  return {};
}
Solution solve_majority(const Tokens& t, std::int64_t, std::int64_t n, const TaskSettings&) {
  std::map<std::int32_t, std::int64_t> count;
  for (std::int64_t i = 1; i <= n; ++i) ++count[t[i][0]];
  EXPECT_NE(count[0], count[1]);
  return {{count[1] > count[0] ? 1 : 0}, -1};
}

constexpr std::int32_t kBase = 32;  // of 1,024 numbers
std::int32_t number_at(const Tokens& t, std::int64_t place) {
  return t[place][0] * kBase + t[place][1] - kBase;
}

Solution solve_minimum(const Tokens& t, std::int64_t place, std::int64_t, const TaskSettings&) {
  std::int32_t least = 1;
  for (std::int32_t i = 2; i <= place; ++i)
    if (number_at(t, i) < number_at(t, least)) least = i;
  return {{number_at(t, least) / kBase, number_at(t, least) % kBase}, least};
}
// The least number above the one before.
Solution solve_sort(const Tokens& t, std::int64_t place, std::int64_t n, const TaskSettings&) {
  const std::int32_t before = place == n + 1 ? -1 : number_at(t, place);
  std::int32_t next = -1;
  for (std::int32_t i = 1; i <= n; ++i)
    if (number_at(t, i) > before && (next < 0 || number_at(t, i) < number_at(t, next))) next = i;
  return {{number_at(t, next) / kBase, number_at(t, next) % kBase}, next};
}
Solution solve_flipflop(const Tokens& t, std::int64_t place, std::int64_t, const TaskSettings&) {
  std::int64_t back = place - 2;
  while (t[back][0] != 2) back -= 2;  // to the last write
  return {{t[back + 1][0]}, static_cast<std::int32_t>(back) + 1};
}

// Tokens of a mixture: keys, values, ranks, then marks; yes is the last answer.
Solution solve_mixed_lookup(const Tokens& t, std::int64_t place, std::int64_t n, const TaskSettings& s) {
  return solve_lookup(t, place, n, s);
}
Solution solve_mixed_member(const Tokens& t, std::int64_t place, std::int64_t n, const TaskSettings& s) {
  const Solution found = solve_member(t, place, n, s);
  return {{static_cast<std::int32_t>(s.values) + found.answer[0]}, found.right};
}
// Training asks within the items, too: a question is a place without a rank.
Solution solve_mixed_most(const Tokens& t, std::int64_t place, std::int64_t, const TaskSettings& s) {
  const auto ranks_end = static_cast<std::int32_t>(s.keys + 2 * s.values);
  const auto is_item = [&](std::int64_t i) { return t[i][0] < ranks_end; };
  std::int32_t most = 0, times = 0;
  for (std::int32_t i = 1; i < place; ++i)
    if (is_item(i) && t[i][0] > t[most][0]) most = i;
  for (std::int64_t i = 0; i < place; ++i) times += t[i][0] == t[most][0] ? 1 : 0;
  EXPECT_EQ(times, 1) << "two items have the highest rank";
  return {{static_cast<std::int32_t>(t[most][1] - s.keys)}, most};
}

const std::map<std::string_view, Solver> kMixedSolvers = {{"lookup", solve_mixed_lookup},
                                                          {"member", solve_mixed_member},
                                                          {"recall", solve_recall},
                                                          {"most", solve_mixed_most}};

const std::map<std::string_view, Solver> kSolvers = {
    {"lookup", solve_lookup},     {"member", solve_member},   {"recall", solve_recall},
    {"majority", solve_majority}, {"minimum", solve_minimum}, {"sort", solve_sort},
    {"flipflop", solve_flipflop}, {"hops", solve_hops},       {"mixed", solve_recall}};

TEST(TrainTasks, EveryTaskHasASolverHere) {
  for (const TaskKind* kind : task_kinds()) EXPECT_TRUE(kSolvers.contains(kind->name)) << kind->name;
}

void expect_solved(const Task& task, Solver solve, const TaskSettings& settings) {
  const TaskShape shape = task.shape();
  for (const Purpose purpose : {Purpose::training, Purpose::test}) {
    for (const std::int64_t n : {std::int64_t{4}, std::int64_t{5}, std::int64_t{16}, std::int64_t{300}}) {
      Batch batch;
      draw_batch(task, {.seed = 5, .purpose = purpose, .step = n, .count = 8, .size = n}, batch);
      ASSERT_EQ(batch.places.back() + 1, batch.length);
      for (std::int64_t i = 0; i < batch.sequences; ++i) {
        const Tokens tokens = tokens_in(batch, i);
        for (const auto& place : tokens)
          for (const std::int32_t token : place) ASSERT_TRUE(token >= 0 && token < shape.vocabulary);
        for (std::int64_t a = 0; a < batch.asked(); ++a) {
          const std::int64_t at = i * batch.asked() + a;
          const Solution solution = solve(tokens, batch.places[a], n, settings);
          const auto answer = batch.answers.begin() + at * shape.parts;
          EXPECT_EQ(solution.answer, std::vector<std::int32_t>(answer, answer + shape.parts)) << n;
          EXPECT_EQ(solution.right, batch.right[at]) << n;
          for (const std::int32_t part : solution.answer) EXPECT_TRUE(part >= 0 && part < shape.classes);
        }
      }
    }
  }
}

TEST(TrainTasks, AnswersAreThoseOfASlowSolver) {
  for (const auto& [name, solve] : kSolvers) {
    SCOPED_TRACE(name);
    const TaskSettings settings = complete(task_kind(name), {});
    expect_solved(*task_kind(name).make(settings), solve, settings);
  }
}

TEST(TrainTasks, AMixtureHasATurnForEachOfItsTasksWhoseAnswersAreThoseOfASlowSolver) {
  const TaskSettings settings = complete(task_kind("mixed"), {});
  const auto task = task_kind("mixed").make(settings);
  std::set<std::string_view> met;
  for (std::int64_t step = 0; step < 8; ++step) {
    EXPECT_NE(task->of_step(step, 0.0).subtask(), "member") << "is learned after the others";
    const Task& one = task->of_step(step, 0.5);
    SCOPED_TRACE(one.subtask());
    met.insert(one.subtask());
    EXPECT_EQ(one.shape().vocabulary, task->shape().vocabulary);
    EXPECT_EQ(one.chance(), one.subtask() == "member" ? 0.5 : 1.0 / static_cast<double>(settings.values));
    expect_solved(one, kMixedSolvers.at(one.subtask()), settings);
  }
  EXPECT_EQ(met.size(), kMixedSolvers.size());
}

TEST(TrainTasks, ASequenceDoesNotDependOnHowManyAreDrawnWithIt) {
  for (const TaskKind* kind : task_kinds()) {
    SCOPED_TRACE(kind->name);
    const TaskSettings settings = complete(*kind, {});
    const auto task = kind->make(settings);
    Batch all, one;
    draw_batch(*task, {.seed = 9, .purpose = Purpose::test, .step = 2, .count = 6, .size = 12}, all);
    draw_batch(*task, {.seed = 9, .purpose = Purpose::test, .step = 2, .first = 4, .count = 1, .size = 12},
               one);
    EXPECT_EQ(tokens_in(all, 4), tokens_in(one, 0));
    draw_batch(*task, {.seed = 9, .purpose = Purpose::test, .step = 3, .first = 4, .count = 1, .size = 12},
               one);
    EXPECT_NE(tokens_in(all, 4), tokens_in(one, 0));
  }
}

TEST(TrainTasks, AnswersAreSpreadOverTheClasses) {
  for (const TaskKind* kind : task_kinds()) {
    SCOPED_TRACE(kind->name);
    const TaskSettings settings = complete(*kind, {});
    const auto task = kind->make(settings);
    Batch batch;
    draw_batch(*task, {.seed = 1, .count = 512, .size = settings.largest_size}, batch);
    std::map<std::int32_t, std::int64_t> count;
    for (const std::int32_t answer : batch.answers) ++count[answer];
    const auto [most, total] = std::pair(
        std::max_element(count.begin(), count.end(), [](auto& a, auto& b) { return a.second < b.second; })
            ->second,
        static_cast<std::int64_t>(batch.answers.size()));
    EXPECT_LE(most, total * 6 / 10) << "a guess is too good";
  }
}

TEST(TrainTasks, HopsBeginWithOneLookUpAndATestAsksForTwo) {
  const TaskSettings s = complete(task_kind("hops"), {});
  const auto task = task_kind("hops").make(s);
  const auto share_of_two = [&](Purpose purpose, double progress) {
    Batch batch;
    draw_batch(*task, {.seed = 3, .purpose = purpose, .count = 64, .size = 16, .progress = progress}, batch);
    std::int64_t two = 0;
    for (std::int64_t i = 0; i < batch.sequences; ++i)
      for (const std::int64_t place : batch.places)
        two += tokens_in(batch, i)[place][2] == 2 * s.keys + s.values + 2 ? 1 : 0;
    return static_cast<double>(two) / static_cast<double>(batch.sequences * batch.asked());
  };
  EXPECT_EQ(share_of_two(Purpose::training, 0.0), 0.0);
  EXPECT_EQ(share_of_two(Purpose::training, 0.24), 0.0);
  EXPECT_NEAR(share_of_two(Purpose::training, 0.25), 0.5, 0.1);
  EXPECT_EQ(share_of_two(Purpose::test, 1.0), 1.0);
}

TEST(TrainTasks, DistinctNumbersAreDistinctWhetherFewOrAllAreWanted) {
  for (const std::int64_t count : {0, 1, 24, 25, 26, 99, 100}) {
    Draw draw(4, 7);
    const std::vector<std::int32_t> values = draw.distinct(count, 100);
    const std::set<std::int32_t> different(values.begin(), values.end());
    EXPECT_EQ(different.size(), static_cast<std::size_t>(count));
    for (const std::int32_t value : values) EXPECT_TRUE(value >= 0 && value < 100);
  }
}

}  // namespace
}  // namespace sharpmax::train
