// The awkward shapes: sizes 0, 1, lanes +- 1 and prime, every head size, every way to leave keys out,
// strides, groups, half precision, few queries and many. Data follow from the case's name.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "attention/rows/call.h"
#include "sharpmax/attention.h"
#include "support/attention_buffers.h"

namespace sharpmax::test {

// Which dimensions of [batch, head, query, key] a mask or bias has; the others are broadcast.
enum class Spread { none, whole, per_key, per_head_and_key, per_query_and_key };

struct AttentionCase {
  std::string name;
  std::int64_t batches = 1, heads = 1, kv_heads = 1, queries = 1, keys = 1, feature = 8, value_feature = 0;
  DType type = DType::float32;
  DType out_type = DType::float32;
  Layout layout = Layout::dense;
  Causal causal = Causal::none;
  Window window = {};
  Spread mask = Spread::none;
  Spread bias = Spread::none;
  std::vector<std::int64_t> query_lengths = {}, key_lengths = {};
  std::vector<std::int64_t> query_offsets = {}, key_offsets = {};
  std::optional<double> scale = {};
  double spread = 1.0;  // of queries and keys
  double soft_cap = 0.0;

  // linear has none.
  bool speaks_of_scores() const { return bias != Spread::none || scale || soft_cap != 0.0; }
};

inline void PrintTo(const AttentionCase& c, std::ostream* out) { *out << c.name; }

inline const std::vector<AttentionCase>& attention_cases() {
  using enum DType;
  static const std::vector<AttentionCase> cases = {
      {.name = "one query, one key"},
      {.name = "no keys", .heads = 2, .queries = 3, .keys = 0},
      {.name = "no queries", .queries = 0, .keys = 5},
      {.name = "no batch", .batches = 0, .queries = 3, .keys = 5},
      {.name = "lanes - 1", .queries = 15, .keys = 15, .feature = 20},
      {.name = "lanes", .heads = 2, .queries = 16, .keys = 16, .feature = 64},
      {.name = "lanes + 1, causal", .heads = 2, .queries = 17, .keys = 17, .feature = 72, .causal = Causal::bottom_right},
      {.name = "two vectors - 1", .queries = 33, .keys = 31, .feature = 80},
      {.name = "two vectors + 1", .queries = 31, .keys = 33, .feature = 128},
      {.name = "more queries than keys, causal", .queries = 40, .keys = 29, .feature = 64, .causal = Causal::bottom_right},
      {.name = "top-left causal", .queries = 21, .keys = 32, .feature = 64, .causal = Causal::top_left},
      {.name = "prime, causal", .queries = 97, .keys = 97, .feature = 64, .causal = Causal::bottom_right},
      {.name = "a block and one", .heads = 2, .kv_heads = 1, .queries = 97, .keys = 257, .feature = 20},
      {.name = "many queries, causal", .heads = 2, .kv_heads = 1, .queries = 211, .keys = 211, .feature = 8, .causal = Causal::bottom_right},
      {.name = "decode, grouped", .heads = 8, .kv_heads = 2, .queries = 1, .keys = 257, .feature = 128},
      {.name = "decode, four queries, causal", .heads = 4, .kv_heads = 1, .queries = 4, .keys = 1031, .feature = 64, .causal = Causal::bottom_right},
      {.name = "decode, widest head", .batches = 2, .heads = 2, .kv_heads = 2, .queries = 1, .keys = 97, .feature = 256},
      {.name = "widest head", .queries = 19, .keys = 47, .feature = 256},
      {.name = "window", .queries = 40, .keys = 67, .feature = 64, .window = {.left = 5, .right = 3}},
      {.name = "window, causal", .heads = 2, .queries = 64, .keys = 64, .feature = 80, .causal = Causal::bottom_right, .window = {.left = 16}},
      {.name = "endless window", .queries = 9, .keys = 13, .window = {.left = INT64_MAX, .right = INT64_MAX}},
      {.name = "mask, strided", .batches = 2, .heads = 2, .kv_heads = 2, .queries = 19, .keys = 37, .feature = 20, .layout = Layout::padded, .mask = Spread::whole},
      {.name = "mask of keys", .batches = 2, .heads = 2, .kv_heads = 1, .queries = 8, .keys = 65, .feature = 64, .mask = Spread::per_key},
      {.name = "bias", .heads = 2, .kv_heads = 2, .queries = 24, .keys = 48, .feature = 72, .bias = Spread::whole},
      {.name = "bias shared by heads, causal", .batches = 2, .heads = 3, .kv_heads = 3, .queries = 17, .keys = 33, .feature = 8, .causal = Causal::bottom_right, .bias = Spread::per_query_and_key},
      {.name = "bias of heads and keys, decode", .heads = 4, .kv_heads = 2, .queries = 1, .keys = 131, .feature = 64, .bias = Spread::per_head_and_key},
      {.name = "mask and bias", .heads = 2, .kv_heads = 1, .queries = 33, .keys = 65, .feature = 64, .mask = Spread::per_query_and_key, .bias = Spread::per_head_and_key},
      {.name = "lengths, causal", .batches = 3, .heads = 2, .kv_heads = 1, .queries = 23, .keys = 41, .feature = 64, .causal = Causal::bottom_right, .query_lengths = {23, 7, 0}, .key_lengths = {40, 41, 5}},
      {.name = "lengths of keys, decode", .batches = 3, .heads = 4, .kv_heads = 2, .queries = 1, .keys = 300, .feature = 64, .key_lengths = {300, 0, 17}},
      {.name = "documents, causal", .heads = 2, .kv_heads = 1, .queries = 60, .keys = 60, .feature = 64, .causal = Causal::bottom_right, .query_offsets = {0, 13, 13, 44, 60}, .key_offsets = {0, 13, 13, 44, 60}},
      {.name = "documents, window", .batches = 2, .queries = 30, .keys = 50, .feature = 20, .window = {.left = 4, .right = 7}, .query_offsets = {0, 9, 20, 25}, .key_offsets = {0, 20, 20, 47}},
      {.name = "transposed", .batches = 2, .heads = 3, .kv_heads = 3, .queries = 20, .keys = 50, .feature = 20, .layout = Layout::transposed},
      {.name = "transposed, causal, grouped", .heads = 4, .kv_heads = 2, .queries = 35, .keys = 35, .feature = 64, .layout = Layout::transposed, .causal = Causal::bottom_right},
      {.name = "bfloat16", .heads = 2, .kv_heads = 1, .queries = 17, .keys = 97, .feature = 64, .type = bfloat16, .out_type = bfloat16},
      {.name = "bfloat16, decode", .heads = 4, .kv_heads = 2, .queries = 1, .keys = 257, .feature = 128, .type = bfloat16},
      {.name = "float16, causal", .queries = 33, .keys = 64, .feature = 72, .type = float16, .out_type = float16, .causal = Causal::bottom_right, .bias = Spread::whole},
      {.name = "float16, strided decode", .heads = 2, .kv_heads = 2, .queries = 2, .keys = 97, .feature = 64, .type = float16, .layout = Layout::padded},
      {.name = "own scale, wide values", .queries = 9, .keys = 41, .feature = 8, .value_feature = 24, .scale = 0.7},
      {.name = "narrowest head", .queries = 11, .keys = 23, .feature = 1, .value_feature = 3},
      {.name = "a thousand keys and more", .queries = 13, .keys = 1031, .feature = 8},
      {.name = "sharp scores", .heads = 2, .kv_heads = 2, .queries = 18, .keys = 90, .feature = 64, .spread = 2.0},
      {.name = "soft cap", .heads = 2, .kv_heads = 1, .queries = 19, .keys = 257, .feature = 20, .spread = 2.0, .soft_cap = 3.0},
      {.name = "soft cap far above the scores", .queries = 19, .keys = 33, .feature = 20, .soft_cap = 1e6},
      {.name = "soft cap far below the scores, causal", .queries = 33, .keys = 33, .feature = 20, .causal = Causal::bottom_right, .soft_cap = 0.5},
      {.name = "soft cap, mask, bias, window", .heads = 2, .kv_heads = 1, .queries = 33, .keys = 65, .feature = 72, .window = {.left = 40, .right = 9}, .mask = Spread::per_query_and_key, .bias = Spread::per_head_and_key, .spread = 1.5, .soft_cap = 2.0},
      {.name = "soft cap, decode", .heads = 2, .kv_heads = 1, .queries = 1, .keys = 2099, .feature = 16, .spread = 2.0, .soft_cap = 5.0},
      {.name = "soft cap, decode, bias, lengths", .batches = 3, .heads = 4, .kv_heads = 2, .queries = 2, .keys = 67, .feature = 16, .bias = Spread::whole, .key_lengths = {67, 0, 17}, .soft_cap = 1.0},
      {.name = "soft cap, bfloat16, documents", .heads = 2, .kv_heads = 1, .queries = 60, .keys = 60, .feature = 20, .type = bfloat16, .causal = Causal::bottom_right, .query_offsets = {0, 13, 13, 44, 60}, .key_offsets = {0, 13, 13, 44, 60}, .soft_cap = 1.5},
      {.name = "soft cap, several blocks, causal", .queries = 17, .keys = 300, .feature = 8, .causal = Causal::bottom_right, .spread = 3.0, .soft_cap = 20.0},
  };
  return cases;
}

// The data of a case, and the request over them.
class AttentionProblem {
 public:
  explicit AttentionProblem(const AttentionCase& c) : case_(c), seed_(seed_of(c.name)) {
    const std::int64_t value_feature = c.value_feature == 0 ? c.feature : c.value_feature;
    query_ = normals({c.batches, c.heads, c.queries, c.feature}, c.spread, 1);
    key_ = normals({c.batches, c.kv_heads, c.keys, c.feature}, c.spread, 2);
    value_ = normals({c.batches, c.kv_heads, c.keys, value_feature}, 1.0, 3);
    d_out_ = normals({c.batches, c.heads, c.queries, value_feature}, 1.0, 4);
    request.query = query_.input();
    request.key = key_.input();
    request.value = value_.input();
    make_mask();
    make_bias();
    request.causal = c.causal;
    request.window = c.window;
    request.query_lengths = case_.query_lengths;
    request.key_lengths = case_.key_lengths;
    request.query_offsets = case_.query_offsets;
    request.key_offsets = case_.key_offsets;
    request.scale = c.scale;
    request.soft_cap = c.soft_cap;
    segments = segments_of(request);
  }
  AttentionProblem(const AttentionProblem&) = delete;
  AttentionProblem& operator=(const AttentionProblem&) = delete;

