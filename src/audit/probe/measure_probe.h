// A probe at one length: how often the model is right, and how much each head looks at the right item.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "audit/measure/findings.h"
#include "audit/probe/question.h"
#include "model/transformer/session.h"
#include "sharpmax/probe.h"

namespace sharpmax::audit {

// How much weight each head lays on certain keys from certain rows, without the matrix of all weights.

// Looks on while a session reads. Rows of positions first .. end - 1 are watched; what they lay on the item's
// keys is kept.
struct WatchedRows {
  std::int64_t first = 0, end = 0;            // positions
  std::int64_t item_begin = 0, item_end = 0;  // keys
};
class ItemAttention : public model::AttentionObserver {
 public:
  ItemAttention(std::int64_t layers, std::int64_t heads);

  // Sets the items to watch; forgets the sums.
  void watch(const WatchedRows& rows);

  // [layer, head], of the rows watched since: mean over rows of the weight on the item's tokens.
  std::vector<double> item_weight() const;
  // [layer, head]: share of rows whose heaviest key is one of the item's tokens.
  std::vector<double> item_first() const;
  // [layer, head]: means over rows of the signs of a head's kind, over the rows with weight outside the
  // first token.
  std::vector<KindSigns> signs() const;
  std::int64_t rows() const noexcept { return rows_; }  // of one head

  const RowStatistics* wanted(const model::AttentionBlock&) override { return nullptr; }
  void seen(const model::AttentionBlock& block) override;

 private:
  void watch_row(const model::AttentionBlock& block, std::int64_t row);

  std::int64_t heads_;
  WatchedRows watched_;
  std::int64_t rows_ = 0;
  std::vector<double> weight_, first_;  // [layer, head], sums
  std::vector<KindSigns> signs_;        // likewise
  std::vector<double> mass_;            // [head, key] of one row
  std::vector<float> out_;
};

// A probe at one length: how often the model is right, and how much each head looks at the right item.

struct ProbeProgress {
  std::int64_t done = 0, questions = 0;
};

// The session's own context bounds the length. It is rewound first, and left without an observer.
ProbedLength measure_probe(model::Session& session, const Probe& probe, std::int64_t length,
                          std::int64_t count,
                          const std::function<void(const ProbeProgress&)>& on_progress = {});

// How many tokens a session needs for prompts of `length`.
std::int64_t probe_room(std::int64_t length);

// One length of the section "probe", with its best of so many heads per layer. Doubles have all their digits, so that
// probed_length_in(to_json(at)) is `at`.
Json to_json(const ProbedLength& at, std::int64_t heads);
// Throws Error{bad_file} for another number of heads than the model has, and JSON's exceptions.
ProbedLength probed_length_in(const Json& json, std::int64_t layers, std::int64_t heads);

}  // namespace sharpmax::audit
