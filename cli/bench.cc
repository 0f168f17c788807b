// `sharpmax bench`: how fast our kernels are here, beside what the machine allows.
//
// Outputs are checked first. Then rounds: in each, the machine's limits and every case run once, so that a
// disturbance falls on all of them; medians over rounds are reported.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "base/in_quotes.h"
#include "cli/attend.h"
#include "cli/bench.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/table.h"
#include "machine/machine_limits.h"
#include "sharpmax/error.h"
#include "sharpmax/machine.h"

namespace sharpmax::cli {
namespace {

constexpr const char* kSchema = "sharpmax.bench/1";

struct BenchOptions {
  std::string directions = "forward,decode";
  std::string keys = "512,2048", features = "64", threads = "1";
  std::int64_t heads = 12, kv_heads = 0;
  bool causal = false, overwrite = false;
  std::string json;
  std::vector<std::string> normalizers;
  int rounds = 7;
};

struct Limits {
  int threads = 1;
  std::vector<double> fma, bandwidth;  // one per round
  std::unique_ptr<ReadBandwidth> reader;
};

struct Timed {
  std::unique_ptr<BenchCase> subject;
  Limits* limits = nullptr;
  double error_over_bound = 0.0;
  std::vector<double> seconds;
};

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

std::vector<Direction> parse_directions(const std::string& text) {
  std::vector<Direction> directions;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string word = text.substr(at, end - at);
    const Direction all[] = {Direction::forward, Direction::backward, Direction::decode};
    const auto found =
        std::find_if(std::begin(all), std::end(all), [&](Direction d) { return name_of(d) == word; });
    if (found == std::end(all)) {
      throw Error(ErrorCode::bad_argument,
                  fmt::format("--directions: {} is unknown; it must be forward, backward or decode", in_quotes(word)));
    }
    directions.push_back(*found);
    at = end + 1;
  }
  return directions;
}

std::vector<std::int64_t> parse_sizes(const std::string& text, const char* flag, std::int64_t most) {
  const auto sizes = parse_integers(text, flag);
  for (const std::int64_t size : sizes) {
    if (size < 1 || size > most) {
      throw Error(ErrorCode::bad_argument, fmt::format("{}: found {}; expected 1 to {}", flag, size, most));
    }
  }
  return sizes;
}

class Bench {
 public:
  explicit Bench(const BenchOptions& options) : options_(options) {
    const auto texts = options.normalizers.empty()
                           ? std::vector<std::string>{"softmax", "adaptive", "entropy_target", "entmax15"}
                           : options.normalizers;
    const auto normalizers = parse_normalizers(texts);
    const std::int64_t kv_heads = options.kv_heads > 0 ? options.kv_heads : options.heads;
    if (options.heads < 1 || options.heads % kv_heads != 0) {
      throw Error(ErrorCode::bad_argument,
                  fmt::format("--kv-heads {} does not divide --heads {}", kv_heads, options.heads));
    }
    const auto directions = parse_directions(options.directions);
    const auto keys = parse_sizes(options.keys, "--keys", 1 << 24);
    const auto features = parse_sizes(options.features, "--features", 256);
    for (const std::int64_t threads : parse_sizes(options.threads, "--threads", 4096)) {
      Limits& limits = *limits_.emplace_back(std::make_unique<Limits>());
      limits.threads = static_cast<int>(threads);
      for (const Direction direction : directions) {
        for (const std::int64_t n : keys) {
          for (const std::int64_t d : features) {
            for (const AnyNormalizer& normalizer : normalizers) {
              const BenchShape shape{direction,     n, d, options.heads, kv_heads, options.causal,
                                     limits.threads};
              cases_.push_back({std::make_unique<BenchCase>(shape, normalizer), &limits, 0.0, {}});
            }
          }
        }
      }
    }
  }

  // False if an output is wrong; nothing is timed then.
  bool check() {
    Progress progress;
    bool right = true;
    for (Timed& timed : cases_) {
      progress.show(fmt::format("checking {} ...", words(timed)));
      timed.error_over_bound = timed.subject->error_over_bound();
      if (timed.error_over_bound <= 1.0) continue;
      right = false;
      progress.show("");
      narrate(
          fmt::format("sharpmax: {} differs from the oracle by {:.3g} times what float arithmetic explains",
                      words(timed), timed.error_over_bound));
    }
    return right;
  }

