// What a row costs by itself: cycles of the time-stamp counter per score, for every kind of rule, forward
// and backward, at a few lengths. Rows are Gaussian with standard deviation 1 and lie in L1 or L2, in the
// tile layout of the fused kernels. Prints the least of several repetitions: the machine at its quietest.
//
//   bench_rows [normalizer ...]
#include <fmt/format.h>
#include <hwy/nanobenchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "attention/rows/row.h"
#include "base/random.h"
#include "sharpmax/machine.h"
#include "sharpmax/statistics.h"

namespace sharpmax {
namespace {

constexpr std::size_t kLengths[] = {512, 2048, 8192};
constexpr std::size_t kTileRows = 6;

struct Bench {
  explicit Bench(std::size_t keys)
      : lanes(2 * vector_lanes()),
        chunks(keys / lanes),
        scores(kTileRows * keys),
        work(scores),
        gradient(scores),
        d_weights(scores),
        workspace(keys) {
    const CounterRandom random(1, 0);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      scores[i] = static_cast<float>(random.normals(i / 4)[i % 4]);
      d_weights[i] = static_cast<float>(random.normals((scores.size() + i) / 4)[i % 4]);
    }
  }
  ScoreRow row(std::vector<float>& data, std::size_t r) {
    return {data.data() + r * lanes, chunks, kTileRows * lanes, lanes};
  }

  std::size_t lanes, chunks;
  std::vector<float> scores, work, gradient, d_weights;
  RowWorkspace workspace;
  std::int64_t top_keys[8];
  double top_weights[8];
  std::int64_t gap_counts[kGapOctaves.size()];
};

// Least seconds of one call of f, prepare() not counted.
template <class Prepare, class F>
double least_seconds(const Prepare& prepare, const F& f) {
  using Clock = std::chrono::steady_clock;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 200; ++i) {
    prepare();
    const auto start = Clock::now();
    f();
    least = std::min(least, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return least;
}

enum class What { forward, backward, all_statistics };

double cycles_per_score(const AnyNormalizer& normalizer, std::size_t keys, What what) {
  Bench bench(keys);
  const RowTask task{.normalizer = &normalizer, .keys = static_cast<std::int64_t>(keys)};
  const RowWishes wishes =
      what == What::all_statistics
          ? RowWishes{.entropy = true, .peak = true, .peak_key = true, .support = true, .top = 8, .gaps = kGapOctaves}
          : RowWishes{};
  const double seconds = least_seconds(
      [&] {
        bench.work = bench.scores;
        bench.gradient = bench.d_weights;
      },
      [&] {
        for (std::size_t r = 0; r < kTileRows; ++r) {
          RowOutcome out;
          out.top_keys = bench.top_keys;
          out.top_weights = bench.top_weights;
          out.gap_counts = bench.gap_counts;
          if (what == What::backward) {
            backward_row(task, bench.row(bench.work, r), bench.row(bench.gradient, r), bench.workspace, {});
          } else {
            resolve_row(task, wishes, bench.row(bench.work, r), bench.workspace, out);
          }
        }
      });
  return seconds * hwy::platform::InvariantTicksPerSecond() / static_cast<double>(kTileRows * keys);
}

void run(const std::vector<std::string>& names) {
  fmt::print("target {}; cycles per score: forward / with all statistics / backward\n{:28}", current_target(),
             "");
  for (const std::size_t keys : kLengths) fmt::print("{:>24}", fmt::format("n = {}", keys));
  fmt::print("\n");
  for (const std::string& name : names) {
    fmt::print("{:28}", name);
    const AnyNormalizer normalizer = AnyNormalizer::parse(name);
    for (const std::size_t keys : kLengths) {
      fmt::print("{:>24}",
                 fmt::format("{:.2f} / {:.2f} / {:.2f}", cycles_per_score(normalizer, keys, What::forward),
                             cycles_per_score(normalizer, keys, What::all_statistics),
                             cycles_per_score(normalizer, keys, What::backward)));
    }
    fmt::print("\n");
  }
}

}  // namespace
}  // namespace sharpmax

int main(int argc, char** argv) {
  std::vector<std::string> names(argv + 1, argv + argc);
  if (names.empty()) {
    names = {"softmax",
             "adaptive",
             "entropy_target:nats=0.5",
             "entropy_target:nats=2",
             "peak_target:weight=0.5",
             "sparsemax",
             "entmax15",
             "entmax:alpha=1.3",
             "top_k:k=8",
             "top_k:k=64",
             "hard",
             "sink",
             "sigmoid",
             "relu",
             "softpick",
             "self_adjust",
             "stick_breaking"};
  }
  sharpmax::run(names);
  return 0;
}
