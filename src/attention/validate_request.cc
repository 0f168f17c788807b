#include <fmt/format.h>

#include <cmath>

#include "attention/validate_parts.h"
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

}  // namespace sharpmax
