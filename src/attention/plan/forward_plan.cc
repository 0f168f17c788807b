// The plan of attend(): which form for which call, and the rows that no form will touch.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "attention/plan/plan.h"
#include "attention/plan/workspace.h"

namespace sharpmax {

std::int64_t longest_of(std::span<const Segment> segments) {
  std::int64_t longest = 0;
  for (const Segment& segment : segments) longest = std::max(longest, segment.key_end - segment.key_begin);
  return longest;
}

bool is_decode(const AttentionRequest& request, std::span<const Segment> segments) {
  const std::int64_t group = request.query.shape[1] / request.key.shape[1];
  return std::all_of(segments.begin(), segments.end(), [&](const Segment& segment) {
    return (segment.query_end - segment.query_begin) * group <= static_cast<std::int64_t>(kDecodeRows);
  });
}

namespace {

// Queries that no segment holds are rows without keys: output 0, empty statistics.
class UncoveredRows {
 public:
  UncoveredRows(const ForwardCall& call, const RowWishes& wishes) : call_(call), wishes_(wishes), buffers_(wishes) {
    const bool all = call.request.query_offsets.empty() && call.request.query_lengths.empty();
    if (!all) covered_.resize(static_cast<std::size_t>(call.out.shape[2]));
  }

  void write() {
    empty_outcome(wishes_, buffers_.outcome);
    for (std::int64_t b = 0; !covered_.empty() && b < call_.out.shape[0]; ++b) {
      std::fill(covered_.begin(), covered_.end(), 0);
      for (const Segment& segment : call_.segments) {
        if (segment.batch != b) continue;
        std::fill(covered_.begin() + segment.query_begin, covered_.begin() + segment.query_end, 1);
      }
      for (std::int64_t q = 0; q < call_.out.shape[2]; ++q) {
        if (!covered_[static_cast<std::size_t>(q)]) write_query(b, q);
      }
    }
  }

 private:
  void write_query(std::int64_t batch, std::int64_t query) const {
    const AnyMutableTensor<4>& out = call_.out;
    for (std::int64_t h = 0; h < out.shape[1]; ++h) {
      auto* row = static_cast<std::uint8_t*>(out.data) +
                  (batch * out.strides[0] + h * out.strides[1] + query * out.strides[2]) *
                      static_cast<std::int64_t>(size_of(out.dtype));
      std::fill_n(row, static_cast<std::size_t>(out.shape[3]) * size_of(out.dtype), std::uint8_t{0});
      if (call_.statistics != nullptr) write_row(*call_.statistics, batch, h, query, buffers_.outcome);
    }
  }

  const ForwardCall& call_;
  const RowWishes& wishes_;
  OutcomeBuffers buffers_;
  std::vector<char> covered_;  // [query]; empty: all are
};

// Whether every row of every head, whatever its length, is an exponential known before its scores. A rule's
// kind changes at most once as rows grow (top_k from k keys on, a temperature that turns negative), so
// the shortest and the longest row tell.
bool is_exponential(const AnyNormalizer& normalizer, std::int64_t heads, std::int64_t longest) {
  for (std::int64_t h = 0; h < heads; ++h) {
    for (const std::int64_t keys : {std::int64_t{1}, std::max<std::int64_t>(longest, 1)}) {
      if (rule_for(normalizer, h, keys).kind != RuleKind::exponential) return false;
    }
  }
  return true;
}

ForwardJob job_of(const ForwardCall& call) {
  const bool linear = call.normalizer.definition().needs_queries_and_keys;
  return {.call = &call,
          .streaming = fits_streaming(call.statistics) &&
                       is_exponential(call.normalizer, call.request.query.shape[1], longest_of(call.segments)),
          .feature_map = linear,
          .scale = linear ? 1.0 : scale_of(call.request),
          .wishes = wishes_of(call.statistics)};
}

class ForwardPlan final : public Plan {
 public:
  explicit ForwardPlan(const ForwardCall& call)
      : call_(call), job_(job_of(call)), items_(items_of(call.request, call.segments)), uncovered_(call, job_.wishes) {
    if (items_.empty()) return;
    if (is_decode(call.request, call.segments)) {
      form_ = plan_decode(job_, items_);
    } else if (job_.feature_map && runs_by_state(call.request, call.segments, call.statistics)) {
      form_ = plan_linear(job_, items_);
    } else {
      form_ = plan_prefill(job_, items_);
    }
  }

  void run() override {
    uncovered_.write();
    if (call_.statistics != nullptr) clear_columns(*call_.statistics);
    if (form_ != nullptr) form_->run();
  }

 private:
  const ForwardCall& call_;
  ForwardJob job_;
  std::vector<Item> items_;
  UncoveredRows uncovered_;
  std::unique_ptr<Plan> form_;
};

}  // namespace

std::unique_ptr<Plan> plan_forward(const ForwardCall& call) {
  choose_target();
  return std::make_unique<ForwardPlan>(call);
}

}  // namespace sharpmax
