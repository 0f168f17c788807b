#include "train/clrs/clrs_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <numeric>

#include "base/in_quotes.h"
#include "base/numbers.h"
#include "sharpmax/job.h"

namespace sharpmax::train {
namespace {

using Reals = std::vector<double>;
using Wholes = std::vector<std::int64_t>;

// Cut to three decimals, toward 0.
Reals reals(RandomState& random, std::int64_t count, double low, double high) {
  Reals values(to_size(count));
  for (double& value : values) value = random.uniform(low, high);
  return values;
}
double cut(double value) { return std::trunc(value * 1000.0) / 1000.0; }
Reals cut(Reals values) {
  for (double& value : values) value = cut(value);
  return values;
}
Wholes letters(RandomState& random, std::int64_t count, std::int64_t kinds) {
  Wholes values(to_size(count));
  for (std::int64_t& value : values) value = random.below(kinds);
  return values;
}
Wholes numbered(std::int64_t count) {
  Wholes values(to_size(count));
  std::iota(values.begin(), values.end(), 0);
  return values;
}

// As Python prints a float.
std::string text_of(double value) {
  std::string text = fmt::format("{}", value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}
std::string text_of(std::int64_t value) { return std::to_string(value); }
template <class Number>
std::string list(const std::vector<Number>& values) {
  std::string text = "[";
  for (const Number value : values) text.append(text.size() > 1 ? " " : "").append(text_of(value));
  return text + "]";
}
std::string pair(std::int64_t a, std::int64_t b) { return fmt::format("({}, {})", a, b); }

// One name and one result, the same with and without a trace.
ClrsRun plain(std::string inputs, std::string name, std::vector<std::string> states, std::string result) {
  return {std::move(inputs), std::move(states), name, name, result, result};
}

ClrsRun minimum(RandomState& random, std::int64_t size) {
  const Reals key = cut(reals(random, size, 0.0, 1.0));
  std::size_t least = 0;
  std::vector<std::string> states = {"0"};
  for (std::size_t i = 1; i < key.size(); ++i) {
    if (key[least] > key[i]) least = i;
    states.push_back(std::to_string(least));
  }
  return plain("key: " + list(key), "min", std::move(states), std::to_string(least));
}

ClrsRun binary_search(RandomState& random, std::int64_t size) {
  Reals key = reals(random, size, 0.0, 1.0);
  std::sort(key.begin(), key.end());
  key = cut(std::move(key));
  const double target = cut(random.uniform(0.0, 1.0));
  std::int64_t low = 0, high = size - 1;
  std::vector<std::string> states = {pair(low, high)};
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (target <= key[to_size(middle)])
      high = middle;
    else
      low = middle + 1;
    states.push_back(pair(low, high));
  }
  return {fmt::format("key: {}, target: {}", list(key), text_of(target)), std::move(states), "return", "(low, high)",
          std::to_string(high), pair(low, high)};
}

ClrsRun find_maximum_subarray_kadane(RandomState& random, std::int64_t size) {
  const Reals key = cut(reals(random, size, -1.0, 1.0));
  std::int64_t best_low = 0, best_high = 0, from = 0;
  double best = key[0], sum = key[0];
  std::vector<std::string> states = {pair(0, 0)};
  for (std::int64_t j = 1; j < size; ++j) {
    const double x = key[to_size(j)];
    if (sum + x >= x)
      sum += x;
    else
      from = j, sum = x;
    if (sum > best) best_low = from, best_high = j, best = sum;
    states.push_back(pair(best_low, best_high));
  }
  return {"key: " + list(key), std::move(states), "start, end", "(best_low, best_high)",
          fmt::format("{}, {}", best_low, best_high), pair(best_low, best_high)};
}

// Text and pattern of a search, the pattern put into the text somewhere.
struct Strings {
  Wholes text, pattern;