  void time() {
    Progress progress;
    for (auto& limits : limits_) limits->reader = std::make_unique<ReadBandwidth>(limits->threads);
    for (int round = 0; round < options_.rounds; ++round) {
      for (auto& limits : limits_) {
        constexpr double kPeakSeconds = 0.05;
        limits->fma.push_back(measure_fma_peak(limits->threads, kPeakSeconds));
        limits->bandwidth.push_back(limits->reader->measure());
      }
      for (Timed& timed : cases_) {
        progress.show(fmt::format("round {} of {}: {} ...", round + 1, options_.rounds, words(timed)));
        timed.seconds.push_back(seconds_of(*timed.subject));
      }
    }
  }

  void report() const {
    if (!options_.json.empty()) deliver(options_.json, json_text(results()));
    if (options_.json != "-") report_table();
  }

 private:
  static std::string words(const Timed& timed) {
    const BenchShape& shape = timed.subject->shape();
    return fmt::format("{} n={} d={} {}", name_of(shape.direction), shape.keys, shape.features,
                       timed.subject->normalizer().text());
  }

  // Short cases are repeated within a round, or the clock would be what is measured.
  static double seconds_of(BenchCase& subject) {
    constexpr double kLeastSeconds = 0.02;
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    int runs = 0;
    double seconds = 0.0;
    do {
      pause();
      subject.run();
      ++runs;
      seconds = std::chrono::duration<double>(Clock::now() - start).count();
    } while (seconds < kLeastSeconds);
    return seconds / runs;
  }

  Json results() const {
    Json machine = Json::array(), rows = Json::array();
    for (const auto& limits : limits_) {
      machine.push_back({{"threads", limits->threads},
                         {"fma_peak_flops", quantile(limits->fma, 0.5)},
                         {"read_bandwidth_bytes", quantile(limits->bandwidth, 0.5)}});
    }
    for (const Timed& timed : cases_) {
      const BenchShape& shape = timed.subject->shape();
      const double seconds = quantile(timed.seconds, 0.5);
      rows.push_back(
          {{"direction", name_of(shape.direction)},
           {"normalizer", timed.subject->normalizer().text()},
           {"keys", shape.keys},
           {"features", shape.features},
           {"heads", shape.heads},
           {"kv_heads", shape.kv_heads},
           {"causal", shape.causal},
           {"threads", shape.threads},
           {"seconds", seconds},
           {"seconds_lower_quartile", quantile(timed.seconds, 0.25)},
           {"seconds_upper_quartile", quantile(timed.seconds, 0.75)},
           {"flops", shape.operations() / seconds},
           {"fraction_of_fma_peak", shape.operations() / seconds / quantile(timed.limits->fma, 0.5)},
           {"fraction_of_read_bandwidth", shape.bytes() / seconds / quantile(timed.limits->bandwidth, 0.5)},
           {"error_over_bound", timed.error_over_bound}});
    }
    return Json{{"schema", kSchema},
                {"version", version()},
                {"target", current_target()},
                {"rounds", options_.rounds},
                {"machine", machine},
                {"rows", rows}};
  }

  void report_table() const {
    const bool colour = colour_wanted();
    std::string text;
    for (const auto& limits : limits_) {
      text += fmt::format("{}, {} thread{}: FMA peak {:.1f} GFLOP/s, read {:.1f} GB/s\n", current_target(),
                          limits->threads, limits->threads == 1 ? "" : "s", quantile(limits->fma, 0.5) / 1e9,
                          quantile(limits->bandwidth, 0.5) / 1e9);
    }
    text +=
        fmt::format("medians of {} rounds; {} query and {} key-value heads{}\n\n", options_.rounds,
                    options_.heads, cases_[0].subject->shape().kv_heads, options_.causal ? "; causal" : "");
    Table table({Align::left, Align::right, Align::right, Align::right, Align::left, Align::right,
                 Align::right, Align::right, Align::right, Align::right});
    std::vector<Cell> names;
    for (const char* name : {"", "n", "d", "thr", "normalizer", "ms", "spread", "GFLOP/s", "peak", "read"}) {
      names.push_back({name, Ink::bold});
    }
    table.add(std::move(names));
    for (const Timed& timed : cases_) table.add(cells_of(timed));
    print(text + table.text(colour));
  }