  AttentionRequest request;
  std::vector<Segment> segments;

  const AttentionCase& attention_case() const { return case_; }
  Buffer& query() { return query_; }
  Buffer& key() { return key_; }
  Buffer& value() { return value_; }
  Buffer& bias() { return bias_; }
  Buffer& d_out() { return d_out_; }
  const Buffer& d_out() const { return d_out_; }

  Extents<4> out_shape() const {
    return {case_.batches, case_.heads, case_.queries, value_.shape()[3]};
  }
  Buffer make_out(DType type) const { return Buffer(type, out_shape(), case_.layout); }
  AllStatistics* make_statistics() {
    return &statistics_.emplace_back(case_.batches, case_.heads, case_.queries, case_.keys);
  }
  // All bytes of the inputs, to see that nobody writes to them.
  std::vector<std::byte> input_bytes() const {
    std::vector<std::byte> all;
    for (const Buffer* b : {&query_, &key_, &value_, &bias_, &d_out_}) {
      all.insert(all.end(), b->bytes().begin(), b->bytes().end());
    }
    return all;
  }

 private:
  static std::uint64_t seed_of(const std::string& name) {  // FNV-1a: the same on every machine
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return hash;
  }
  Buffer normals(const Extents<4>& shape, double spread, std::uint64_t stream) const {
    Draw draw(seed_, stream);
    Buffer buffer(case_.type, shape, case_.layout);
    buffer.fill([&](const Extents<4>&) { return spread * draw.normal(); });
    return buffer;
  }

