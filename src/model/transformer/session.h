// The forward pass: keys and values of the tokens seen so far, and blocks of tokens through all layers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/architecture/architecture.h"
#include "model/product/product.h"
#include "model/transformer/mixture.h"
#include "model/transformer/model.h"
#include "model/transformer/normalizer_table.h"
#include "model/transformer/rope.h"
#include "sharpmax/attention.h"
#include "sharpmax/tensor.h"

namespace sharpmax::model {

// Keys and values of the tokens seen so far, in float32 or float16.

enum class CacheType { float32, float16 };

// What a cache takes; nothing if it is more than can be counted.
std::optional<std::uint64_t> cache_bytes(const Configuration& configuration, std::int64_t tokens,
                                         CacheType type);

class KeyValueCache {
 public:
  // Room for `capacity` tokens. Pages are touched only as they are written. std::bad_alloc if there is no
  // room.
  KeyValueCache(const Configuration& configuration, std::int64_t capacity, CacheType type);

  std::int64_t capacity() const noexcept { return capacity_; }

  // Stores a token's keys and values, both [kv_head, feature].
  void store(std::int64_t layer, std::int64_t position, const float* keys, const float* values);
  // The first `count` tokens of some heads: [1, kv_head, token, feature].
  AnyTensor<4> keys(std::int64_t layer, std::int64_t first_head, std::int64_t heads,
                    std::int64_t count) const;
  AnyTensor<4> values(std::int64_t layer, std::int64_t first_head, std::int64_t heads,
                      std::int64_t count) const;

  // Keys and values of some tokens as bytes, to be stored in another cache of the same type and capacity.
  std::size_t bytes_of(std::int64_t tokens) const;
  void append_bytes(std::int64_t layer, std::int64_t first, std::int64_t tokens, std::vector<std::byte>& bytes) const;
  void store_bytes(std::int64_t layer, std::int64_t first, std::int64_t tokens, const std::byte* bytes);

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::size_t element(std::int64_t layer, std::int64_t which, std::int64_t head, std::int64_t position) const;
  void put(std::size_t at, const float* features);
  AnyTensor<4> view(std::size_t at, std::int64_t heads, std::int64_t count) const;

  std::int64_t kv_heads_, head_width_, capacity_;
  CacheType type_;
  std::unique_ptr<std::byte, Free> memory_;  // [layer, key or value, kv_head, token, feature]
};

// A run of a model over one growing text: tokens go in, logits come out, keys and values stay.
//
// A block of tokens goes through all layers before the next. Everything is summed in an order that depends on
// shapes alone: the same tokens in the same blocks give bitwise the same logits for any number of threads.

// A watcher of a model that attends: for each layer, each block of tokens and each run of heads it
// sees queries, keys, values and the layer's input, and may ask attend() for statistics of the rows.

// What one call of attend() is about. Views are valid during the call.
struct AttentionBlock {
  std::int64_t layer = 0;
  std::int64_t first_head = 0, heads = 0;  // query heads of this call
  std::int64_t position = 0, tokens = 0;   // queries are those of tokens position .. position + tokens - 1
  // As attend() gets it: positions are turned in, keys and values are those of all tokens so far, causal
  // bottom-right. [1, heads, tokens, feature] and [1, kv_heads, position + tokens, feature].
  const AttentionRequest* request = nullptr;
  const AnyNormalizer* normalizer = nullptr;
  // What entered the layer, before its norm: [token, width] of the block.
  TensorView<const float, 2> hidden;
};

class AttentionObserver {
 public:
  virtual ~AttentionObserver() = default;
  // Before attend(): the statistics to fill, [1, heads, tokens, ...], or null for none. The last bits of the
  // model's output may depend on whether there are any.
  virtual const RowStatistics* wanted(const AttentionBlock& block) = 0;
  // After attend().
  virtual void seen(const AttentionBlock& block) = 0;
};

struct SessionSettings {
  std::int64_t capacity = 0;  // tokens; 0: the model's context
  std::int64_t block = 512;   // tokens that go through a layer together
  CacheType cache = CacheType::float32;
  Products products = Products::float32;
  int threads = 0;                             // 0: what OpenMP would use
  std::optional<NormalizerTable> normalizers;  // default: what the model was trained with
  std::optional<RopeScaling> rope_scaling;     // default: the model's
  // Called before each layer of each block. It may throw: the tokens of that block then count as not fed.
  std::function<void()> on_layer;
  bool one_layer = false;  // room for keys and values of one layer at a time: for a LayerPass alone
};

class Session {
 public:
  Session(const Model& model, const SessionSettings& settings);

