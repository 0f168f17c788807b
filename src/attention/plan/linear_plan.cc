// `linear` by running state: a head of a segment is one task, so every sum has one order.
#include <algorithm>
#include <memory>
#include <vector>

#include "attention/plan/plan.h"
#include "attention/plan/workspace.h"
#include "attention/tiles/linear.h"
#include "base/threads.h"

namespace sharpmax {

bool runs_by_state(const AttentionRequest& request, std::span<const Segment> segments,
                   const RowStatistics* statistics) {
  if (is_decode(request, segments) || request.mask.present() || request.bias.present()) return false;
  const bool windowed = std::any_of(segments.begin(), segments.end(),
                                    [](const Segment& segment) { return segment.left >= 0 || segment.right > 0; });
  if (windowed || !fits_streaming(statistics)) return false;
  return statistics == nullptr ||
         (!statistics->entropy.present() && !statistics->effective_support.present() &&
          !statistics->peak_weight.present() && !statistics->peak_key.present());
}

namespace {

// Hands the buffers of a scratch out of `memory`, or counts their floats if there is none.
struct LinearBuffers {
  float* memory = nullptr;
  std::size_t used = 0;

  float* take(std::size_t floats) {
    constexpr std::size_t kAlignment = 32;  // 128 bytes
    float* const at = memory == nullptr ? nullptr : memory + used;
    used += round_up(floats, kAlignment);
    return at;
  }
};

LinearScratch laid_out(const AttentionRequest& request, std::size_t rows, LinearBuffers& buffers) {
  const std::size_t d = decode_padded(static_cast<std::size_t>(request.query.shape[3]));
  const std::size_t v = decode_padded(static_cast<std::size_t>(request.value.shape[3]));
  constexpr std::size_t c = kLinearChunk;
  LinearScratch scratch;
  scratch.keys = buffers.take(c * d);
  scratch.keys_turned = buffers.take(d * c);
  scratch.values = buffers.take(c * v);
  scratch.queries = buffers.take(c * d);
  scratch.scores = buffers.take(c * c);
  scratch.out = buffers.take(c * v);
  scratch.state = buffers.take(d * v);
  scratch.mass = buffers.take(d);
  if (rows == 0) return scratch;
  scratch.values_turned = buffers.take(v * c);
  scratch.d_out = buffers.take(c * v);
  scratch.d_scores = buffers.take(c * c);
  scratch.d_queries = buffers.take(c * d);
  scratch.d_keys = buffers.take(c * d);
  scratch.d_values = buffers.take(c * v);
  scratch.state_turned = buffers.take(v * d);
  scratch.row_scales = buffers.take(rows);
  scratch.row_means = buffers.take(rows);
  return scratch;
}

// The scratch of every thread.
class LinearMemory {
 public:
  LinearMemory(const AttentionRequest& request, std::size_t rows, int threads) {
    LinearBuffers counted;
    laid_out(request, rows, counted);
    for (int t = 0; t < threads; ++t) {
      memory_.push_back(allocate_floats(counted.used));
      LinearBuffers buffers{.memory = memory_.back().get()};
      scratch_.push_back(laid_out(request, rows, buffers));
    }
  }
  const LinearScratch& of(int thread) const { return scratch_[static_cast<std::size_t>(thread)]; }

 private:
  std::vector<FloatBuffer> memory_;
  std::vector<LinearScratch> scratch_;
};

std::vector<LinearItem> linear_items(std::span<const Item> items) {
  std::vector<LinearItem> all;
  for (const Item& item : items) {
    for (const Segment& segment : item.segments) all.push_back({&segment, item.kv_head});
  }
  return all;
}

class LinearPlan final : public Plan {
 public:
  LinearPlan(const ForwardJob& job, std::span<const Item> items)
      : job_(job), items_(linear_items(items)), memory_(job.call->request, 0, job.call->threads) {
    for (int t = 0; t < job.call->threads; ++t) outcomes_.emplace_back(job.wishes);
  }
  void run() override {
    parallel_for(job_.call->threads, static_cast<std::int64_t>(items_.size()), [&](std::int64_t i, int thread) {
      linear_forward(job_, items_[static_cast<std::size_t>(i)], memory_.of(thread),
                     outcomes_[static_cast<std::size_t>(thread)].outcome);
    });
  }

 private:
  const ForwardJob& job_;
  std::vector<LinearItem> items_;
  LinearMemory memory_;
  std::vector<OutcomeBuffers> outcomes_;
};

// Rows of the largest item: queries of a segment under all query heads of a kv head.
std::size_t most_rows(const BackwardCall& call) {
  std::int64_t most = 1;
  for (const Segment& segment : call.segments) most = std::max(most, segment.query_end - segment.query_begin);
  return static_cast<std::size_t>(most * (call.request.query.shape[1] / call.request.key.shape[1]));
}

class LinearBackwardPlan final : public Plan {
 public:
  LinearBackwardPlan(const BackwardCall& call, std::span<const Item> items)
      : call_(call), items_(linear_items(items)), memory_(call.request, most_rows(call), call.threads) {}
  void run() override {
    parallel_for(call_.threads, static_cast<std::int64_t>(items_.size()), [&](std::int64_t i, int thread) {
      linear_backward(call_, items_[static_cast<std::size_t>(i)], memory_.of(thread));
    });
  }

 private:
  const BackwardCall& call_;
  std::vector<LinearItem> items_;
  LinearMemory memory_;
};

}  // namespace

std::unique_ptr<Plan> plan_linear(const ForwardJob& job, std::span<const Item> items) {
  return std::make_unique<LinearPlan>(job, items);
}

std::unique_ptr<Plan> plan_linear_backward(const BackwardCall& call, std::span<const Item> items) {
  return std::make_unique<LinearBackwardPlan>(call, items);
}

}  // namespace sharpmax