  Extents<4> shape_of(Spread spread) const {
    const bool batch = spread == Spread::whole;
    const bool head = spread == Spread::whole || spread == Spread::per_head_and_key;
    const bool query = spread == Spread::whole || spread == Spread::per_query_and_key;
    return {batch ? case_.batches : 1, head ? case_.heads : 1, query ? case_.queries : 1, case_.keys};
  }

  void make_mask() {
    if (case_.mask == Spread::none) return;
    const Extents<4> shape = shape_of(case_.mask);
    Draw draw(seed_, 5);
    mask_.resize(static_cast<std::size_t>(shape[0] * shape[1] * shape[2] * shape[3]));
    for (char& keep : mask_) keep = draw.index(4) != 0;
    // Row 1 of what has rows sees nothing at all.
    for (std::int64_t j = 0; shape[2] > 1 && j < shape[3]; ++j) mask_[static_cast<std::size_t>(shape[3] + j)] = 0;
    request.mask = {reinterpret_cast<const bool*>(mask_.data()), shape};
  }

  void make_bias() {
    if (case_.bias == Spread::none) return;
    Draw draw(seed_, 6);
    bias_ = Buffer(case_.type, shape_of(case_.bias), case_.layout);
    const double lowest = 2.0 * mask_bias(case_.type);
    bias_.fill([&](const Extents<4>&) {
      const std::int64_t kind = draw.index(16);
      const double value = draw.normal();
      return kind == 0 ? -std::numeric_limits<double>::infinity() : kind == 1 ? lowest : value;
    });
    request.bias = bias_.input();
  }

  AttentionCase case_;
  std::uint64_t seed_;
  Buffer query_, key_, value_, d_out_, bias_;
  std::vector<char> mask_;
  std::deque<AllStatistics> statistics_;
};

}  // namespace sharpmax::test
