// One row of scores on its way to becoming weights, as the kernels keep it.
//
// Rows live in scratch as score tiles lay them: runs ("chunks") of `lanes` floats, one chunk every
// `stride` floats. Key first_key + c * lanes + l is lane l of chunk c. Lanes without a key hold -inf.
// A plain contiguous row is the case stride == lanes. Vectors never straddle chunks: `lanes` is a
// multiple of the vector length of the instruction set in use.
#pragma once

#include <hwy/aligned_allocator.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

#include "normalizer/definition.h"
#include "sharpmax/survey.h"

namespace sharpmax {

struct ScoreRow {
  float* data = nullptr;
  std::size_t chunks = 0;
  std::size_t stride = 0;  // floats from one chunk to the next
  std::size_t lanes = 0;   // floats in a chunk
};

// Which by-products a row should leave. The kernels pay only for what is asked.
struct RowWishes {
  bool entropy = false;    // entropy
  bool peak = false;       // peak_weight
  bool peak_key = false;   // peak_key; peak too
  bool support = false;    // support
  bool spread = false;     // score_spread
  bool first = false;      // first_weight
  std::size_t top = 0;     // top_keys, top_weights: how many
  std::span<const double> gaps;  // gap_counts
};

// What is known of the row before it is resolved.
struct RowTask {
  const AnyNormalizer* normalizer = nullptr;
  std::size_t head = 0;
  std::int64_t first_key = 0;  // index of lane 0 of chunk 0
  std::int64_t keys = -1;      // unmasked keys (scores > -inf); -1: count them
};

// What one row leaves behind. Indices are keys (first_key added).
struct RowOutcome {
  float scale = 0.0f;  // weight = scale * what the row holds now; 0 for an empty row, NaN if poisoned
  Survey survey;       // of beta * score, under rules of RuleKind::exponential; its moment only with the entropy
  double mass = 0.0;   // sum of weights
  RowFacts facts;
  double entropy = 0.0;      // of w / sum w
  double peak_weight = 0.0;  // of w / sum w
  std::int64_t peak_key = -1;
  std::int64_t support = 0;
  double score_spread = 0.0;
  double first_weight = 0.0;  // of w / sum w
  // Where the caller wants them written (sizes as in RowWishes); null: not wanted.
  std::int64_t* top_keys = nullptr;
  double* top_weights = nullptr;
  std::int64_t* gap_counts = nullptr;
};

// In each instruction set's namespace (rows/resolve-inl.h, rows/backward-inl.h):
//
//   // Scores in, unnormalised weights out, in place. Lanes without a key end as exactly 0.
//   void ResolveRow(const RowTask&, const RowWishes&, const ScoreRow& row, RowWorkspace&, RowOutcome&);
//
//   // `scores` in, weights (scale already multiplied in) out; `d_weights` in, d_scores out, in
//   // place, same layout and stride. d_parameters += (may be empty: then not computed).
//   void BackwardRow(const RowTask&, const ScoreRow& scores, const ScoreRow& d_weights, RowWorkspace&,
//                    std::span<double> d_parameters);
//
// A RowWorkspace is per thread: buffers sized once, before any row runs, from the longest row
// (candidates of sparse maps, doubles for the specification). Nothing allocates afterwards.

// What one thread needs beside the row itself: buffers sized once, from the longest row.
//
// The memory is not touched until a rule asks for it, so the doubles of the specification cost
// address space, not memory, under every normalizer that has a kernel of its own.

struct RankedKey {
  float value;
  std::uint32_t index;  // within the row
};

struct RowWorkspace {
 public:
  // longest: floats in the longest row, lanes without a key included.
  explicit RowWorkspace(std::size_t longest)
      : capacity_(longest + kSlack),
        candidates_(hwy::AllocateAligned<float>(2 * capacity_)),
        ranked_(hwy::AllocateAligned<RankedKey>(2 * capacity_)),
        doubles_(hwy::AllocateAligned<double>(4 * capacity_)),
        group_(hwy::AllocateAligned<float>((kMostGroupRows + 1) * kMostCandidates + kSlack)) {
    if (candidates_ == nullptr || ranked_ == nullptr || doubles_ == nullptr || group_ == nullptr) throw std::bad_alloc();
  }

