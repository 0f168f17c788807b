// The demonstration: the same needle, the same scores, only more of them.
//
// Keys are Gaussian in 64 dimensions and the query has length sqrt(64), so that the scores q.k / sqrt(64)
// are N(0, 1). The needle is one more such key whose score is set to `gap`. It stands in the middle.
// Rows are nested: the keys among n are the first of those among more. Values mark the needle:
// feature 0 is 1 for the needle and 0 for all others, so the kernel's own output is its weight.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/threads.h"
#include "cli/attend.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/table.h"
#include "job/saved_results.h"
#include "report/report_files.h"
#include "sharpmax/attention.h"
#include "sharpmax/error.h"
#include "sharpmax/machine.h"

namespace sharpmax::cli {
namespace {

constexpr const char* kDemoSchema = "sharpmax.attend.demo/1";

struct DemoRow {
  std::string normalizer;
  std::int64_t n = 0;
  std::int64_t needle = 0;   // its key
  double needle_weight = 0;  // as used
  double peak_weight = 0;    // this and the rest as RowStatistics has them
  std::int64_t peak_key = -1;
  double entropy = 0;
  double effective_support = 0;
  std::int64_t support = 0;
  double mass = 0;
  double temperature = 0;
  double threshold = 0;

  // The part of all weight that is the needle's. Where it is the peak the statistics know it in double;
  // elsewhere the output does, in float.
  double needle_share() const noexcept {
    if (peak_key == needle) return peak_weight;
    return mass > 0 ? needle_weight / mass : 0.0;
  }
};

struct DemoSetting {
  double gap = 0;
  std::uint64_t seed = 0;
  std::int64_t features = 0;
};

// Schema sharpmax.attend.demo/1. Rows: every size of the first normalizer, then of the second, ...
Json demo_json(const std::vector<DemoRow>& rows, const DemoSetting& setting, const Provenance& provenance) {
  Json list = Json::array();
  for (const DemoRow& row : rows) {
    list.push_back({{"normalizer", row.normalizer},
                    {"n", row.n},
                    {"peak_weight", row.peak_weight},
                    {"peak_key", row.peak_key},
                    {"needle_key", row.needle},
                    {"needle_weight", row.needle_weight},
                    {"needle_share", row.needle_share()},
                    {"entropy", row.entropy},
                    {"effective_support", row.effective_support},
                    {"support", row.support},
                    {"mass", row.mass},
                    {"temperature", row.temperature},
                    {"threshold", row.threshold}});
  }
  return {{"schema", kDemoSchema},
          {"sharpmax", provenance.sharpmax},
          {"command", provenance.command},
          {"created", provenance.created},
          {"gap", setting.gap},
          {"seed", setting.seed},
          {"features", setting.features},
          {"rows", std::move(list)}};
}

constexpr std::int64_t kFeatures = 64;
constexpr std::int64_t kValueFeatures = 8;
constexpr std::int64_t kMostKeys = std::int64_t{1} << 24;  // 4 GiB of keys

std::vector<std::int64_t> sizes_of(const AttendOptions& options) {
  if (options.sizes.empty()) return {16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576};
  std::vector<std::int64_t> sizes = parse_integers(options.sizes, "--sizes");
  for (const std::int64_t n : sizes) {
    if (n < 1 || n > kMostKeys) {
      throw Error(ErrorCode::bad_argument, fmt::format("--sizes: {} keys; expected 1 to {}", n, kMostKeys));
    }
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

class Haystack {
 public:
  Haystack(std::int64_t most_keys, std::uint64_t seed, double gap)
      : query_(kFeatures),
        needle_(kFeatures),
        keys_(static_cast<std::size_t>(most_keys * kFeatures)),
        values_(static_cast<std::size_t>(most_keys * kValueFeatures), 0.0f) {
    fill_normal(CounterRandom(seed, 0), query_);
    fill_normal(CounterRandom(seed, 1), needle_);
    fill_normal(CounterRandom(seed, 2), keys_);
    const double length = std::sqrt(dot(query_, query_));
    for (float& q : query_) q = static_cast<float>(q * std::sqrt(static_cast<double>(kFeatures)) / length);
    // Only the part of the needle along the query is set.
    const double wanted = gap * std::sqrt(static_cast<double>(kFeatures));
    const double shift = (wanted - dot(query_, needle_)) / dot(query_, query_);
    for (std::size_t i = 0; i < needle_.size(); ++i)
      needle_[i] = static_cast<float>(needle_[i] + shift * query_[i]);
  }

  DemoRow attend_among(std::int64_t n, const AnyNormalizer& normalizer, int threads) {
    const std::int64_t needle = n / 2;
    float* key = keys_.data() + needle * kFeatures;
    float* value = values_.data() + needle * kValueFeatures;
    std::swap_ranges(needle_.begin(), needle_.end(), key);
    value[0] = 1.0f;
    const AttentionRequest request(TensorView<const float, 4>(query_.data(), {1, 1, 1, kFeatures}),
                                   TensorView<const float, 4>(keys_.data(), {1, 1, n, kFeatures}),
                                   TensorView<const float, 4>(values_.data(), {1, 1, n, kValueFeatures}));
    DemoRow row{.normalizer = normalizer.text(), .n = n, .needle = needle};
    const auto one = [](double& into) { return TensorView<double, 3>(&into, {1, 1, 1}); };
    RowStatistics statistics;
    statistics.entropy = one(row.entropy);
    statistics.peak_weight = one(row.peak_weight);
    statistics.effective_support = one(row.effective_support);
    statistics.mass = one(row.mass);
    statistics.temperature = one(row.temperature);
    statistics.threshold = one(row.threshold);
    statistics.peak_key = {&row.peak_key, {1, 1, 1}};
    statistics.support = {&row.support, {1, 1, 1}};
    float out[kValueFeatures] = {};
    attend(request, normalizer, TensorView<float, 4>(out, {1, 1, 1, kValueFeatures}), &statistics,
           {.threads = threads});
    row.needle_weight = out[0];
    value[0] = 0.0f;
    std::swap_ranges(needle_.begin(), needle_.end(), key);
    return row;
  }

 private:
  static void fill_normal(const CounterRandom& random, std::vector<float>& into) {
    constexpr std::int64_t kOfATask = 4096, kBetweenPauses = 64 * kOfATask;
    const auto blocks = static_cast<std::int64_t>(into.size() / 4);
    for (std::int64_t first = 0; first < blocks; first += kBetweenPauses) {
      pause();
      const std::int64_t last = std::min(blocks, first + kBetweenPauses);
      parallel_for(threads_for(0), (last - first + kOfATask - 1) / kOfATask, [&](std::int64_t task, int) {
        const std::int64_t begin = first + task * kOfATask;
        for (std::int64_t i = begin; i < std::min(last, begin + kOfATask); ++i) {
          const auto four = random.normals(static_cast<std::uint64_t>(i));
          std::copy(four.begin(), four.end(), into.begin() + 4 * i);
        }
      });
    }
  }
  static double dot(const std::vector<float>& a, const std::vector<float>& b) {
    double sum = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
    return sum;
  }

  std::vector<float> query_, needle_, keys_, values_;
};

}  // namespace

int run_demo(const AttendOptions& options, Call& call) {
  const std::vector<std::int64_t> sizes = sizes_of(options);
  const ReportFiles files = options.report();
  std::vector<AnyNormalizer> normalizers = parse_normalizers(options.normalizers);
  if (normalizers.empty()) {
    for (const NormalizerInfo& member : family()) normalizers.push_back(AnyNormalizer(member.name));
  }
  if (!std::isfinite(options.gap)) throw Error(ErrorCode::bad_argument, "--gap: expected a finite number");
  CallFiles written(options.overwrite);
  written.writes("--json", options.json, results_kind(kDemoSchema));
  declare_report_files(written, files);
  written.check();
  check_report_files(files);
  call.cannot_resume("the demonstration has no --resume, and its rows so far are lost");

  std::vector<DemoRow> rows;
  {
    Progress progress;
    progress.show(fmt::format("drawing {} keys ...", sizes.back()));
    Haystack haystack(sizes.back(), options.seed, options.gap);
    for (const AnyNormalizer& normalizer : normalizers) {
      for (const std::int64_t n : sizes) {
        progress.show(fmt::format("{} among {} ...", normalizer.text(), n));
        rows.push_back(haystack.attend_among(n, normalizer, options.threads));
      }
    }
  }
  const DemoSetting setting{.gap = options.gap, .seed = options.seed, .features = kFeatures};
  const Json results = demo_json(rows, setting, provenance_of(call.command(), ""));
  ConsoleListener listener(call);
  write_report_files(files, {&results, 1}, listener);
  if (!options.json.empty()) deliver(options.json, json_text(results));
  if (options.json == "-") return kOk;
  print(report_text({&results, 1}, colour_wanted()));
  print(closing("", "To see a trained head do this, and one that does not", "retrieve"));
  return kOk;
}

}  // namespace sharpmax::cli
