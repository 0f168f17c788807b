#include "model/transformer/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>

#include "base/threads.h"
#include "model/transformer/rope.h"
#include "sharpmax/attention.h"
#include "sharpmax/error.h"

namespace sharpmax::model {
namespace {

DType dtype_of(CacheType type) { return type == CacheType::float32 ? DType::float32 : DType::float16; }

}  // namespace

std::optional<std::uint64_t> cache_bytes(const Configuration& c, std::int64_t tokens, CacheType type) {
  const std::int64_t factors[] = {c.layers,     2,      c.kv_heads,
                                  c.head_width, tokens, static_cast<std::int64_t>(size_of(dtype_of(type)))};
  std::int64_t bytes = 1;
  for (const std::int64_t factor : factors)
    if (__builtin_mul_overflow(bytes, factor, &bytes)) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

KeyValueCache::KeyValueCache(const Configuration& c, std::int64_t capacity, CacheType type)
    : kv_heads_(c.kv_heads), head_width_(c.head_width), capacity_(capacity), type_(type) {
  const auto bytes = cache_bytes(c, capacity, type);
  if (!bytes) throw std::bad_alloc();
  // calloc: large blocks come as untouched pages, so that memory grows with the tokens, not with the room.
  memory_.reset(static_cast<std::byte*>(std::calloc(*bytes + 1, 1)));
  if (!memory_) throw std::bad_alloc();
}

std::size_t KeyValueCache::element(std::int64_t layer, std::int64_t which, std::int64_t head,
                                   std::int64_t position) const {
  return static_cast<std::size_t>((((layer * 2 + which) * kv_heads_ + head) * capacity_ + position) *
                                  head_width_);
}

void KeyValueCache::put(std::size_t at, const float* features) {
  if (type_ == CacheType::float32) {
    std::copy_n(features, head_width_, reinterpret_cast<float*>(memory_.get()) + at);
  } else {
    to_float16(features, head_width_, reinterpret_cast<float16*>(memory_.get()) + at);
  }
}

void KeyValueCache::store(std::int64_t layer, std::int64_t position, const float* keys, const float* values) {
  for (std::int64_t head = 0; head < kv_heads_; ++head) {
    put(element(layer, 0, head, position), keys + head * head_width_);
    put(element(layer, 1, head, position), values + head * head_width_);
  }
}

AnyTensor<4> KeyValueCache::view(std::size_t at, std::int64_t heads, std::int64_t count) const {
  const std::int64_t head_stride = capacity_ * head_width_;
  return {memory_.get() + at * size_of(dtype_of(type_)),
          dtype_of(type_),
          {1, heads, count, head_width_},
          {heads * head_stride, head_stride, head_width_, 1}};
}

AnyTensor<4> KeyValueCache::keys(std::int64_t layer, std::int64_t first, std::int64_t heads,
                                 std::int64_t count) const {
  return view(element(layer, 0, first, 0), heads, count);
}
AnyTensor<4> KeyValueCache::values(std::int64_t layer, std::int64_t first, std::int64_t heads,
                                   std::int64_t count) const {
  return view(element(layer, 1, first, 0), heads, count);
}

std::size_t KeyValueCache::bytes_of(std::int64_t tokens) const {
  return static_cast<std::size_t>(2 * kv_heads_ * tokens * head_width_) * size_of(dtype_of(type_));
}

void KeyValueCache::append_bytes(std::int64_t layer, std::int64_t first, std::int64_t tokens, std::vector<std::byte>& bytes) const {
  const std::size_t size = size_of(dtype_of(type_)), run = static_cast<std::size_t>(tokens * head_width_) * size;
  for (std::int64_t which = 0; which < 2; ++which)
    for (std::int64_t head = 0; head < kv_heads_; ++head) {
      const std::byte* const from = memory_.get() + element(layer, which, head, first) * size;
      bytes.insert(bytes.end(), from, from + run);
    }
}

void KeyValueCache::store_bytes(std::int64_t layer, std::int64_t first, std::int64_t tokens, const std::byte* bytes) {
  const std::size_t size = size_of(dtype_of(type_)), run = static_cast<std::size_t>(tokens * head_width_) * size;
  for (std::int64_t which = 0; which < 2; ++which)
    for (std::int64_t head = 0; head < kv_heads_; ++head, bytes += run)
      std::copy_n(bytes, run, memory_.get() + element(layer, which, head, first) * size);
}

namespace {

// Logits are computed for so many tokens together that their memory stays small: [32, 256000] floats are 33
// MB.
constexpr std::int64_t kLogitTokens = 32;

// So that no run has heads on both sides; every head has keys of its own.
void split_at(std::vector<HeadRun>& runs, std::int64_t head, const NormalizerTable& table, std::int64_t layer) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::int64_t before = head - runs[i].first;
    if (before <= 0 || before >= runs[i].count) continue;
    HeadRun rest = runs[i];
    rest.first += before, rest.kv_first += before;
    rest.count -= before, rest.kv_count -= before;
    runs[i].count = runs[i].kv_count = before;
    runs[i].normalizer = normalizer_of_heads(table, layer, runs[i].first, head);
    rest.normalizer = normalizer_of_heads(table, layer, head, rest.first + rest.count);
    runs.insert(runs.begin() + static_cast<std::ptrdiff_t>(i) + 1, std::move(rest));
    return;
  }
}

std::vector<std::vector<HeadRun>> runs_of(const Model& model, const std::optional<NormalizerTable>& table) {
  const Configuration& c = model.configuration();
  if (table && (table->layers() != c.layers || table->heads() != c.heads))
    throw Error(ErrorCode::bad_argument,
                fmt::format("the table of normalizers has {} layers of {} heads; the model has {} of {}",
                            table->layers(), table->heads(), c.layers, c.heads));
  std::vector<std::vector<HeadRun>> runs;
  for (std::int64_t layer = 0; layer < c.layers; ++layer) {
    const NormalizerTable& used = table ? *table : model.own_normalizers();
    runs.push_back(head_runs(used, layer, c.kv_heads));
    if (c.local) split_at(runs.back(), c.local->in(layer, c.heads), used, layer);
  }
  return runs;
}

std::int64_t capacity_of(const Configuration& c, std::int64_t wanted) {
  const std::int64_t capacity = wanted > 0 ? wanted : c.context;
  if (c.rope.features == 0 && capacity > c.context)
    throw Error(
        ErrorCode::bad_argument,
        fmt::format("{} tokens were asked for, and the model has learned {} positions", capacity, c.context));
  return capacity;
}

Rope rope_of(const Configuration& c, const SessionSettings& settings) {
  Rope rope = c.rope;
  if (settings.rope_scaling) set_scaling(rope, *settings.rope_scaling);
  const bool within = static_cast<double>(capacity_of(c, settings.capacity)) <= rope.scaling.original_length;
  if (rope.scaling.kind == RopeScaling::Kind::longrope && within) rope.divisors = rope.short_divisors;
  return rope;
}

Configuration cached_part(Configuration c, bool one_layer) {
  if (one_layer) c.layers = 1;
  return c;
}

std::size_t room(std::int64_t tokens, std::int64_t width) { return static_cast<std::size_t>(tokens * width); }

}  // namespace

