// attend_split(): attention over keys and values that are spread over the processes of a group.
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
// query_head, query, value_feature], is complete on every rank.
//
// Throws Error{unsupported} for a normalizer of the caller's own, and for entmax so close to softmax that it has no kernel.
void attend_split(const AttentionRequest& own, std::int64_t keys, const AnyNormalizer& normalizer, Group& group,
                  AnyMutableTensor<4> out, const Execution& execution = {});

}  // namespace sharpmax
