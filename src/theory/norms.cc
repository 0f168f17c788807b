#include "theory/norms.h"

#include "theory/arguments.h"

namespace sharpmax::theory {

double norm_spread_bound(const NormFacts& facts) {
  require("sigma_max(Q)", facts.query_gain, kNotNegative);
  require("sigma_max(K)", facts.key_gain, kNotNegative);
  require("the query's norm", facts.query_norm, kNotNegative);
  require("the largest key's norm", facts.key_norm, kNotNegative);
  require("scale", facts.scale, kNotNegative);
  return 2.0 * facts.scale * facts.query_gain * facts.key_gain * facts.query_norm * facts.key_norm;
}

}  // namespace sharpmax::theory