  Strings(RandomState& random, std::int64_t size) {
    constexpr std::int64_t kLetters = 4;
    const std::int64_t needle = size < 5 ? 1 : size / 5, haystack = size - needle;
    pattern = letters(random, needle, kLetters);
    text = letters(random, haystack, kLetters);
    const std::int64_t at = random.below(haystack - needle);
    std::copy(pattern.begin(), pattern.end(), text.begin() + at);
  }
  std::string words() const {
    Wholes kind(text.size()), key = text;
    kind.resize(text.size() + pattern.size(), 1);
    key.insert(key.end(), pattern.begin(), pattern.end());
    return fmt::format("string: {}, key: {}", list(kind), list(key));
  }
  ClrsRun run(std::vector<std::string> states, std::int64_t match) const {
    return {words(), std::move(states), "match", "s", std::to_string(match), std::to_string(match)};
  }
};

ClrsRun naive_string_matcher(RandomState& random, std::int64_t size) {
  const Strings strings(random, size);
  const Wholes &text = strings.text, &pattern = strings.pattern;
  std::vector<std::string> states;
  for (std::size_t s = 0; s + pattern.size() <= text.size(); ++s) {
    states.push_back(std::to_string(s));
    std::size_t j = 0;
    while (text[s + j] == pattern[j]) {
      if (j + 1 == pattern.size()) return strings.run(std::move(states), static_cast<std::int64_t>(s));
      ++j;
      states.push_back(std::to_string(s));
    }
  }
  return strings.run(std::move(states), static_cast<std::int64_t>(text.size()));
}

// States of the pattern's own table first, while the match is at 0. A missing border is 0 with a mark, as the
// package has it: `none`.
ClrsRun kmp_matcher(RandomState& random, std::int64_t size) {
  const Strings strings(random, size);
  const Wholes &text = strings.text, &pattern = strings.pattern;
  const auto letter = [&](std::int64_t i) { return pattern[to_size(i)]; };
  const auto length = static_cast<std::int64_t>(pattern.size());
  Wholes border = numbered(length);
  std::vector<bool> none(pattern.size());
  none[0] = true;
  std::vector<std::string> states = {"0"};
  std::int64_t k = 0;
  bool fresh = true;
  const auto fall_back = [&](std::int64_t& at, bool& begun) {
    if (none[to_size(at)])
      at = 0, begun = true;
    else
      at = border[to_size(at)];
  };
  for (std::int64_t q = 1; q < length; ++q) {
    while (!fresh && letter(k + 1) != letter(q)) {
      fall_back(k, fresh);
      states.emplace_back("0");
    }
    if (fresh) fresh = false, k = -1;
    if (letter(k + 1) == letter(q)) ++k;
    if (k == -1) k = 0, fresh = true, none[to_size(q)] = true;
    border[to_size(q)] = k;
    states.emplace_back("0");
  }
  std::int64_t q = 0, s = 0;
  fresh = true;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(text.size()); ++i) {
    if (i >= length) ++s;
    states.push_back(std::to_string(s));
    while (!fresh && letter(q + 1) != text[to_size(i)]) {
      fall_back(q, fresh);
      states.push_back(std::to_string(s));
    }
    if (fresh) q = -1, fresh = false;
    if (letter(q + 1) == text[to_size(i)]) {
      if (q == length - 2) return strings.run(std::move(states), s);
      ++q;
    }
    if (q == -1) fresh = true, q = 0;
  }
  return strings.run(std::move(states), static_cast<std::int64_t>(text.size()));
}

ClrsRun insertion_sort(RandomState& random, std::int64_t size) {
  Reals key = cut(reals(random, size, 0.0, 1.0));
  const std::string inputs = "key: " + list(key);
  std::vector<std::string> states = {list(key)};
  for (std::size_t j = 1; j < key.size(); ++j) {
    const auto place = std::upper_bound(key.begin(), key.begin() + static_cast<std::ptrdiff_t>(j), key[j]);
    std::rotate(place, key.begin() + static_cast<std::ptrdiff_t>(j), key.begin() + static_cast<std::ptrdiff_t>(j) + 1);
    states.push_back(list(key));
  }
  return plain(inputs, "pred", std::move(states), list(key));
}

ClrsRun bfs(RandomState& random, std::int64_t size) {
  const std::size_t n = to_size(size);
  std::vector<Wholes> drawn(n, Wholes(n)), edges = drawn;
  for (Wholes& row : drawn)
    for (std::int64_t& edge : row) edge = random.coin() ? 1 : 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) edges[i][j] = drawn[i][j] * drawn[j][i];
  const auto source = to_size(random.below(size));
  Wholes parent = numbered(size);
  std::vector<bool> reached(n);
  reached[source] = true;
  std::vector<std::string> states;
  for (bool more = true; more;) {
    const std::vector<bool> before = reached;
    states.push_back(list(parent));
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        if (edges[i][j] == 0 || !before[i]) continue;
        if (parent[j] == static_cast<std::int64_t>(j) && j != source) parent[j] = static_cast<std::int64_t>(i);
        reached[j] = true;
      }
    more = reached != before;
  }
  std::string matrix;
  for (const Wholes& row : edges) matrix += (matrix.empty() ? "" : ", ") + list(row);
  return plain(fmt::format("s: {}, A: [{}]", source, matrix), "pi", std::move(states), list(parent));
}

// Places in the order of their values.
std::vector<std::size_t> order_of(const Reals& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  return order;
}

// Places are taken or not, in an order: the first always, the others if fits(place) says so.
template <class Fits>
ClrsRun selection(std::string inputs, const std::vector<std::size_t>& order, const Fits& fits) {
  Wholes selected(order.size());
  std::vector<std::string> states = {list(selected)};
  for (const std::size_t place : order) {
    if (fits(place)) selected[place] = 1;
    states.push_back(list(selected));
  }
  return plain(std::move(inputs), "selected", std::move(states), list(selected));
}