Session::Session(const Model& model, const SessionSettings& settings)
    : model_(model),
      c_(model.configuration()),
      block_(std::clamp<std::int64_t>(settings.block, 1, capacity_of(c_, settings.capacity))),
      threads_(threads_for(settings.threads)),
      one_layer_(settings.one_layer),
      cache_(cached_part(c_, one_layer_), capacity_of(c_, settings.capacity), settings.cache),
      runs_(runs_of(model, settings.normalizers)),
      on_layer_(settings.on_layer),
      rope_(rope_of(c_, settings)),
      window_rope_(c_.window_rope.value_or(Rope{})),
      workspace_(threads_, settings.products),
      mixture_(c_, block_, threads_),
      features_(room(block_, c_.width)),
      normed_(room(block_, c_.width)),
      query_key_value_(room(block_, c_.query_width() + 2 * c_.kv_width())),
      attended_(room(block_, c_.query_width())),
      inner_(room(block_, (c_.gated ? 2 : 1) * c_.hidden)),
      result_(room(block_, c_.width)) {}

template <class Body>
void Session::for_tokens(std::int64_t tokens, const Body& body) const {
  for_each_token(threads_, tokens, body);
}

void Session::check(std::span<const Token> tokens) const {
  const auto count = static_cast<std::int64_t>(tokens.size());
  if (count > capacity() - position_)
    throw Error(
        ErrorCode::bad_argument,
        fmt::format("{} more tokens after {} do not fit into a context of {}", count, position_, capacity()));
  for (const Token token : tokens)
    if (token < 0 || token >= c_.vocabulary)
      throw Error(ErrorCode::bad_argument,
                  fmt::format("there is no token {}; the model has {}", token, c_.vocabulary));
}