  static std::vector<Cell> cells_of(const Timed& timed) {
    const BenchShape& shape = timed.subject->shape();
    const double seconds = quantile(timed.seconds, 0.5);
    const double spread = (quantile(timed.seconds, 0.75) - quantile(timed.seconds, 0.25)) / seconds;
    const double flops = shape.operations() / seconds;
    const bool decode = shape.direction == Direction::decode;
    return {{name_of(shape.direction)},
            {short_count(shape.keys)},
            {fmt::format("{}", shape.features)},
            {fmt::format("{}", shape.threads)},
            {timed.subject->normalizer().text()},
            {short_number(1e3 * seconds)},
            {fmt::format("{:.0f}%", 100.0 * spread)},
            {fmt::format("{:.2f}", flops / 1e9)},
            {decode ? "" : fmt::format("{:.3f}", flops / quantile(timed.limits->fma, 0.5))},
            {decode ? fmt::format("{:.3f}", shape.bytes() / seconds / quantile(timed.limits->bandwidth, 0.5))
                    : ""}};
  }

  const BenchOptions& options_;
  std::vector<std::unique_ptr<Limits>> limits_;
  std::vector<Timed> cases_;
};

int run(const BenchOptions& options, Call& call) {
  CallFiles(options.overwrite).writes("--json", options.json, results_kind(kSchema)).check();
  call.cannot_resume("bench has no --resume, and its timings so far are lost");
  Bench bench(options);
  if (!bench.check()) return kCheckFailed;
  bench.time();
  bench.report();
  return kOk;
}

}  // namespace

Command add_bench(CLI::App& program) {
  CLI::App* words = program.add_subcommand(
      "bench",
      "Time the kernels on this machine. Compares outputs with a slow, exact computation, then times every case in "
      "interleaved rounds beside the machine's own limits: fused multiply-adds and reading memory.");
  words->footer(
      "peak: useful operations over the FMA peak measured in the same run.\n"
      "read: keys and values, read once, over the read bandwidth of the same run;\n"
      "above 1 if they fit into the caches.\n"
      "\n"
      "Examples:\n"
      "  sharpmax bench\n"
      "  sharpmax bench --directions decode --keys 16384 --heads 32 --kv-heads 8\n"
      "  sharpmax bench --directions forward,backward --causal \\\n"
      "      --threads 1,2 --json -");
  const auto o = std::make_shared<BenchOptions>();
  words->add_option("--directions", o->directions, "Directions: forward, backward, decode (default forward,decode)")
      ->option_text("WORDS");
  words->add_option("--keys", o->keys, "Numbers of keys (default 512,2048)")->option_text("N,N...");
  words->add_option("--features", o->features, "Head sizes (default 64)")->option_text("N,N...");
  words->add_option("--heads", o->heads, "Query heads (default 12)")
      ->option_text("N")
      ->check(CLI::Range(1, 4096));
  words->add_option("--kv-heads", o->kv_heads, "Key-value heads (default as many)")
      ->option_text("N")
      ->check(CLI::Range(1, 4096));
  words->add_flag("--causal", o->causal, "Hide keys after the query's own");
  words
      ->add_option("--normalizer", o->normalizers,
                   "Normalizer to time; repeatable (default softmax, adaptive, "
                   "entropy_target, entmax15)")
      ->option_text("TEXT")
      ->allow_extra_args(false);
  words->add_option("--threads", o->threads, "Numbers of threads (default 1)")->option_text("N,N...");
  words->add_option("--rounds", o->rounds, "Number of rounds (default 7)")
      ->option_text("N")
      ->check(CLI::Range(1, 1000));
  add_json_option(*words, o->json, kSchema, "Results");
  add_overwrite_option(*words, o->overwrite, "Results");
  mark_common(*words, {"--directions", "--keys", "--features", "--heads", "--kv-heads", "--causal", "--normalizer", "--threads",
                       "--rounds", "--json"});
  return {words, [o](Call& call) { return run(*o, call); }};
}

}  // namespace sharpmax::cli
