// The plan of attend_backward().
//
// Gradients of keys and values are sums over queries. A stripe is a run of blocks with sums of its
// own; how many stripes a head has depends on shape alone, and their sums are added in order, so
// the bits do not depend on the number of threads.

#include <algorithm>
#include <memory>
#include <vector>

#include "attention/plan/plan.h"
#include "attention/plan/workspace.h"
#include "base/threads.h"

namespace sharpmax {
namespace {

// Heads that should be in work at once; fewer heads are cut into stripes to make up for it.
constexpr std::size_t kWantedTasks = 8;

class ThreadBackward {
 public:
  ThreadBackward(const AttentionRequest& request, std::size_t rows, std::size_t tile_floats,
                 std::size_t longest) {
    const std::size_t feature = padded(request.query.shape[3]), value = padded(request.value.shape[3]);
    const auto room = [&](std::size_t floats) {
      buffers_.push_back(allocate_floats(floats));
      return buffers_.back().get();
    };
    view_.queries = room(rows * feature);
    view_.queries_by_row = room(rows * feature);
    view_.d_queries = room(rows * feature);
    view_.d_out = room(rows * value);
    view_.d_out_by_row = room(rows * value);
    view_.weights = room(tile_floats);
    view_.d_scores = room(tile_floats);
    if (request.soft_cap > 0.0) view_.slopes = room(tile_floats);
    view_.line = room(line_floats(request));
    workspace_ = std::make_unique<RowWorkspace>(longest);
    view_.rows = workspace_.get();
  }
  const BackwardScratch& view() const noexcept { return view_; }

 private:
  static std::size_t padded(std::int64_t features) {
    return round_up(static_cast<std::size_t>(features), tile_shape().keys);
  }
  std::vector<FloatBuffer> buffers_;
  std::unique_ptr<RowWorkspace> workspace_;
  BackwardScratch view_;
};

// The sums of one stripe.
class Stripe {
 public:
  Stripe(const BackwardJob& job, std::size_t padded_keys, const TileShape& tile) {
    const AttentionRequest& request = job.call->request;
    key_floats_ = padded_keys * round_up(static_cast<std::size_t>(request.key.shape[3]), tile.keys);
    value_floats_ = padded_keys * round_up(static_cast<std::size_t>(request.value.shape[3]), tile.keys);
    if (job.call->gradients.key.present()) keys_ = allocate_floats(key_floats_);
    if (job.call->gradients.value.present()) values_ = allocate_floats(value_floats_);
    parameters_.assign(job.parameters * static_cast<std::size_t>(request.query.shape[1]), 0.0);
  }
  void clear() {
    if (keys_) std::fill_n(keys_.get(), key_floats_, 0.0f);
    if (values_) std::fill_n(values_.get(), value_floats_, 0.0f);
    std::fill(parameters_.begin(), parameters_.end(), 0.0);
  }
  StripeSums sums() { return {keys_.get(), values_.get(), parameters_.data()}; }
  std::span<const double> parameters() const { return parameters_; }

 private:
  std::size_t key_floats_, value_floats_;
  FloatBuffer keys_, values_;
  std::vector<double> parameters_;
};

// Blocks of one kind of rows, the same for streaming and whole rows.
class BlockwiseBackward {
 public:
  BlockwiseBackward(const BackwardJob& job, std::span<const Item> items)
      : job_(job),
        call_(*job.call),
        items_(items),
        tile_(tile_shape()),
        group_(call_.request.query.shape[1] / call_.request.key.shape[1]),
        padded_(round_up(static_cast<std::size_t>(std::max<std::int64_t>(longest_of(call_.segments), 1)), tile_.keys)),
        alone_(items.size() >= kWantedTasks) {
    const std::size_t fitting = kWholeRowBytes / (2 * sizeof(float)) / padded_;
    rows_ =
        job.streaming ? kBlockRows : std::clamp(fitting / tile_.rows * tile_.rows, tile_.rows, kBlockRows);
    // A sum over heads or batches has one owner.
    threads_ = job.d_bias != nullptr ? 1 : call_.threads;
    parameters_.assign(items.size(), std::vector<double>(job.parameters * heads(), 0.0));
    const std::size_t panels = job_.streaming ? kBlockKeys / tile_.keys : padded_ / tile_.keys;
    const std::size_t tile_floats = panels * rows_ * tile_.keys;
    const auto threads = static_cast<std::size_t>(threads_);
    for (int t = 0; t < threads_; ++t) scratch_.emplace_back(call_.request, rows_, tile_floats, padded_);
    packed_.resize(alone_ ? threads : 1);
    for (PackedBuffers& packed : packed_) packed.allocate_for_backward(call_.request, padded_, tile_);
    const std::size_t stripes =
        alone_ ? threads : (kWantedTasks + items.size() - 1) / std::max<std::size_t>(items.size(), 1);
    for (std::size_t s = 0; s < stripes; ++s) stripes_.emplace_back(job_, padded_, tile_);
    for (Stripe& stripe : stripes_) sums_.push_back(stripe.sums());
  }

