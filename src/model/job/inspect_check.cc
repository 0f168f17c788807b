// Every weight, as the dequantiser gives it: is it a number?
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "base/threads.h"
#include "job/words.h"
#include "model/job/inspect_parts.h"
#include "model/tensor/stored_tensor.h"

namespace sharpmax::model {
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

std::int64_t elements_of(const StoredTensor& tensor) {
  return std::accumulate(tensor.shape.begin(), tensor.shape.end(), std::int64_t{1}, std::multiplies<>());
}

Findings look_at(const StoredTensor& tensor, std::int64_t from, std::int64_t count, float* values) {
  dequantize(tensor.type, tensor.bytes.data() + bytes_of(tensor.type, from), count, values);
  Findings found;
  for (std::int64_t i = 0; i < count; ++i) {
    if (std::isfinite(values[i])) continue;
    (std::isnan(values[i]) ? found.nan : found.infinite) += 1;
    if (found.first < 0) found.first = from + i;
  }
  return found;
}

Findings look_at(const StoredTensor& tensor, int threads) {
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

InspectResult::Check check_weights(const ModelFile& file, int threads, Listener& listener) {
  const auto tensors = tensors_of(file);
  const auto bytes = std::accumulate(tensors.begin(), tensors.end(), std::uint64_t{0},
                                     [](std::uint64_t sum, const auto& t) { return sum + t.bytes.size(); });
  const auto began = std::chrono::steady_clock::now();
  std::uint64_t done = 0;
  InspectResult::Check check{.tensors = static_cast<std::int64_t>(tensors.size()),
                             .not_checked = static_cast<std::int64_t>(foreign_tensors_of(file).size())};
  for (const StoredTensor& tensor : tensors) {
    const Findings found = look_at(tensor, threads_for(threads));
    if (found.first >= 0)
      check.bad.push_back({tensor.name, found.nan, found.infinite, elements_of(tensor), found.first});
    done += tensor.bytes.size();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
    listener.proceed("looking at every weight: " + share_left(static_cast<double>(done), static_cast<double>(bytes),
                                                                  seconds.count()));
  }
  listener.on_progress("");
  return check;
}

}  // namespace sharpmax::model
