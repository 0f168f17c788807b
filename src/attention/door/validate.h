// What the doors ask of their arguments. Each function throws Error with one sentence that names
// the door, the argument, what was found and what was expected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sharpmax/attention.h"
#include "sharpmax/error.h"
#include "sharpmax/tensor.h"

namespace sharpmax {

// What attend() asks of its inputs alone.
void validate_request(const AttentionRequest& request, const AnyNormalizer& normalizer);

void validate_attend(const AttentionRequest& request, const AnyNormalizer& normalizer,
                     const AnyMutableTensor<4>& out, const RowStatistics* statistics, const Execution& execution);

void validate_attend_backward(const AttentionRequest& request, const AnyNormalizer& normalizer,
                              const AnyTensor<4>& d_out, const AttentionGradients& gradients, const Saved& saved,
                              const Execution& execution);

void validate_normalize(const AnyTensor<4>& scores, const AnyNormalizer& normalizer,
                        const AnyMutableTensor<4>& weights, const RowStatistics* statistics,
                        const Execution& execution);

void validate_normalize_backward(const AnyTensor<4>& scores, const AnyNormalizer& normalizer,
                                 const AnyTensor<4>& d_weights, const AnyMutableTensor<4>& d_scores,
                                 const TensorView<double, 2>& d_parameters, const Execution& execution);

// The checks that several doors share.

// Checks of one view, or of two, that know nothing of attention: sizes, data, strides, overlap.
// Each throws Error with one sentence: the door, the argument, what was found, what was expected.

// A view of any type and rank under the name its caller knows it by. It refers to the view.
struct NamedView {
  std::string_view door;
  std::string_view name;
  const void* data = nullptr;
  std::size_t element_size = 0;
  std::span<const std::int64_t> shape;
  std::span<const std::int64_t> strides;

  bool present() const noexcept { return data != nullptr; }
  std::int64_t elements() const noexcept;  // of a view whose sizes were checked
};

template <class T, std::size_t Rank>
NamedView named(std::string_view door, std::string_view name, const TensorView<T, Rank>& view) {
  return {door, name, view.data, sizeof(T), view.shape, view.strides};
}
template <class Void, std::size_t Rank>
NamedView named(std::string_view door, std::string_view name, const AnyView<Void, Rank>& view) {
  return {door, name, view.data, size_of(view.dtype), view.shape, view.strides};
}

std::string shape_text(std::span<const std::int64_t> shape);  // "[1, 8, 512, 64]"

// Sizes are not negative, no product of sizes or strides overflows, data is there (unless the view
// holds no element) and aligned to its element.
void check_memory(const NamedView& view);
void check_last_stride(const NamedView& view);            // 1
void check_last_stride_or_broadcast(const NamedView& view);  // 1 or 0
// Every stride positive, and no two indices the same element.
void check_writable(const NamedView& view);
void check_shape(const NamedView& view, std::span<const std::int64_t> wanted, std::string_view meaning);
// The two share no element. Slices of one packed array with equal strides may interleave; views of
// different strides must not even reach into each other.
void check_apart(const NamedView& output, const NamedView& other);
void check_all_apart(const std::vector<NamedView>& outputs, const std::vector<NamedView>& inputs);

// The parts that several doors check alike.
struct HeadCounts {
  std::int64_t batches = 0, heads = 0, queries = 0, keys = 0;
};

// Shapes, strides and gaps of whatever is asked for; every present view joins `outputs`.
void check_statistics(std::string_view door, const RowStatistics& statistics, const HeadCounts& counts,
                      std::vector<NamedView>& outputs);

// Queries, keys, values, mask, bias, lengths, documents, scale; every present view joins `inputs`.
void check_request(std::string_view door, const AttentionRequest& request, const AnyNormalizer& normalizer,
                   std::vector<NamedView>& inputs);

// [parameter, query_head]; joins `outputs` when present.
void check_parameter_gradients(std::string_view door, const TensorView<double, 2>& view,
                               const AnyNormalizer& normalizer, std::int64_t heads,
                               std::vector<NamedView>& outputs);

// An optional view without data is absent; one that claims elements all the same is a mistake.
bool is_there(const NamedView& view);

}  // namespace sharpmax
