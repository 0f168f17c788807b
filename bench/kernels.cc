// Our own kernels, for work on them: prefill, decode, backward and the family over the public API.
//
//   build/bench/bench_kernels --benchmark_filter=prefill
//
// Counters: GFLOP/s of useful work, and the fraction of the FMA peak or of the read bandwidth that was
// measured when the program started. Threads: OMP_NUM_THREADS.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "attention/oracle/elements.h"
#include "base/float16.h"
#include "machine/machine_limits.h"
#include "sharpmax/sharpmax.h"

namespace sharpmax {
namespace {

struct Shape {
  std::int64_t heads, queries, keys, features;
  std::int64_t kv_heads = heads;
  std::int64_t batches = 1;
};

std::vector<float> random_values(std::int64_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(engine);
  return values;
}

// Inputs, outputs and gradients of one attention, and the views that a request needs.
struct Workload {
  explicit Workload(const Shape& s, Causal causal = Causal::none)
      : shape(s),
        query(random_values(s.batches * s.heads * s.queries * s.features, 1)),
        key(random_values(s.batches * s.kv_heads * s.keys * s.features, 2)),
        value(random_values(s.batches * s.kv_heads * s.keys * s.features, 3)),
        d_out(random_values(s.batches * s.heads * s.queries * s.features, 4)),
        out(query.size()) {
    request.query = TensorView<const float, 4>(query.data(), query_extents());
    request.key = TensorView<const float, 4>(key.data(), key_extents());
    request.value = TensorView<const float, 4>(value.data(), key_extents());
    request.causal = causal;
  }
  Workload(const Workload&) = delete;

  Extents<4> query_extents() const { return {shape.batches, shape.heads, shape.queries, shape.features}; }
  Extents<4> key_extents() const { return {shape.batches, shape.kv_heads, shape.keys, shape.features}; }
  TensorView<float, 4> out_view() { return {out.data(), query_extents()}; }

  // Pairs of query and key that are not masked.
  double pairs() const {
    const auto n = static_cast<double>(shape.queries);
    const double seen =
        request.causal == Causal::none ? n * static_cast<double>(shape.keys) : n * (n + 1) / 2;
    return seen * static_cast<double>(shape.batches * shape.heads);
  }
  double flops(double products) const {
    return 2.0 * products * static_cast<double>(shape.features) * pairs();
  }
  double key_value_bytes() const { return static_cast<double>((key.size() + value.size()) * sizeof(float)); }