  const Model& model() const noexcept { return model_; }
  std::int64_t position() const noexcept { return position_; }
  std::int64_t capacity() const noexcept { return cache_.capacity(); }
  std::int64_t block() const noexcept { return block_; }

  // Error{bad_argument} unless these tokens exist and fit.
  void check(std::span<const Token> tokens) const;

  // Logits of one position: [vocabulary], valid during the call. Positions come in order.
  using LogitsSink = std::function<void(std::int64_t position, std::span<const float> logits)>;

  // Feeds tokens without asking for logits.
  void feed(std::span<const Token> tokens);
  // Feeds tokens; the logits after the last, valid until the next call.
  std::span<const float> feed_for_last(std::span<const Token> tokens);
  // Feeds tokens; logits after each go to `sink`.
  void feed_for_all(std::span<const Token> tokens, const LogitsSink& sink);

  // Looks on from now on; null: nobody. Must outlive its use.
  void set_observer(AttentionObserver* observer) noexcept { observer_ = observer; }

  // Forgets the tokens from `position` on.
  void rewind(std::int64_t position);

 private:
  friend class LayerPass;  // layer_pass.h: the same parts in another order

  template <class AfterBlock>
  void in_blocks(std::span<const Token> tokens, const AfterBlock& after);
  void run_block(std::span<const Token> tokens);
  void turn_to(std::int64_t position, std::int64_t tokens);
  void run_layer(std::int64_t layer, std::int64_t tokens);
  // Logits of the block's tokens, the first of which stands at position_.
  void tell_logits(std::int64_t tokens, const LogitsSink& sink);
  void embed(std::span<const Token> tokens);
  void run_attention(std::int64_t layer, std::int64_t tokens);
  // Queries of the block to query_key_value_, its keys and values to the cache.
  void store_keys(std::int64_t layer, std::int64_t tokens);
  void attend_block(std::int64_t layer, std::int64_t tokens);
  void run_feed_forward(std::int64_t layer, std::int64_t tokens);
  // Features of tokens first .. first + count - 1 of the block to logits_, [count, vocabulary].
  void compute_logits(std::int64_t first, std::int64_t count);
  void norm(const NormWeights& weights, const float* x, float* out) const;
  // What enters a part of the layer: features_, normalized where the model does so.
  const float* entering(const std::optional<NormWeights>& before, std::int64_t tokens);
  // Of one token of the block: normalized, turned and scaled as the layer does.
  void prepare_query_and_key(std::int64_t layer, std::int64_t t, float* query);
  void add_result(const std::optional<NormWeights>& after, std::int64_t tokens);
  void project(std::span<const Projection> parts, const float* in, std::int64_t width, std::int64_t tokens,
               float* out, std::int64_t out_stride);
  template <class Body>
  void for_tokens(std::int64_t tokens, const Body& body) const;

  const Model& model_;
  const Configuration& c_;
  std::int64_t block_;
  int threads_;
  bool one_layer_;
  KeyValueCache cache_;
  std::vector<std::vector<HeadRun>> runs_;  // by layer
  std::function<void()> on_layer_;
  RopeTable rope_, window_rope_;
  ProductWorkspace workspace_;
  Mixture mixture_;
  AttentionObserver* observer_ = nullptr;
  std::int64_t position_ = 0;
  // [token, feature] of one block
  std::vector<float> features_, normed_, query_key_value_, attended_, inner_, result_, logits_;
};

// Someone looks on for as long as this lives, however that ends.
class Watching {
 public:
  Watching(Session& session, AttentionObserver& observer) : session_(session) {
    session.set_observer(&observer);
  }
  ~Watching() { session_.set_observer(nullptr); }
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;

 private:
  Session& session_;
};

}  // namespace sharpmax::model