template <class AfterBlock>
void Session::in_blocks(std::span<const Token> tokens, const AfterBlock& after) {
  if (one_layer_) throw Error(ErrorCode::bad_argument, "a session of one layer is read by a LayerPass alone");
  check(tokens);
  while (!tokens.empty()) {
    const auto block = tokens.first(std::min(tokens.size(), static_cast<std::size_t>(block_)));
    run_block(block);
    tokens = tokens.subspan(block.size());
    after(static_cast<std::int64_t>(block.size()), tokens.empty());
    position_ += static_cast<std::int64_t>(block.size());
  }
}

void Session::feed(std::span<const Token> tokens) {
  in_blocks(tokens, [](std::int64_t, bool) {});
}

std::span<const float> Session::feed_for_last(std::span<const Token> tokens) {
  if (tokens.empty()) throw Error(ErrorCode::bad_argument, "there are no tokens to predict from");
  in_blocks(tokens, [&](std::int64_t count, bool last) {
    if (last) compute_logits(count - 1, 1);
  });
  return {logits_.data(), static_cast<std::size_t>(c_.vocabulary)};
}

void Session::feed_for_all(std::span<const Token> tokens, const LogitsSink& sink) {
  in_blocks(tokens, [&](std::int64_t count, bool) { tell_logits(count, sink); });
}

void Session::tell_logits(std::int64_t tokens, const LogitsSink& sink) {
  for (std::int64_t first = 0; first < tokens; first += kLogitTokens) {
    const std::int64_t part = std::min(kLogitTokens, tokens - first);
    compute_logits(first, part);
    for (std::int64_t t = 0; t < part; ++t)
      sink(position_ + first + t, {logits_.data() + t * c_.vocabulary, static_cast<std::size_t>(c_.vocabulary)});
  }
}

void Session::rewind(std::int64_t position) {
  if (position < 0 || position > position_)
    throw Error(ErrorCode::bad_argument,
                fmt::format("cannot go back to position {} from {}", position, position_));
  position_ = position;
}

void Session::run_block(std::span<const Token> tokens) {
  const auto count = static_cast<std::int64_t>(tokens.size());
  embed(tokens);
  turn_to(position_, count);
  for (std::int64_t layer = 0; layer < c_.layers; ++layer) run_layer(layer, count);
}

void Session::turn_to(std::int64_t position, std::int64_t tokens) {
  position_ = position;
  if (c_.rope.features > 0) rope_.fill(position_, tokens);
  if (c_.window_rope) window_rope_.fill(position_, tokens);
}

void Session::run_layer(std::int64_t layer, std::int64_t tokens) {
  if (on_layer_) on_layer_();
  run_attention(layer, tokens);
  run_feed_forward(layer, tokens);
}

void Session::embed(std::span<const Token> tokens) {
  const Weights& w = model_.weights();
  for_tokens(static_cast<std::int64_t>(tokens.size()), [&](std::int64_t t) {
    float* const row = features_.data() + t * c_.width;
    unpack_row(w.embedding, tokens[static_cast<std::size_t>(t)], row);
    if (c_.embedding_scale != 1) multiply_by(row, static_cast<float>(c_.embedding_scale), c_.width);
    if (w.positions) {
      float* const place = normed_.data() + t * c_.width;
      unpack_row(*w.positions, position_ + t, place);
      add_to(row, place, c_.width);
    }
  });
}