  Shape shape;
  std::vector<float> query, key, value, d_out, out;
  AttentionRequest request;
};

double fma_peak() {
  static const double peak = measure_fma_peak(default_threads(), 0.2);
  return peak;
}

double read_bandwidth() {
  static const double bandwidth = [] {
    ReadBandwidth buffer(default_threads());
    double best = 0.0;
    for (int pass = 0; pass < 5; ++pass) best = std::max(best, buffer.measure());
    return best;
  }();
  return bandwidth;
}

void count_flops(benchmark::State& state, double flops) {
  const double total = flops * static_cast<double>(state.iterations());
  state.counters["GFLOP/s"] = benchmark::Counter(total / 1e9, benchmark::Counter::kIsRate);
  state.counters["of_fma_peak"] = benchmark::Counter(total / fma_peak(), benchmark::Counter::kIsRate);
}

void count_bytes(benchmark::State& state, double bytes) {
  const double total = bytes * static_cast<double>(state.iterations());
  state.counters["of_read_bandwidth"] =
      benchmark::Counter(total / read_bandwidth(), benchmark::Counter::kIsRate);
}

void prefill(benchmark::State& state, const std::string& normalizer, Shape shape, Causal causal) {
  Workload work(shape, causal);
  const AnyNormalizer rule = AnyNormalizer::parse(normalizer);
  for (auto _ : state) attend(work.request, rule, work.out_view());
  count_flops(state, work.flops(2));
}

void decode(benchmark::State& state, const std::string& normalizer, Shape shape) {
  Workload work(shape);
  const AnyNormalizer rule = AnyNormalizer::parse(normalizer);
  for (auto _ : state) attend(work.request, rule, work.out_view());
  count_bytes(state, work.key_value_bytes());
}

// A cache of 16 bits under float32 queries.
template <class Half>
void decode_half(benchmark::State& state, Shape shape) {
  Workload work(shape);
  const auto rounded = [](const std::vector<float>& values) {
    std::vector<Half> halves;
    for (const float x : values) halves.push_back(from_double<Half>(x));
    return halves;
  };
  const std::vector<Half> key = rounded(work.key), value = rounded(work.value);
  work.request.key = TensorView<const Half, 4>(key.data(), work.key_extents());
  work.request.value = TensorView<const Half, 4>(value.data(), work.key_extents());
  for (auto _ : state) attend(work.request, Softmax{}, work.out_view());
  count_bytes(state, work.key_value_bytes() / 2);
}

enum class ParameterGradients { no, yes };

void backward(benchmark::State& state, const std::string& normalizer, Shape shape, Causal causal,
              ParameterGradients parameters) {
  Workload work(shape, causal);
  const AnyNormalizer rule = AnyNormalizer::parse(normalizer);
  const Extents<3> rows{shape.batches, shape.heads, shape.queries};
  std::vector<double> log_partition(static_cast<std::size_t>(shape.batches * shape.heads * shape.queries));
  std::vector<double> temperature(log_partition.size());
  RowStatistics statistics;
  statistics.log_partition = {log_partition.data(), rows};
  statistics.temperature = {temperature.data(), rows};
  attend(work.request, rule, work.out_view(), &statistics);

  const Saved saved{.out = TensorView<const float, 4>(work.out_view()),
                    .log_partition = statistics.log_partition,
                    .temperature = statistics.temperature};
  std::vector<float> d_query(work.query.size()), d_key(work.key.size()), d_value(work.value.size());
  AttentionGradients gradients;
  gradients.query = TensorView<float, 4>(d_query.data(), work.query_extents());
  gradients.key = TensorView<float, 4>(d_key.data(), work.key_extents());
  gradients.value = TensorView<float, 4>(d_value.data(), work.key_extents());
  const auto count = static_cast<std::int64_t>(rule.parameters().size());
  std::vector<double> d_parameters(static_cast<std::size_t>(count * shape.heads));
  if (parameters == ParameterGradients::yes)
    gradients.parameters = {d_parameters.data(), {count, shape.heads}};
  const TensorView<const float, 4> d_out(work.d_out.data(), work.query_extents());
  for (auto _ : state) attend_backward(work.request, rule, d_out, gradients, saved);
  count_flops(state, work.flops(5));
}

// One statistic of every row beside the output, or a few, or none: what watching costs.
void statistics(benchmark::State& state, const std::string& which, Shape shape) {
  Workload work(shape, Causal::bottom_right);
  const auto asked = [&](const char* name) {
    const bool watched =
        which == "watch" &&
        std::string("entropy peak_weight support gap_counts").find(name) != std::string::npos;
    return which == "all" || which == name || watched;
  };
  WantedStatistics wanted{.gap_counts = asked("gap_counts")};
  each_row_statistic([&](const auto& statistic) { wanted.*statistic.wish = asked(statistic.name()); });
  OwnedStatistics found(wanted, {1, shape.heads, shape.queries, shape.keys});
  const RowStatistics views = found.views();
  for (auto _ : state) attend(work.request, Softmax{}, work.out_view(), which == "none" ? nullptr : &views);
  count_flops(state, work.flops(2));
}

// Every member with its defaults over plain rows: what the rule itself costs, without products.
void rows(benchmark::State& state, const std::string& normalizer) {
  constexpr std::int64_t kRows = 64, kKeys = 4096;
  const std::vector<float> scores = random_values(kRows * kKeys, 5);
  std::vector<float> weights(scores.size());
  const Extents<4> extents{1, 1, kRows, kKeys};
  const AnyNormalizer rule = AnyNormalizer::parse(normalizer);
  for (auto _ : state) {
    normalize(TensorView<const float, 4>(scores.data(), extents), rule,
              TensorView<float, 4>(weights.data(), extents));
  }
  state.SetItemsProcessed(state.iterations() * kRows * kKeys);
}

constexpr std::int64_t heads_of(std::int64_t features) { return features == 64 ? 12 : 8; }

template <class Function, class... Arguments>
void add(const std::string& name, Function function, const Arguments&... arguments) {
  benchmark::RegisterBenchmark(name.c_str(), function, arguments...)
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

void register_shapes(const std::string& normalizer, std::int64_t features) {
  const std::string size = "/d" + std::to_string(features) + "/n";
  const std::int64_t heads = heads_of(features);
  for (const std::int64_t n : {512, 2048}) {
    const std::string tail = size + std::to_string(n);
    add("prefill/" + normalizer + tail, prefill, normalizer, Shape{heads, n, n, features}, Causal::none);
    add("prefill_causal/" + normalizer + tail, prefill, normalizer, Shape{heads, n, n, features},
        Causal::bottom_right);
    add("backward/" + normalizer + tail, backward, normalizer, Shape{heads, n, n, features}, Causal::none,
        ParameterGradients::no);
  }
  add("decode/" + normalizer + size + "16384", decode, normalizer, Shape{heads, 1, 16384, features});
}

void register_all() {
  for (const std::int64_t features : {64, 128}) {
    for (const char* normalizer : {"softmax", "adaptive", "entropy_target", "entmax15", "sparsemax"}) {
      register_shapes(normalizer, features);
    }
  }
  const Shape trained{heads_of(64), 2048, 2048, 64};
  for (const char* normalizer :
       {"softmax", "ssmax", "entropy_target:gradient=full", "peak_target:gradient=full", "entmax:alpha=1.3",
        "entmax", "entmax:alpha=2", "asentmax", "top_k", "sink", "sigmoid:b=-7"}) {
    for (const auto wanted : {ParameterGradients::no, ParameterGradients::yes}) {
      add((wanted == ParameterGradients::yes ? "learning/with/" : "learning/without/") +
              std::string(normalizer),
          backward, std::string(normalizer), trained, Causal::bottom_right, wanted);
    }
  }
  for (const char* which : {"none", "entropy", "peak_weight", "peak_key", "support", "effective_support",
                            "mass", "gap_counts", "first_weight", "score_spread", "watch", "all"}) {
    add("statistics/" + std::string(which), statistics, std::string(which), trained);
  }
  for (const std::int64_t n : {16384, 65536}) {
    const std::string tail = "/d128/n" + std::to_string(n);
    const Shape shape{heads_of(128), 1, n, 128};
    add("decode_cache/float32" + tail, decode, std::string("softmax"), shape);
    add("decode_cache/float16" + tail, decode_half<float16>, shape);
    add("decode_cache/bfloat16" + tail, decode_half<bfloat16>, shape);
  }
  // As small models are trained.
  for (const char* normalizer : {"softmax", "entropy_target", "entmax15"}) {
    for (const std::int64_t n : {32, 64, 128, 256}) {
      const Shape small{.heads = 4, .queries = n, .keys = n, .features = 32, .kv_heads = 4, .batches = 64};
      const std::string tail = std::string(normalizer) + "/n" + std::to_string(n);
      add("small/" + tail, prefill, std::string(normalizer), small, Causal::bottom_right);
      add("small_backward/" + tail, backward, std::string(normalizer), small, Causal::bottom_right,
          ParameterGradients::no);
    }
  }
  // Cost grows with n: four times as much from one to the next.
  for (const std::int64_t n : {1024, 4096, 16384, 65536}) {
    for (const Causal causal : {Causal::none, Causal::bottom_right}) {
      const std::string tail = (causal == Causal::none ? "/n" : "/causal/n") + std::to_string(n);
      const Shape shape{heads_of(64), n, n, 64};
      add("linear" + tail, prefill, std::string("linear"), shape, causal);
      add("linear_backward" + tail, backward, std::string("linear"), shape, causal, ParameterGradients::no);
    }
  }
  add("decode_grouped/softmax/d128/n16384", decode, std::string("softmax"), Shape{32, 1, 16384, 128, 8});
  for (const NormalizerInfo& member : family()) {
    if (!member.needs_queries_and_keys)
      add("rows/" + std::string(member.name), rows, std::string(member.name));
  }
}

}  // namespace
}  // namespace sharpmax

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  sharpmax::register_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
