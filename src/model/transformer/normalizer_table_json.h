// The table of normalizers as JSON, schema sharpmax.normalizers/1:
//
//   {"schema": "sharpmax.normalizers/1", "model": {"layers": 30, "heads": 9}, "default": "softmax",
//    "layers": [{"layer": 4, "normalizer": "ssmax:s=0.4"}],
//    "heads": [{"layer": 0, "head": 3, "normalizer": "entropy_target:nats=1"}]}
//
// Later words are stronger: a head's own, its layer's, the default. "model" may be left out; where it is
// there it must be the model's. Anything unknown, named twice or not there is refused.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "model/transformer/normalizer_table.h"

namespace sharpmax::model {

// `name` opens every message. Error{bad_file} says which entry is wrong.
NormalizerTable parse_normalizer_table(std::string_view text, std::string_view name, std::int64_t layers,
                                       std::int64_t heads);

// The shortest that parses back to the same table.
nlohmann::ordered_json to_json(const NormalizerTable& table);

}  // namespace sharpmax::model