void Session::norm(const NormWeights& weights, const float* x, float* out) const {
  if (c_.norm == NormKind::layer) {
    layer_norm(x, weights.scale.data(), weights.shift.data(), c_.width, c_.epsilon, out);
  } else {
    root_mean_square_norm(x, weights.scale.data(), c_.width, c_.epsilon, out);
  }
}

const float* Session::entering(const std::optional<NormWeights>& before, std::int64_t tokens) {
  if (!before) return features_.data();
  for_tokens(tokens, [&](std::int64_t t) {
    norm(*before, features_.data() + t * c_.width, normed_.data() + t * c_.width);
  });
  return normed_.data();
}

void Session::project(std::span<const Projection> parts, const float* in, std::int64_t width,
                      std::int64_t tokens, float* out, std::int64_t out_stride) {
  ProductTerm terms[3];
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Projection& part = parts[i];
    terms[i] = {part.weight, part.bias.empty() ? nullptr : part.bias.data(), out, out_stride};
    out += part.weight.outputs;
  }
  multiply({terms, parts.size()}, in, width, tokens, workspace_);
}

void Session::store_keys(std::int64_t layer, std::int64_t tokens) {
  const LayerWeights& w = model_.weights().layers[static_cast<std::size_t>(layer)];
  const std::int64_t stride = c_.query_width() + 2 * c_.kv_width();
  project(w.query_key_value, entering(w.attention_norm, tokens), c_.width, tokens, query_key_value_.data(), stride);
  for_tokens(tokens, [&](std::int64_t t) {
    float* const query = query_key_value_.data() + t * stride;
    float* const key = query + c_.query_width();
    prepare_query_and_key(layer, t, query);
    cache_.store(one_layer_ ? 0 : layer, position_ + t, key, key + c_.kv_width());
  });
}

void Session::run_attention(std::int64_t layer, std::int64_t tokens) {
  const LayerWeights& w = model_.weights().layers[static_cast<std::size_t>(layer)];
  store_keys(layer, tokens);
  attend_block(layer, tokens);
  project({&w.attention_out, 1}, attended_.data(), c_.query_width(), tokens, result_.data(), c_.width);
  add_result(w.after_attention_norm, tokens);
}

void Session::prepare_query_and_key(std::int64_t layer, std::int64_t t, float* query) {
  const LayerWeights& w = model_.weights().layers[static_cast<std::size_t>(layer)];
  float* const key = query + c_.query_width();
  const auto normalize = [&](const NormWeights& weights, float* x, std::int64_t width) {
    const auto part = static_cast<std::int64_t>(weights.scale.size());
    for (float* const end = x + width; x < end; x += part)
      root_mean_square_norm(x, weights.scale.data(), part, c_.epsilon, x);
  };
  if (w.query_norm) normalize(*w.query_norm, query, c_.query_width());
  if (w.key_norm) normalize(*w.key_norm, key, c_.kv_width());
  if (const Rope* rope = c_.rope_of(layer, 0)) {
    const RopeTable& table = rope == &c_.rope ? rope_ : window_rope_;
    table.turn(t, query, c_.local ? c_.local->in(layer, c_.heads) : c_.heads, c_.head_width);
    table.turn(t, key, c_.local ? c_.local->in(layer, c_.heads) : c_.kv_heads, c_.head_width);
  }
  if (const QueryGrowth& growth = c_.query_growth; growth.beta != 0) {
    const double steps = std::floor(static_cast<double>(position_ + t) / growth.length);
    multiply_by(query, static_cast<float>(1.0 + growth.beta * std::log1p(steps)), c_.query_width());
  }
}

