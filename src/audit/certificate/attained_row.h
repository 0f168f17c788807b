// A row of layer 0 that some text really has: how far a certificate could come down at most.
#pragma once

#include <cstdint>
#include <vector>

#include "audit/certificate/folded_head.h"
#include "audit/certificate/largest_product.h"
#include "model/transformer/model.h"

namespace sharpmax::audit {

struct AttainedRow {
  std::int64_t length = 0;  // keys of the row
  // The widest row found: its query, its two keys and how far before the query they stand.
  double spread = 0.0;
  model::Token query = 0, high = 0, low = 0;
  std::int64_t high_offset = 0, low_offset = 0;
  // The sharpest row found: the weight of its peak under softmax at the beta asked for, and the text whose
  // last token's row it is, [length].
  double peak = 0.0;
  std::vector<model::Token> text;
};

struct Attack {
  std::int64_t length = 0;
  double beta = 1.0;
  std::vector<std::int64_t> queries;  // tokens to try
};

// Every one of these queries against the tokens whose keys are largest, at every offset.
AttainedRow attack(const model::Model& model, const FoldedHead& head, const Magnitudes& query,
                   const Magnitudes& key, const Attack& how);

}  // namespace sharpmax::audit
