// Products of stored weights with activations at the shapes of real models.
//
//   build/bench/bench_products --benchmark_filter=tokens:1/
//
// Few tokens walk through many copies of their matrix, so that weights come from memory as they do in a
// model; many tokens are bound by arithmetic, and one copy will do. Counters: weights a second (each is
// counted once a call, however many tokens share it), floating-point operations a second and their fraction
// of the FMA peak, bytes of weights a second. Threads: OMP_NUM_THREADS.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "machine/machine_limits.h"
#include "model/product/product.h"
#include "sharpmax/machine.h"

namespace sharpmax {
namespace {

using model::ProductTerm;
using model::ProductWorkspace;
using model::TensorType;
using model::WeightMatrix;

struct Shape {
  std::string name;
  std::vector<std::int64_t> outputs;  // of the matrices that share their activations
  std::int64_t inputs;
};

constexpr std::int64_t kFewTokens = 8;
constexpr std::int64_t kBeyondCaches = std::int64_t{128} << 20;

// Any bits are weights, but not any bits are scales: without the two upper bits and the third lowest of each
// byte, a float16 is finite and less than 1.
std::vector<std::byte> random_weights(std::int64_t bytes) {
  std::mt19937 engine(1);
  std::vector<std::byte> weights(static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i + 4 <= weights.size(); i += 4) {
    const std::uint32_t word = static_cast<std::uint32_t>(engine()) & 0x3b3b3b3bu;
    std::memcpy(weights.data() + i, &word, sizeof word);
  }
  return weights;
}

void product(benchmark::State& state, const Shape& shape, TensorType type, std::int64_t tokens) {
  std::int64_t rows = 0;
  for (const std::int64_t outputs : shape.outputs) rows += outputs;
  const std::int64_t bytes = model::bytes_of(type, rows * shape.inputs);
  const std::int64_t copies = tokens <= kFewTokens ? (kBeyondCaches + bytes - 1) / bytes : 1;
  const std::vector<std::byte> weights = random_weights(bytes * copies);
  const std::vector<float> in(static_cast<std::size_t>(tokens * shape.inputs), 0.5f);
  std::vector<float> out(static_cast<std::size_t>(tokens * rows));
  ProductWorkspace workspace(default_threads());
  std::int64_t copy = 0;
  for (auto _ : state) {
    std::vector<ProductTerm> terms;
    const std::byte* data = weights.data() + bytes * (copy++ % copies);
    std::int64_t column = 0;
    for (const std::int64_t outputs : shape.outputs) {
      terms.push_back({WeightMatrix{type, data, outputs, shape.inputs}, nullptr, out.data() + column, rows});
      data += model::bytes_of(type, outputs * shape.inputs);
      column += outputs;
    }
    model::multiply(terms, in.data(), shape.inputs, tokens, workspace);
    benchmark::ClobberMemory();
  }
  const auto calls = static_cast<double>(state.iterations());
  const double total = calls * static_cast<double>(rows * shape.inputs);
  const double flops = 2 * total * static_cast<double>(tokens);
  static const double peak = measure_fma_peak(default_threads(), 0.2);
  state.counters["Gweights/s"] = benchmark::Counter(total / 1e9, benchmark::Counter::kIsRate);
  state.counters["GFLOP/s"] = benchmark::Counter(flops / 1e9, benchmark::Counter::kIsRate);
  state.counters["of_fma_peak"] = benchmark::Counter(flops / peak, benchmark::Counter::kIsRate);
  state.counters["GB/s"] =
      benchmark::Counter(calls * static_cast<double>(bytes) / 1e9, benchmark::Counter::kIsRate);
}

void add(const Shape& shape, TensorType type, std::int64_t tokens) {
  const std::string name =
      shape.name + "/" + std::string(name_of(type)) + "/tokens:" + std::to_string(tokens) + "/";
  auto* made = benchmark::RegisterBenchmark(name.c_str(), product, shape, type, tokens);
  made->Unit(benchmark::kMicrosecond);
  // One thread: its own time, whatever else the machine does. More: the time that passes.
  if (default_threads() > 1) made->UseRealTime();
}

void register_all() {
  using enum TensorType;
  const std::vector<Shape> small = {{"query_key_value", {576, 192, 192}, 576},
                                    {"output", {576}, 576},
                                    {"gate_up", {1536, 1536}, 576},
                                    {"down", {576}, 1536}};
  for (const Shape& shape : small) {
    for (const std::int64_t tokens : {1, 2, 4, 8, 32, 64, 512}) add(shape, q4_1, tokens);
  }
  for (const std::int64_t tokens : {1, 4, 8, 512}) add({"vocabulary", {49152}, 576}, q8_0, tokens);
  for (const std::int64_t tokens : {1, 4, 8, 512}) {
    for (int type = 0; type < model::kTensorTypes; ++type) {
      add({"wide", {2048}, 2048}, static_cast<TensorType>(type), tokens);
    }
  }
  for (const TensorType type : {q4_k, f16}) {
    add({"gate_up_1b", {5632, 5632}, 2048}, type, 512);
    add({"down_8b", {4096}, 14336}, type, 512);
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