  std::size_t capacity() const noexcept { return capacity_; }

  // Room for every score of a row and one vector more.
  float* candidates() noexcept { return candidates_.get(); }
  // A copy of the scores, where the backward needs them after they have become weights.
  float* scores() noexcept { return candidates_.get() + capacity_; }

  // Candidates of rows that are searched together, [key][row], and those of one of them.
  static constexpr std::size_t kMostGroupRows = 16, kMostCandidates = 256;
  float* group_gaps() noexcept { return group_.get(); }
  float* group_line() noexcept { return group_.get() + kMostGroupRows * kMostCandidates; }

  RankedKey* ranked() noexcept { return ranked_.get(); }

  // Four rows in double, for the specification.
  std::span<double> exact(std::size_t which, std::size_t keys) noexcept {
    return {doubles_.get() + which * capacity_, keys};
  }

 private:
  static constexpr std::size_t kSlack = 128;  // two of the widest vectors Highway knows here

  std::size_t capacity_;
  hwy::AlignedFreeUniquePtr<float[]> candidates_;
  hwy::AlignedFreeUniquePtr<RankedKey[]> ranked_;
  hwy::AlignedFreeUniquePtr<double[]> doubles_;
  hwy::AlignedFreeUniquePtr<float[]> group_;
};

// Everything a kernel needs to weigh one row whose rule and maximum are known.
struct RowCall {
  const RowTask& task;
  const RowWishes& wishes;
  const ScoreRow& row;
  const Rule& rule;
  float max;        // the largest score, finite
  float few_above;  // scores that few, or some, of the keys exceed: rows/scan-inl.h
  float some_above;
  float least;  // of the unmasked scores, where gaps or spread are wanted
  double keys;  // unmasked
  RowWorkspace& workspace;
  RowOutcome& out;

  std::size_t size() const noexcept { return row.chunks * row.lanes; }
};

// What became of a row.
enum class Weighed {
  done,
  poisoned,  // a score was NaN
  not_here,  // untouched: only the specification can do it
};

// The row functions of the instruction set in use, for callers that are compiled once: plain rows,
// tests and benchmarks. The fused kernels include rows/resolve-inl.h instead.

// What ScoreRow::lanes must be a multiple of: floats in a vector.
std::size_t vector_lanes();

// As ResolveRow in row.h, for several rows in one call. Every row is handed to `sink` with its outcome, which is
// `outcome` with its arrays filled, before the next.
class RowSink {
 public:
  virtual void take(std::size_t row, const RowOutcome& outcome) = 0;

 protected:
  ~RowSink() = default;
};
void resolve_rows(std::span<const RowTask> tasks, const RowWishes& wishes, std::span<const ScoreRow> rows,
                  RowWorkspace& workspace, RowOutcome& outcome, RowSink& sink);
// As BackwardRow, for several rows in one call. d_parameters: [row][parameter], may be empty.
void backward_rows(std::span<const RowTask> tasks, std::span<const ScoreRow> scores,
                   std::span<const ScoreRow> d_weights, RowWorkspace& workspace, std::span<double> d_parameters);

// The same for one row.
void resolve_row(const RowTask& task, const RowWishes& wishes, const ScoreRow& row, RowWorkspace& workspace,
                 RowOutcome& outcome);
void backward_row(const RowTask& task, const ScoreRow& scores, const ScoreRow& d_weights,
                  RowWorkspace& workspace, std::span<double> d_parameters);

// exp(beta x) and ln(x) of every element, in place, as the rows compute them. Sizes are whole vectors.
void vector_exponential(std::span<float> values, double beta);
void vector_logarithm(std::span<float> values);
// c tanh(x / c) of every element, in place, and its slope.
void vector_soft_cap(std::span<float> values, std::span<float> slopes, double cap);

}  // namespace sharpmax
