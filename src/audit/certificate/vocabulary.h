// Layer 0 sees tokens, and there are only so many: its queries and keys before the turn are known.
#pragma once

#include <cstdint>
#include <vector>

#include "audit/certificate/folded_head.h"
#include "audit/certificate/largest_product.h"
#include "model/transformer/model.h"

namespace sharpmax::audit {

// What the first layer's norm makes of tokens, before the norm's own weights: [token, width]. Only where
// positions do not enter the embedding. Error{bad_file} where an embedding is not finite.
std::vector<double> unit_inputs(const model::Model& model, const std::vector<model::Token>& tokens);

// Queries or keys of inputs, not turned: [input, feature].
std::vector<double> project(const FoldedHead& head, const FoldedSide& side,
                            const std::vector<double>& inputs);

// Of every token's query or key: the length of each rotation pair and the size of each feature that is not
// turned, never below what the forward pass computes.
Magnitudes magnitudes_of(const model::Model& model, const FoldedHead& head, const FoldedSide& side);

}  // namespace sharpmax::audit