  void run() {
    if (alone_) {
      run_alone();
    } else {
      for (std::size_t i = 0; i < items_.size(); ++i) {
        for (const Segment& segment : items_[i].segments) run_striped(i, segment);
      }
    }
    if (job_.parameters > 0) write_parameters();
  }

 private:
  std::size_t heads() const { return static_cast<std::size_t>(call_.request.query.shape[1]); }

  void run_blocks(const PackedHead& head, const Blocks& blocks, std::size_t begin, std::size_t end,
                  const BackwardScratch& scratch, const StripeSums& sums) const {
    BlockRow rows[kBlockRows];
    for (std::size_t b = begin; b < end; ++b) {
      const std::size_t count = blocks.fill(b, rows);
      backward_block(job_, head, {rows, count}, scratch, sums);
    }
  }

  void add_parameters(std::size_t item, const Stripe& stripe) {
    for (std::size_t i = 0; i < parameters_[item].size(); ++i) parameters_[item][i] += stripe.parameters()[i];
  }

  void run_alone() {
    parallel_for(threads_, static_cast<std::int64_t>(items_.size()), [&](std::int64_t task, int thread) {
      const auto i = static_cast<std::size_t>(task), t = static_cast<std::size_t>(thread);
      for (const Segment& segment : items_[i].segments) {
        const PackedHead head = packed_[t].head(segment, items_[i].kv_head);
        pack_head(call_.request, head, job_.feature_map, 0, round_up(head.key_count, tile_.keys) / tile_.keys,
                  scratch_[t].view().line);
        stripes_[t].clear();
        const Blocks blocks(segment, items_[i].kv_head, group_, rows_, tile_.rows);
        run_blocks(head, blocks, 0, blocks.count(), scratch_[t].view(), sums_[t]);
        write_key_gradients(job_, head, {&sums_[t], 1}, 0, head.key_count);
        add_parameters(i, stripes_[t]);
      }
    });
  }

  void run_striped(std::size_t item, const Segment& segment) {
    const PackedHead head = packed_[0].head(segment, items_[item].kv_head);
    const std::size_t panels = round_up(head.key_count, tile_.keys) / tile_.keys;
    const Blocks blocks(segment, items_[item].kv_head, group_, rows_, tile_.rows);
    constexpr std::size_t kAtOnce = 8;
    const auto parts = static_cast<std::int64_t>((panels + kAtOnce - 1) / kAtOnce);
    parallel_for(threads_, parts, [&](std::int64_t part, int thread) {
      const std::size_t p = static_cast<std::size_t>(part) * kAtOnce;
      pack_head(call_.request, head, job_.feature_map, p, std::min(p + kAtOnce, panels),
                scratch_[static_cast<std::size_t>(thread)].view().line);
    });
    // Blocks go round the stripes, so that causal work is even.
    parallel_for(threads_, static_cast<std::int64_t>(stripes_.size()), [&](std::int64_t stripe, int thread) {
      const auto s = static_cast<std::size_t>(stripe);
      stripes_[s].clear();
      for (std::size_t b = s; b < blocks.count(); b += stripes_.size())
        run_blocks(head, blocks, b, b + 1, scratch_[static_cast<std::size_t>(thread)].view(), sums_[s]);
    });
    parallel_for(threads_, parts, [&](std::int64_t part, int) {
      const std::size_t p = static_cast<std::size_t>(part) * kAtOnce;
      write_key_gradients(job_, head, sums_, p * tile_.keys,
                          std::min((p + kAtOnce) * tile_.keys, head.key_count));
    });
    for (const Stripe& stripe : stripes_) add_parameters(item, stripe);
  }

  void write_parameters() {
    const TensorView<double, 2>& to = call_.gradients.parameters;
    for (std::size_t p = 0; p < job_.parameters; ++p) {
      for (std::size_t h = 0; h < heads(); ++h) {
        double sum = 0.0;
        for (const auto& item : parameters_) sum += item[p * heads() + h];
        to(p, h) = sum;
      }
    }
  }

