// The parts that several doors check alike.
#pragma once

#include <string_view>
#include <vector>

#include "attention/view_checks.h"
#include "sharpmax/attention.h"

namespace sharpmax {

struct HeadCounts {
  std::int64_t batches = 0, heads = 0, queries = 0, keys = 0;
};

// Shapes, strides and gaps of whatever is asked for; every present view joins `outputs`.
void check_statistics(std::string_view door, const RowStatistics& statistics, const HeadCounts& counts,
                      std::vector<NamedView>& outputs);

// Queries, keys, values, mask, bias, lengths, documents, scale; every present view joins `inputs`.
void check_request(std::string_view door, const AttentionRequest& request, const AnyNormalizer& normalizer,
                   std::vector<NamedView>& inputs);

// [parameter, query_head]; joins `outputs` when present.
void check_parameter_gradients(std::string_view door, const TensorView<double, 2>& view,
                               const AnyNormalizer& normalizer, std::int64_t heads,
                               std::vector<NamedView>& outputs);

// An optional view without data is absent; one that claims elements all the same is a mistake.
bool is_there(const NamedView& view);

}  // namespace sharpmax
