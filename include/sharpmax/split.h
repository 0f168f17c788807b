// attend_split(): attention over keys and values that are spread over the processes of a group, and its gradient.
//
// Keys are cut into shares of kShareKeys (sharpmax/fold.h). Every rank holds a run of whole shares; all ranks hold all
// queries. Bits depend neither on the number of ranks nor on the number of threads. Keys that fit one share give the bits
// of attend(). Longer rows are scored and summed in double, so they agree with attend() within its rounding.
#pragma once

#include <cstdint>

#include "sharpmax/attention.h"
#include "sharpmax/cluster.h"
#include "sharpmax/fold.h"

namespace sharpmax {

// Keys [begin, end) of the row.
struct KeyRun {
  std::int64_t begin = 0, end = 0;

  std::int64_t size() const noexcept { return end - begin; }
};

// The keys of one rank: whole shares, few nodes of the share tree. May be empty.
KeyRun keys_of_rank(std::int64_t keys, int rank, int size);

// Every rank of the group calls it. `own` has all queries, the keys and values of keys_of_rank() of this rank, and the
// columns of mask and bias that belong to them; causality, window, lengths and offsets count all `keys`. `out`, [batch,
// query_head, query, value_feature], and `statistics` are complete on every rank. column_mass is of the rank's own keys,
// [batch, query_head, own key].
//
// Log-partition, entropy, peak weight, effective support, mass, temperature and threshold come with the output. If any other
// statistic is asked for, rows take one more round.
//
// Throws Error{unsupported} for a normalizer of the caller's own, for entmax so close to softmax that it has no kernel, and
// for statistics.map. A mistake in the arguments of one rank is thrown on all.
void attend_split(const AttentionRequest& own, std::int64_t keys, const AnyNormalizer& normalizer, Group& group,
                  AnyMutableTensor<4> out, const RowStatistics* statistics = nullptr, const Execution& execution = {});

// Its backward. gradients.query and gradients.parameters are complete on every rank; gradients.key, gradients.value and the
// columns of gradients.bias are those of the rank's own keys. The forward is computed again. Gradients of a row of one
// share are those of attend_backward(); longer rows are differentiated in double.
void attend_split_backward(const AttentionRequest& own, std::int64_t keys, const AnyNormalizer& normalizer, Group& group,
                           AnyTensor<4> d_out, const AttentionGradients& gradients, const Execution& execution = {});

}  // namespace sharpmax
