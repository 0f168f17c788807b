// Every weight, as the dequantiser gives it: is it a number?
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/threads.h"
#include "cli/inspect.h"
#include "cli/table.h"
#include "model/tensor/stored_tensor.h"

namespace sharpmax::cli {
namespace {

// Elements that one task looks at: whole blocks of every type, and small enough to stay in the cache.
constexpr std::int64_t kPiece = 1 << 14;

struct Findings {
  std::int64_t nan = 0;
  std::int64_t infinite = 0;
  std::int64_t first = -1;  // element, counted through the tensor

  void add(const Findings& later) {
    nan += later.nan;
    infinite += later.infinite;
    if (first < 0) first = later.first;
  }
};

std::int64_t elements_of(const model::StoredTensor& tensor) {
  return std::accumulate(tensor.shape.begin(), tensor.shape.end(), std::int64_t{1}, std::multiplies<>());
}

Findings look_at(const model::StoredTensor& tensor, std::int64_t from, std::int64_t count, float* values) {
  model::dequantize(tensor.type, tensor.bytes.data() + model::bytes_of(tensor.type, from), count, values);
  Findings found;
  for (std::int64_t i = 0; i < count; ++i) {
    if (std::isfinite(values[i])) continue;
    (std::isnan(values[i]) ? found.nan : found.infinite) += 1;
    if (found.first < 0) found.first = from + i;
  }
  return found;
}

Findings look_at(const model::StoredTensor& tensor, int threads) {
  const std::int64_t elements = elements_of(tensor);
  const std::int64_t pieces = (elements + kPiece - 1) / kPiece;
  std::vector<Findings> of_piece(static_cast<std::size_t>(pieces));
  std::vector<float> scratch(static_cast<std::size_t>(threads * kPiece));
  parallel_for(threads, pieces, [&](std::int64_t piece, int thread) {
    const std::int64_t from = piece * kPiece;
    of_piece[static_cast<std::size_t>(piece)] =
        look_at(tensor, from, std::min(kPiece, elements - from), scratch.data() + thread * kPiece);
  });
  Findings all;
  for (const Findings& one : of_piece) all.add(one);
  return all;
}

}  // namespace

Json check_json(const model::ModelFile& file, int threads) {
  const auto tensors = model::tensors_of(file);
  const auto bytes = std::accumulate(tensors.begin(), tensors.end(), std::uint64_t{0},
                                     [](std::uint64_t sum, const auto& t) { return sum + t.bytes.size(); });
  Progress progress(Progress::Elsewhere::lines);
  const auto began = std::chrono::steady_clock::now();
  std::uint64_t done = 0;
  Json bad = Json::array();
  for (const model::StoredTensor& tensor : tensors) {
    const Findings found = look_at(tensor, threads_for(threads));
    if (found.first >= 0)
      bad.push_back({{"name", tensor.name},
                     {"nan", found.nan},
                     {"infinite", found.infinite},
                     {"elements", elements_of(tensor)},
                     {"first", found.first}});
    done += tensor.bytes.size();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
    const double share = static_cast<double>(done) / static_cast<double>(std::max<std::uint64_t>(bytes, 1));
    progress.show(fmt::format("looking at every weight: {:.0f} %, {} left", 100 * share,
                              duration(share > 0 ? seconds.count() * (1 - share) / share : std::nan(""))));
  }
  return {{"tensors", tensors.size()}, {"not_checked", model::foreign_tensors_of(file).size()}, {"bad", bad}};
}

}  // namespace sharpmax::cli