  const BackwardJob& job_;
  const BackwardCall& call_;
  std::span<const Item> items_;
  TileShape tile_;
  std::int64_t group_;
  std::size_t padded_;
  bool alone_;  // each thread runs whole items, with one stripe; else all run one item, cut into stripes
  std::size_t rows_ = 0;
  int threads_ = 1;
  std::vector<ThreadBackward> scratch_;
  std::vector<PackedBuffers> packed_;
  std::vector<Stripe> stripes_;
  std::vector<StripeSums> sums_;  // of the stripes
  std::vector<std::vector<double>> parameters_;  // [item][parameter][query head]
};

void clear(const AnyMutableTensor<4>& view) {
  if (!view.present()) return;
  for (std::int64_t b = 0; b < view.shape[0]; ++b) {
    for (std::int64_t h = 0; h < view.shape[1]; ++h) {
      for (std::int64_t q = 0; q < view.shape[2]; ++q) {
        float* row =
            static_cast<float*>(view.data) + b * view.strides[0] + h * view.strides[1] + q * view.strides[2];
        std::fill_n(row, view.shape[3], 0.0f);
      }
    }
  }
}

void write_bias(const AnyMutableTensor<4>& to, std::span<const double> sums) {
  std::size_t at = 0;
  for (std::int64_t b = 0; b < to.shape[0]; ++b) {
    for (std::int64_t h = 0; h < to.shape[1]; ++h) {
      for (std::int64_t q = 0; q < to.shape[2]; ++q) {
        for (std::int64_t k = 0; k < to.shape[3]; ++k) {
          static_cast<float*>(
              to.data)[b * to.strides[0] + h * to.strides[1] + q * to.strides[2] + k * to.strides[3]] =
              static_cast<float>(sums[at++]);
        }
      }
    }
  }
}

// Below it z = beta e leaves the range of float, and a gradient by beta, which is made of z / beta, with it.
constexpr double kLeastStreamedTemperature = 0x1p-64;

// Rules whose weights follow from score, temperature and log-partition alone, and whose temperature
// stays small enough that beta * score keeps its digits.
bool can_stream(const BackwardCall& call) {
  const Saved& saved = call.saved;
  if (!saved.out.present() || !saved.log_partition.present() || !saved.temperature.present()) return false;
  const RuleMoves moves =
      call.gradients.parameters.present() ? call.normalizer.definition().moves : RuleMoves{};
  if (moves.alpha) return false;
  const std::int64_t longest = longest_of(call.segments) + 1;
  for (std::int64_t h = 0; h < call.request.query.shape[1]; ++h) {
    for (const std::int64_t keys : {std::int64_t{1}, longest}) {
      const Rule rule = rule_for(call.normalizer, h, keys);
      const bool plain = rule.kind == RuleKind::exponential || rule.kind == RuleKind::surveyed;
      if (!plain || rule.full_gradient) return false;
      // Temperatures go one way with the length; that of a lone key (0 under ssmax) does not count.
      if (moves.beta && keys > 1 && rule.beta < kLeastStreamedTemperature) return false;
    }
  }
  return true;
}

BackwardJob backward_job_of(const BackwardCall& call) {
  const bool linear = call.normalizer.definition().needs_queries_and_keys;
  return {.call = &call,
          .streaming = can_stream(call),
          .feature_map = linear,
          .scale = linear ? 1.0 : scale_of(call.request),
          .parameters = call.gradients.parameters.present() ? call.normalizer.parameters().size() : 0};
}

class BackwardPlan final : public Plan {
 public:
  explicit BackwardPlan(const BackwardCall& call)
      : call_(call), job_(backward_job_of(call)), items_(items_of(call.request, call.segments)) {
    if (call.gradients.bias.present()) {
      std::size_t count = 1;
      for (const std::int64_t extent : call.gradients.bias.shape) count *= static_cast<std::size_t>(extent);
      bias_.assign(std::max<std::size_t>(count, 1), 0.0);
      job_.d_bias = bias_.data();
    }
    if (items_.empty()) return;
    if (job_.feature_map && runs_by_state(call.request, call.segments, nullptr)) {
      linear_ = plan_linear_backward(call, items_);
    } else {
      blockwise_ = std::make_unique<BlockwiseBackward>(job_, items_);
    }
  }

  void run() override {
    const AttentionGradients& gradients = call_.gradients;
    // Blocks write every row of their segments; a running state adds to what is there.
    const AttentionRequest& request = call_.request;
    const bool covered =
        request.query_lengths.empty() && request.key_lengths.empty() && request.query_offsets.empty();
    if (linear_ != nullptr || !covered) {
      clear(gradients.query);
      clear(gradients.key);
      clear(gradients.value);
    }
    for (std::int64_t p = 0; gradients.parameters.present() && p < gradients.parameters.shape[0]; ++p) {
      for (std::int64_t h = 0; h < gradients.parameters.shape[1]; ++h) gradients.parameters(p, h) = 0.0;
    }
    if (linear_ != nullptr) linear_->run();
    if (blockwise_ != nullptr) blockwise_->run();
    if (gradients.bias.present()) write_bias(gradients.bias, bias_);
  }

 private:
  const BackwardCall& call_;
  BackwardJob job_;
  std::vector<Item> items_;
  std::vector<double> bias_;
  std::unique_ptr<BlockwiseBackward> blockwise_;
  std::unique_ptr<Plan> linear_;
};

}  // namespace

std::unique_ptr<Plan> plan_backward(const BackwardCall& call) {
  choose_target();
  return std::make_unique<BackwardPlan>(call);
}

}  // namespace sharpmax
