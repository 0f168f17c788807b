#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <numeric>

#include "attention/door/validate.h"
#include "normalizer/definition.h"

namespace sharpmax {
namespace {

constexpr std::int64_t kMostFeatures = 256;

class RequestCheck {
 public:
  RequestCheck(std::string_view door, const AttentionRequest& request, const AnyNormalizer& normalizer,
               std::vector<NamedView>& inputs)
      : door_(door), request_(request), normalizer_(normalizer), inputs_(inputs) {}

  void run() {
    for (const auto& [name, view] :
         {std::pair<std::string_view, const AnyTensor<4>&>("query", request_.query),
          {"key", request_.key},
          {"value", request_.value}}) {
      const NamedView input = named(door_, name, view);
      check_memory(input);
      check_last_stride(input);
      inputs_.push_back(input);
    }
    types();
    heads();
    features();
    mask_and_bias();
    lengths("key_lengths", request_.key_lengths, request_.key.shape[2], "keys");
    lengths("query_lengths", request_.query_lengths, request_.query.shape[2], "queries");
    documents();
    rule();
  }

 private:
  template <class... Args>
  [[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> text, Args&&... args) const {
    throw Error(code, fmt::format("{}: {}", door_, fmt::format(text, std::forward<Args>(args)...)));
  }
  template <class... Args>
  void want(bool condition, fmt::format_string<Args...> text, Args&&... args) const {
    if (!condition) fail(ErrorCode::bad_argument, text, std::forward<Args>(args)...);
  }

  void types() const {
    const DType query = request_.query.dtype, key = request_.key.dtype;
    const bool half_cache = query == DType::float32 && size_of(key) == 2;
    want((key == query || half_cache) && request_.value.dtype == key,
         "queries are {}, keys {} and values {}; they must agree, or the queries be float32 and the others "
         "of one "
         "16-bit type",
         name_of(query), name_of(key), name_of(request_.value.dtype));
  }

  void heads() const {
    const Extents<4>&q = request_.query.shape, &k = request_.key.shape, &v = request_.value.shape;
    want(k[0] == q[0], "keys have {} batch entries, queries have {}; they must agree", k[0], q[0]);
    want(v[0] == k[0], "values have {} batch entries, keys have {}; they must agree", v[0], k[0]);
    want(q[1] > 0, "queries have 0 heads; expected at least 1");
    want(k[1] > 0, "keys have 0 heads; expected at least 1");
    want(v[1] == k[1], "values have {} heads, keys have {}; they must agree", v[1], k[1]);
    want(q[1] % k[1] == 0, "keys have {} heads, queries have {}; the former must divide the latter", k[1],
         q[1]);
    want(v[2] == k[2], "there are {} values for {} keys; expected one each", v[2], k[2]);
  }

  void features() const {
    const std::int64_t q = request_.query.shape[3], k = request_.key.shape[3], v = request_.value.shape[3];
    want(k == q, "keys have {} features, queries have {}; they must agree", k, q);
    want(q > 0, "queries have 0 features; expected 1 to {}", kMostFeatures);
    want(v > 0, "values have 0 features; expected 1 to {}", kMostFeatures);
    if (q > kMostFeatures) {
      fail(ErrorCode::unsupported, "queries have {} features; heads of up to {} are supported", q,
           kMostFeatures);
    }
    if (v > kMostFeatures) {
      fail(ErrorCode::unsupported, "values have {} features; heads of up to {} are supported", v,
           kMostFeatures);
    }
  }

  void broadcastable(const NamedView& view) {
    check_memory(view);
    const Extents<4> whole = {request_.query.shape[0], request_.query.shape[1], request_.query.shape[2],
                              request_.key.shape[2]};
    for (std::size_t i = 0; i < 4; ++i) {
      want(view.shape[i] == 1 || view.shape[i] == whole[i],
           "{} has shape {}; expected {} or 1 in each place (batch, query head, query, key)", view.name,
           shape_text(view.shape), shape_text(whole));
    }
    check_last_stride_or_broadcast(view);
    inputs_.push_back(view);
  }

  void mask_and_bias() {
    const NamedView mask = named(door_, "mask", request_.mask);
    if (is_there(mask)) broadcastable(mask);
    const NamedView bias = named(door_, "bias", request_.bias);
    if (!is_there(bias)) return;
    const DType type = request_.bias.dtype;
    want(type == DType::float32 || type == request_.query.dtype,
         "bias is {}; expected float32 or the inputs' {}", name_of(type), name_of(request_.query.dtype));
    broadcastable(bias);
  }

  void lengths(std::string_view name, std::span<const std::int64_t> given, std::int64_t most,
               std::string_view what) const {
    if (given.empty()) return;
    want(static_cast<std::int64_t>(given.size()) == request_.query.shape[0],
         "{} holds {} lengths for {} batch entries; expected one each", name, given.size(),
         request_.query.shape[0]);
    for (std::size_t i = 0; i < given.size(); ++i) {
      want(0 <= given[i] && given[i] <= most, "{}[{}] is {}; there are {} {}", name, i, given[i], most, what);
    }
  }

  void offsets(std::string_view name, std::span<const std::int64_t> given, std::int64_t most,
               std::string_view what) const {
    want(given[0] == 0, "{} starts at {}; the first document starts at 0", name, given[0]);
    for (std::size_t i = 1; i < given.size(); ++i) {
      want(given[i - 1] <= given[i], "{}[{}] is {} after {}; offsets must ascend", name, i, given[i],
           given[i - 1]);
    }
    want(given.back() <= most, "{} ends at {}; there are {} {}", name, given.back(), most, what);
  }

  void documents() const {
    const std::size_t q = request_.query_offsets.size(), k = request_.key_offsets.size();
    if (q == 0 && k == 0) return;
    want(q == k, "query_offsets holds {} offsets and key_offsets {}; documents need as many of each", q, k);
    want(request_.key_lengths.empty() && request_.query_lengths.empty(),
         "lengths and document offsets were both given; expected one or the other");
    offsets("query_offsets", request_.query_offsets, request_.query.shape[2], "queries");
    offsets("key_offsets", request_.key_offsets, request_.key.shape[2], "keys");
  }

  void rule() const {
    if (request_.scale)
      want(std::isfinite(*request_.scale), "scale is {}; expected a finite number", *request_.scale);
    want(std::isfinite(request_.soft_cap) && request_.soft_cap >= 0.0,
         "soft_cap is {}; expected a finite number from 0 on (0: none)", request_.soft_cap);
    check_heads(normalizer_, request_.query.shape[1], door_);
    if (!normalizer_.definition().needs_queries_and_keys) return;
    if (request_.bias.present()) {
      fail(ErrorCode::unsupported, "{} has no scores to add a bias to", normalizer_.name());
    }
    if (request_.scale) fail(ErrorCode::unsupported, "{} has no scores to scale", normalizer_.name());
    if (request_.soft_cap != 0.0) fail(ErrorCode::unsupported, "{} has no scores to cap", normalizer_.name());
  }

  std::string_view door_;
  const AttentionRequest& request_;
  const AnyNormalizer& normalizer_;
  std::vector<NamedView>& inputs_;
};

}  // namespace

void check_request(std::string_view door, const AttentionRequest& request, const AnyNormalizer& normalizer,
                   std::vector<NamedView>& inputs) {
  RequestCheck(door, request, normalizer, inputs).run();
}

namespace {

// Bytes a view may reach over. Half the address space: differences of addresses stay in range too.
constexpr std::int64_t kMostBytes = std::numeric_limits<std::int64_t>::max() / 4;

[[noreturn]] void fail(const NamedView& view, const std::string& what) {
  throw Error(ErrorCode::bad_argument, fmt::format("{}: {} {}", view.door, view.name, what));
}

// a * b if both are non-negative and the product is at most kMostBytes; else -1.
std::int64_t small_product(std::int64_t a, std::int64_t b) {
  if (a < 0 || b < 0) return -1;
  return a != 0 && b > kMostBytes / a ? -1 : a * b;
}

struct Reach {  // bytes from data: [begin, end)
  std::int64_t begin = 0, end = 0;
};

Reach reach_of(const NamedView& view) {
  Reach reach{0, static_cast<std::int64_t>(view.element_size)};
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    const std::int64_t span =
        (view.shape[i] - 1) * view.strides[i] * static_cast<std::int64_t>(view.element_size);
    (span < 0 ? reach.begin : reach.end) += span;
  }
  return reach;
}

constexpr std::size_t kMostDimensions = 4;

// One dimension of two views with equal strides: what their indices may differ by.
struct Steps {
  std::int64_t stride = 0;
  std::int64_t least = 0, most = 0;
};

// Dimensions in which either has more than one element, the widest stride first.
struct Nesting {
  std::array<Steps, kMostDimensions> steps{};
  std::size_t size = 0;
};

Nesting nesting_of(const NamedView& mine, const NamedView& its) {
  Nesting nesting;
  for (std::size_t i = 0; i < mine.shape.size(); ++i) {
    if (mine.shape[i] <= 1 && its.shape[i] <= 1) continue;
    std::size_t place = nesting.size++;
    for (; place > 0 && nesting.steps[place - 1].stride < mine.strides[i]; --place) {
      nesting.steps[place] = nesting.steps[place - 1];
    }
    nesting.steps[place] = {mine.strides[i], 1 - its.shape[i], mine.shape[i] - 1};
  }
  return nesting;
}

// Every stride is positive and wider than all that the dimensions within it can reach.
bool is_nested(const Nesting& nesting) {
  std::int64_t inner = 0;
  for (std::size_t i = nesting.size; i-- > 0;) {
    const Steps& s = nesting.steps[i];
    if (s.stride <= inner) return false;
    inner += s.stride * std::max(s.most, -s.least);
  }
  return true;
}

// Do some differences of indices add up to `distance` elements? Of a nested layout at most two
// differences can be right in each dimension.
bool reachable(const Nesting& nesting, std::size_t at, std::int64_t distance) {
  if (at == nesting.size) return distance == 0;
  const auto [stride, least, most] = nesting.steps[at];
  const std::int64_t low = distance / stride - (distance % stride < 0);
  for (const std::int64_t step : {low, low + 1}) {
    if (least <= step && step <= most && reachable(nesting, at + 1, distance - step * stride)) return true;
  }
  return false;
}

bool interleaves_without_sharing(const NamedView& output, const NamedView& other, std::int64_t bytes) {
  const auto size = static_cast<std::int64_t>(output.element_size);
  if (output.element_size != other.element_size || output.shape.size() != other.shape.size()) return false;
  for (std::size_t i = 0; i < output.shape.size(); ++i) {
    const bool matters = output.shape[i] > 1 || other.shape[i] > 1;
    if (matters && output.strides[i] != other.strides[i]) return false;
  }
  const Nesting nesting = nesting_of(output, other);
  return bytes % size == 0 && is_nested(nesting) && !reachable(nesting, 0, bytes / size);
}

}  // namespace

std::int64_t NamedView::elements() const noexcept {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::string shape_text(std::span<const std::int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

void check_memory(const NamedView& view) {
  const auto element_size = static_cast<std::int64_t>(view.element_size);
  std::int64_t bytes = element_size;
  std::int64_t reach = element_size;
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    const std::int64_t size = view.shape[i];
    const std::int64_t stride = view.strides[i];
    if (size < 0) fail(view, fmt::format("has shape {}; sizes cannot be negative", shape_text(view.shape)));
    // Empty dimensions count as one: what stands beside them must be sound as well.
    bytes = small_product(bytes, std::max<std::int64_t>(size, 1));
    if (bytes < 0) {
      fail(view, fmt::format("has shape {}; that many elements cannot be addressed", shape_text(view.shape)));
    }
    if (size <= 1) continue;
    const bool extreme = stride < -kMostBytes;  // its absolute value might not exist
    const std::int64_t span = extreme ? -1 : small_product(size - 1, small_product(std::abs(stride), element_size));
    if (span < 0 || reach > kMostBytes - span) {
      fail(view, fmt::format("has shape {} and strides {}; they reach past what can be addressed",
                             shape_text(view.shape), shape_text(view.strides)));
    }
    reach += span;
  }
  if (view.elements() == 0) return;
  if (!view.present()) {
    fail(view, fmt::format("has shape {} but no data; expected a pointer to {} elements", shape_text(view.shape),
                           view.elements()));
  }
  if (reinterpret_cast<std::uintptr_t>(view.data) % view.element_size != 0) {
    fail(view, fmt::format("is not aligned; its address must be a multiple of {} bytes", view.element_size));
  }
}

void check_last_stride(const NamedView& view) {
  if (view.shape.back() > 1 && view.strides.back() != 1) {
    fail(view, fmt::format("has stride {} in its last dimension; it must be contiguous there (stride 1)",
                           view.strides.back()));
  }
}

void check_last_stride_or_broadcast(const NamedView& view) {
  if (view.shape.back() > 1 && view.strides.back() != 1 && view.strides.back() != 0) {
    fail(view, fmt::format("has stride {} in its last dimension; it must be contiguous (1) or broadcast (0) there",
                           view.strides.back()));
  }
}

void check_writable(const NamedView& view) {
  if (view.elements() == 0) return;
  if (is_nested(nesting_of(view, view))) return;
  fail(view, fmt::format("has shape {} and strides {}; an output's strides must be positive and lead to every "
                         "element once",
                         shape_text(view.shape), shape_text(view.strides)));
}

void check_shape(const NamedView& view, std::span<const std::int64_t> wanted, std::string_view meaning) {
  if (std::ranges::equal(view.shape, wanted)) return;
  fail(view, fmt::format("has shape {}; expected {} ({})", shape_text(view.shape), shape_text(wanted), meaning));
}

void check_apart(const NamedView& output, const NamedView& other) {
  if (!output.present() || !other.present() || output.elements() == 0 || other.elements() == 0) return;
  const auto here = reinterpret_cast<std::uintptr_t>(output.data);
  const auto there = reinterpret_cast<std::uintptr_t>(other.data);
  const auto distance = static_cast<std::int64_t>(there - here);
  const Reach mine = reach_of(output);
  const Reach its = reach_of(other);
  const bool clear_of = distance + its.end <= mine.begin || mine.end <= distance + its.begin;
  if (clear_of) return;
  if (interleaves_without_sharing(output, other, distance)) return;
  fail(output, fmt::format("shares memory with {}; they must be apart", other.name));
}

void check_all_apart(const std::vector<NamedView>& outputs, const std::vector<NamedView>& inputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    for (const NamedView& input : inputs) check_apart(outputs[i], input);
    for (std::size_t j = 0; j < i; ++j) check_apart(outputs[i], outputs[j]);
  }
}

}  // namespace sharpmax