ClrsRun activity_selector(RandomState& random, std::int64_t size) {
  const Reals one = reals(random, size, 0.0, 1.0), two = reals(random, size, 0.0, 1.0);
  Reals start(one.size()), finish(one.size());
  for (std::size_t i = 0; i < one.size(); ++i) start[i] = cut(std::min(one[i], two[i])), finish[i] = cut(std::max(one[i], two[i]));
  double free_from = -1.0;
  return selection(fmt::format("s: {}, f: {}", list(start), list(finish)), order_of(finish), [&](std::size_t place) {
    if (start[place] < free_from) return false;
    free_from = finish[place];
    return true;
  });
}

ClrsRun task_scheduling(RandomState& random, std::int64_t size) {
  Wholes deadline = letters(random, size, size);
  for (std::int64_t& one : deadline) ++one;
  const Reals weight = cut(reals(random, size, 0.0, 1.0));
  Reals negative = weight;
  for (double& one : negative) one = -one;
  std::int64_t done = 0;
  return selection(fmt::format("d: {}, w: {}", list(deadline), list(weight)), order_of(negative), [&](std::size_t place) {
    if (done >= deadline[place]) return false;
    ++done;
    return true;
  });
}

constexpr ClrsAlgorithm kAlgorithms[] = {
    {"activity_selector", 1, activity_selector},
    {"bfs", 1, bfs},
    {"binary_search", 1, binary_search},
    {"find_maximum_subarray_kadane", 1, find_maximum_subarray_kadane},
    {"insertion_sort", 1, insertion_sort},
    {"kmp_matcher", 3, kmp_matcher},
    {"minimum", 1, minimum},
    {"naive_string_matcher", 3, naive_string_matcher},
    {"task_scheduling", 1, task_scheduling},
};
constexpr std::string_view kNotMade[] = {
    "articulation_points", "bellman_ford",  "bridges",     "bubble_sort", "dag_shortest_paths", "dfs",
    "dijkstra",            "floyd_warshall", "graham_scan", "heapsort",    "jarvis_march",       "lcs_length",
    "matrix_chain_order",  "mst_kruskal",   "mst_prim",    "optimal_bst", "quickselect",        "quicksort",
    "segments_intersect",  "strongly_connected_components", "topological_sort"};

}  // namespace

const ClrsAlgorithm& clrs_algorithm(std::string_view name) {
  std::vector<std::string_view> known;
  for (const ClrsAlgorithm& algorithm : kAlgorithms) {
    if (algorithm.name == name) return algorithm;
    known.push_back(algorithm.name);
  }
  const bool of_clrs = std::find(std::begin(kNotMade), std::end(kNotMade), name) != std::end(kNotMade);
  throw RequestError(of_clrs ? ErrorCode::unsupported : ErrorCode::bad_argument,
                     fmt::format("{}: {} {}; there are {}", operand("task"), in_quotes(name),
                                 of_clrs ? "is part of CLRS-Text, but is not generated here" : "is not a task of CLRS-Text",
                                 fmt::join(known, ", ")));
}

ClrsExample clrs_example(const ClrsAlgorithm& algorithm, RandomState& random, std::int64_t size, Traces traces) {
  const ClrsRun run = algorithm.run(random, size);
  if (traces == Traces::without)
    return {fmt::format("{}:\n{}\n{}:\n", algorithm.name, run.inputs, run.names), run.result + "\n\n"};
  std::string middle;  // the last state is the result
  for (std::size_t i = 1; i + 1 < run.states.size(); ++i) middle += (i > 1 ? ", " : "") + run.states[i];
  return {fmt::format("{}:\n{}, initial_trace: {}\ntrace | {}:\n", algorithm.name, run.inputs, run.states.front(), run.traced_names),
          fmt::format("{} | {}\n\n", middle, run.traced_result)};
}

std::vector<std::string> clrs_tokens(std::string_view text) {
  const auto is_name = [](char c) { return std::islower(static_cast<unsigned char>(c)) || c == '_'; };
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || c == '.'; };
  std::vector<std::string> tokens;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + (text[at] == ' ' && at + 1 < text.size() ? 1 : 0);
    const char first = text[end];
    const bool negative = first == '-' && end + 1 < text.size() && is_digit(text[end + 1]);
    ++end;
    if (is_name(first))
      while (end < text.size() && is_name(text[end])) ++end;
    else if (is_digit(first) || negative)
      while (end < text.size() && is_digit(text[end])) ++end;
    tokens.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return tokens;
}

}  // namespace sharpmax::train
