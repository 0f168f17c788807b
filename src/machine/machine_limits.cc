#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "machine/machine_limits.cc"
#include "machine/machine_limits.h"

#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// 12 chains: more than latency (4 cycles) times issue width (2 a cycle) of any current core, and
// few enough for 16 registers with the two factors. Returns operations done; `sink` keeps them alive.
double FmaChains(std::size_t steps, float* sink) {
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, 0.999f), term = hn::Set(d, 0.001f);
  auto a0 = hn::Set(d, 0.1f), a1 = hn::Set(d, 0.2f), a2 = hn::Set(d, 0.3f), a3 = hn::Set(d, 0.4f);
  auto a4 = hn::Set(d, 0.5f), a5 = hn::Set(d, 0.6f), a6 = hn::Set(d, 0.7f), a7 = hn::Set(d, 0.8f);
  auto a8 = hn::Set(d, 0.9f), a9 = hn::Set(d, 1.0f), a10 = hn::Set(d, 1.1f), a11 = hn::Set(d, 1.2f);
  for (std::size_t i = 0; i < steps; ++i) {
    a0 = hn::MulAdd(a0, factor, term), a1 = hn::MulAdd(a1, factor, term);
    a2 = hn::MulAdd(a2, factor, term), a3 = hn::MulAdd(a3, factor, term);
    a4 = hn::MulAdd(a4, factor, term), a5 = hn::MulAdd(a5, factor, term);
    a6 = hn::MulAdd(a6, factor, term), a7 = hn::MulAdd(a7, factor, term);
    a8 = hn::MulAdd(a8, factor, term), a9 = hn::MulAdd(a9, factor, term);
    a10 = hn::MulAdd(a10, factor, term), a11 = hn::MulAdd(a11, factor, term);
  }
  const auto low = hn::Add(hn::Add(hn::Add(a0, a1), hn::Add(a2, a3)), hn::Add(a4, a5));
  const auto high = hn::Add(hn::Add(hn::Add(a6, a7), hn::Add(a8, a9)), hn::Add(a10, a11));
  *sink += hn::GetLane(hn::SumOfLanes(d, hn::Add(low, high)));
  return 12.0 * 2.0 * static_cast<double>(hn::Lanes(d)) * static_cast<double>(steps);
}

// Four streams, a quarter of the part each, so that several prefetchers work in parallel.
void SumStreams(const float* part, std::size_t count, float* sink) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t quarter = count / 4 / (2 * lanes) * (2 * lanes);
  const float* p0 = part;
  const float* p1 = p0 + quarter;
  const float* p2 = p1 + quarter;
  const float* p3 = p2 + quarter;
  auto a0 = hn::Zero(d), a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0;
  for (std::size_t i = 0; i < quarter; i += 2 * lanes) {
    a0 = hn::Add(a0, hn::LoadU(d, p0 + i)), b0 = hn::Add(b0, hn::LoadU(d, p0 + i + lanes));
    a1 = hn::Add(a1, hn::LoadU(d, p1 + i)), b1 = hn::Add(b1, hn::LoadU(d, p1 + i + lanes));
    a2 = hn::Add(a2, hn::LoadU(d, p2 + i)), b2 = hn::Add(b2, hn::LoadU(d, p2 + i + lanes));
    a3 = hn::Add(a3, hn::LoadU(d, p3 + i)), b3 = hn::Add(b3, hn::LoadU(d, p3 + i + lanes));
  }
  const auto sum =
      hn::Add(hn::Add(hn::Add(a0, a1), hn::Add(a2, a3)), hn::Add(hn::Add(b0, b1), hn::Add(b2, b3)));
  *sink += hn::GetLane(hn::SumOfLanes(d, sum));
}

}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <numeric>
#include <string>

#include "base/threads.h"

namespace sharpmax {
namespace {

HWY_EXPORT(FmaChains);
HWY_EXPORT(SumStreams);

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::atomic<float> kept;  // so that no compiler finds the work useless

constexpr std::size_t kLeastBuffer = std::size_t{128} << 20;
constexpr std::size_t kMostBuffer = std::size_t{512} << 20;

std::size_t buffer_bytes_for_this_machine() {
  const long cache = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  const std::size_t wanted = cache > 0 ? 4 * static_cast<std::size_t>(cache) : kLeastBuffer;
  return std::clamp(wanted, kLeastBuffer, kMostBuffer);
}

}  // namespace

double measure_fma_peak(int threads, double seconds) {
  constexpr std::size_t kSteps = 100'000;
  double best = 0.0;
  const auto start = Clock::now();
  do {
    std::vector<double> operations(static_cast<std::size_t>(threads));
    const auto round = Clock::now();
    parallel_for(threads, threads, [&](std::int64_t task, int) {
      float sink = 0.0f;
      operations[static_cast<std::size_t>(task)] = HWY_DYNAMIC_DISPATCH(FmaChains)(kSteps, &sink);
      kept = sink;
    });
    best = std::max(best, std::accumulate(operations.begin(), operations.end(), 0.0) / seconds_since(round));
  } while (seconds_since(start) < seconds);
  return best;
}

ReadBandwidth::ReadBandwidth(int threads)
    : threads_(threads), buffer_(buffer_bytes_for_this_machine() / sizeof(float), 1.0f) {}

double ReadBandwidth::measure() {
  const std::size_t part = buffer_.size() / static_cast<std::size_t>(threads_);
  const auto start = Clock::now();
  parallel_for(threads_, threads_, [&](std::int64_t task, int) {
    float sink = 0.0f;
    HWY_DYNAMIC_DISPATCH(SumStreams)(buffer_.data() + static_cast<std::size_t>(task) * part, part, &sink);
    kept = sink;
  });
  const double seconds = seconds_since(start);
  return static_cast<double>(part * static_cast<std::size_t>(threads_) * sizeof(float)) / seconds;
}

std::vector<std::string> compiled_targets() {
  std::vector<std::string> names;
  for (int bit = 0; bit < 63; ++bit) {
    const auto target = static_cast<std::int64_t>(1) << bit;
    if ((HWY_TARGETS & target) != 0) names.emplace_back(hwy::TargetName(target));
  }
  return names;
}

namespace {

std::optional<std::uint64_t> number_in(const char* path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  if (file >> value) return value;
  return std::nullopt;  // not there, or "max"
}

std::optional<std::uint64_t> free_on_machine() {
  std::ifstream file("/proc/meminfo");
  for (std::string word; file >> word;) {
    std::uint64_t kilobytes = 0;
    if (word == "MemAvailable:" && file >> kilobytes) return kilobytes * 1024;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> free_in_group() {
  const auto limit = number_in("/sys/fs/cgroup/memory.max"),
             used = number_in("/sys/fs/cgroup/memory.current");
  if (!limit || !used) return std::nullopt;
  return *limit > *used ? *limit - *used : 0;
}

std::optional<std::uint64_t> free_addresses() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  const auto pages = number_in("/proc/self/statm");
  const std::uint64_t used = pages ? *pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
  return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

}  // namespace

std::optional<std::uint64_t> available_memory() {
  std::optional<std::uint64_t> least;
  for (const auto& bytes : {free_on_machine(), free_in_group(), free_addresses()})
    if (bytes) least = least ? std::min(*least, *bytes) : *bytes;
  return least;
}

}  // namespace sharpmax
#endif