void Session::attend_block(std::int64_t layer, std::int64_t tokens) {
  const std::int64_t stride = c_.query_width() + 2 * c_.kv_width(), keys = position_ + tokens;
  const std::int64_t cached = one_layer_ ? 0 : layer;
  for (const HeadRun& run : runs_[static_cast<std::size_t>(layer)]) {
    const std::int64_t window = c_.window_of(layer, run.first);
    const Extents<4> shape{1, run.count, tokens, c_.head_width};
    const std::int64_t first = run.first * c_.head_width;
    AttentionRequest request;
    request.query = TensorView<const float, 4>(query_key_value_.data() + first, shape,
                                               {tokens * stride, c_.head_width, stride, 1});
    request.key = cache_.keys(cached, run.kv_first, run.kv_count, keys);
    request.value = cache_.values(cached, run.kv_first, run.kv_count, keys);
    request.causal = Causal::bottom_right;
    if (window > 0) request.window.left = window - 1;
    request.scale = c_.attention_scale;
    request.soft_cap = c_.attention_cap;
    const TensorView<float, 4> out(attended_.data() + first, shape,
                                   {tokens * c_.query_width(), c_.head_width, c_.query_width(), 1});
    AttentionBlock block{layer, run.first, run.count, position_, tokens, &request, &run.normalizer};
    block.hidden = TensorView<const float, 2>(features_.data(), {tokens, c_.width}, {c_.width, 1});
    const RowStatistics* const statistics = observer_ ? observer_->wanted(block) : nullptr;
    attend(request, run.normalizer, out, statistics, {.threads = threads_});
    if (observer_) observer_->seen(block);
  }
}

void Session::run_feed_forward(std::int64_t layer, std::int64_t tokens) {
  const LayerWeights& w = model_.weights().layers[static_cast<std::size_t>(layer)];
  const float* const in = entering(w.feed_forward_norm, tokens);
  if (w.mixture) {
    mixture_.run(*w.mixture, in, tokens, result_.data(), workspace_);
    return add_result(w.after_feed_forward_norm, tokens);
  }
  const std::int64_t stride = (c_.gated ? 2 : 1) * c_.hidden;
  project(w.inner, in, c_.width, tokens, inner_.data(), stride);
  for_tokens(tokens, [&](std::int64_t t) {
    float* const gate = inner_.data() + t * stride;
    activate(c_.activation, gate, c_.gated ? gate + c_.hidden : nullptr, c_.hidden, gate);
  });
  project({&w.down, 1}, inner_.data(), stride, tokens, result_.data(), c_.width);
  add_result(w.after_feed_forward_norm, tokens);
}

void Session::add_result(const std::optional<NormWeights>& after, std::int64_t tokens) {
  for_tokens(tokens, [&](std::int64_t t) {
    float* const result = result_.data() + t * c_.width;
    if (after) norm(*after, result, result);
    if (c_.residual_scale != 1) multiply_by(result, static_cast<float>(c_.residual_scale), c_.width);
    add_to(features_.data() + t * c_.width, result, c_.width);
  });
}

void Session::compute_logits(std::int64_t first, std::int64_t count) {
  const Weights& w = model_.weights();
  logits_.resize(std::max(logits_.size(), room(count, c_.vocabulary)));
  for_tokens(count, [&](std::int64_t t) {
    norm(w.final_norm, features_.data() + (first + t) * c_.width, normed_.data() + t * c_.width);
  });
  const ProductTerm term{w.head, w.head_bias.empty() ? nullptr : w.head_bias.data(), logits_.data(), c_.vocabulary};
  multiply({&term, 1}, normed_.data(), c_.width, count, workspace_);
  if (c_.logit_scale != 1)
    for_tokens(count, [&](std::int64_t t) {
      multiply_by(logits_.data() + t * c_.vocabulary, static_cast<float>(c_.logit_scale), c_.vocabulary);
    });
  if (c_.logit_cap > 0)
    for_tokens(count, [&](std::int64_t t) {
      soft_cap(logits_.data() + t * c_.vocabulary, c_.logit_cap, c_.vocabulary);
    });
}

}  // namespace sharpmax::model
