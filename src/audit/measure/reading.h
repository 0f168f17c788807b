// A model reads excerpts of a text while an audit keeps some rows of attention; and what it kept, as a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/architecture/architecture.h"
#include "model/job/model_request.h"
#include "model/transformer/layer_pass.h"
#include "model/transformer/session.h"
#include "sharpmax/audit.h"
#include "sharpmax/cluster.h"

namespace sharpmax::audit {

// What an audit keeps of one row of attention.

inline constexpr std::size_t kRowFields = kPlainFields + kGapOctaves.size();  // RowField, in order
inline constexpr std::int64_t kTopKeys = 8;
inline constexpr std::int64_t kNear = 32;

// Rows of every head at the same places of one excerpt.
struct KeptRows {
  std::vector<std::int64_t> positions;  // of the queries, ascending
  std::vector<float> values;            // [layer, head, row, field]

  const float* row(std::int64_t heads, std::int64_t layer, std::int64_t head, std::size_t i) const {
    const std::size_t place = static_cast<std::size_t>(layer * heads + head) * positions.size() + i;
    return values.data() + place * kRowFields;
  }
  bool operator==(const KeptRows&) const = default;
};

// Looks on while a model reads an excerpt, and keeps what the picked rows of every head say of themselves.

class RowWatch final : public model::AttentionObserver {
 public:
  // `wanted[i]`: positions of the queries to keep, ascending, for the i-th length. Blocks hold at most
  // `block` tokens.
  RowWatch(const model::Configuration& configuration, std::int64_t block,
           std::vector<std::vector<std::int64_t>> wanted);

  const RowStatistics* wanted(const model::AttentionBlock& block) override;
  void seen(const model::AttentionBlock& block) override;

  // What was kept for the i-th length, once every layer has seen its last position.
  const KeptRows& kept(std::size_t i) const { return kept_[i]; }
  KeptRows take(std::size_t i) { return std::move(kept_[i]); }
  // What another watch of the same places had kept.
  void restore(std::size_t i, std::vector<float> values) { kept_[i].values = std::move(values); }

 private:
  bool in(const KeptRows& kept, const model::AttentionBlock& block) const;
  void keep(const model::AttentionBlock& block, KeptRows& kept);
  // Fields of one row of the block's statistics.
  void fields_of(std::int64_t head, std::int64_t query, std::int64_t position, float* out) const;

  std::int64_t heads_, block_;
  std::vector<KeptRows> kept_;
  RowStatistics views_;
  std::vector<double> doubles_;
  std::vector<std::int64_t> integers_;
};

// Which parts of a text an audit reads, and which rows it keeps of them.
//
// An excerpt is read once, to the longest length; rows near the end of every length are kept on the way, so
// one pass serves all lengths.

struct ReadingPlan {
  std::vector<std::int64_t> lengths;  // tokens, ascending; a row at length n sees at most n keys
  std::vector<std::int64_t> starts;   // of the excerpts in the text's tokens, ascending, never overlapping
};

// `lengths` that the text cannot fill are replaced by one: all of it. Excerpts are spread evenly over the
// text. Error{bad_argument} for no lengths, or a text of fewer than kLeastLength tokens.
ReadingPlan plan_reading(std::vector<std::int64_t> lengths, std::int64_t text_tokens,
                         std::int64_t most_excerpts);

// Powers of two from 64 to the longest, and the longest.
std::vector<std::int64_t> default_lengths(std::int64_t longest);

// Queries in the last quarter of `length` tokens, at most kKeptRows, evenly spaced, the last among them.
std::vector<std::int64_t> rows_near(std::int64_t length);
inline constexpr std::int64_t kKeptRows = 64;

// A model reads excerpts of a text while an audit looks on; and what it kept, as a file.

// [excerpt][length]; nothing if it has not been read yet.
using Readings = std::vector<std::vector<std::optional<KeptRows>>>;
Readings no_readings(const ReadingPlan& plan);
// Those of rank 0, on all ranks.
void share_readings(Group& group, const ReadingPlan& plan, Readings& readings);
// Lengths that every excerpt was read to.
std::vector<std::size_t> finished_lengths(const Readings& readings);

struct ReadingListener {
  std::function<void(std::int64_t tokens)> on_tokens;  // how many of this excerpt are through
  std::function<void(std::size_t length, KeptRows rows)> on_length;
};

// Reads one excerpt from an empty cache, to lengths.back() tokens.
void read_excerpt(model::Session& session, std::span<const model::Token> excerpt,
                  std::span<const std::int64_t> lengths, const ReadingListener& listener);

// The same layer by layer; every length comes at the end, on all ranks of a pass that several make together. `file`: for
// the state after a layer, from which a pass goes on that was ended before; an empty path: none. That of rank 0 counts.
void read_excerpt(model::LayerPass& pass, std::span<const model::Token> excerpt, std::span<const std::int64_t> lengths,
                  const ReadingListener& listener, const model::PassFile& file);

// NumPy's .npz: rows of excerpt e at length n in `excerptE_nN`, [layer, head, row, field], with the
// positions of the queries in `excerptE_nN_positions`; `fingerprint` says of what. Written atomically.
void write_readings(const std::filesystem::path& path, const Readings& readings, const ReadingPlan& plan,
                    const model::Configuration& configuration, std::uint64_t fingerprint);
// Error{bad_file} if the file is not of this plan, model and fingerprint.
Readings read_readings(const std::filesystem::path& path, const ReadingPlan& plan,
                       const model::Configuration& configuration, std::uint64_t fingerprint);

}  // namespace sharpmax::audit
