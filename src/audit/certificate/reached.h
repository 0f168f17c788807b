// How much of a norm bound inputs of the right size really reach.
#pragma once

#include "audit/certificate/folded_head.h"
#include "model/architecture/configuration.h"

namespace sharpmax::audit {

// The spread of two keys under one query, each the best of its size that a climb finds: the query and the
// keys in turn, at the best offsets of a few hundred. After the soft cap. Whether any text makes such inputs
// is another question.
double reached_spread(const FoldedHead& head, const model::Rope& rope);

}  // namespace sharpmax::audit
