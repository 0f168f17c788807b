// The backward of exponential rules, key block by key block, from what the forward saved.
//
// Parameters move beta or the sink. With z = beta e, dz_j = p_j (dP_j - D) and means under the weights,
//   d beta = cov(dP, z) / beta = (sum of dz_j z_j - mean z * sum of dz_j) / beta
//   d c    = -D exp(-ln(c + sum exp e))
// The covariance has its own mean of z and needs no D but for centring: what rounding has done to the saved
// output falls out of it, and so does any shift of the scores. (q . dq, which is the same sum without bias
// and cap, would add up dz_j k_j first and cancel feature by feature.)
#if defined(SHARPMAX_BACKWARD_STREAMING_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SHARPMAX_BACKWARD_STREAMING_INL_H_
#undef SHARPMAX_BACKWARD_STREAMING_INL_H_
#else
#define SHARPMAX_BACKWARD_STREAMING_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/tiles/backward_block-inl.h"
#include "attention/rows/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {

// What an exponential row needs: weight = exp(z - shift), and D = dO . O.
struct StreamingRow {
  double shift = 0.0;
  double mean = 0.0;
  // Sums over the keys seen so far, where parameters are wanted.
  double weights = 0.0;    // of p
  double scores = 0.0;     // of p z
  double gradients = 0.0;  // of dz
  double products = 0.0;   // of dz z
};

HWY_INLINE StreamingRow ReadSaved(const BackwardContext& c, BlockRow& row, const float* d_out) {
  const Saved& saved = c.job.call->saved;
  const std::int64_t batch = c.head.segment->batch;
  const AnyTensor<4>& out = saved.out;
  float* line = c.scratch.line;
  ReadFloats(out.data, out.dtype,
             batch * out.strides[0] + row.head * out.strides[1] + row.query * out.strides[2], c.value_feature,
             line);
  double mean = 0.0;
  for (std::size_t i = 0; i < c.value_feature; ++i)
    mean += static_cast<double>(line[i]) * d_out[i * kTileRows];
  double shift = saved.log_partition(batch, row.head, row.query);
  const double sink =
      rule_for(c.job.call->normalizer, row.head, std::max<std::int64_t>(1, row.end - row.begin)).sink;
  if (sink > 0.0) shift += std::log1p(sink * std::exp(-shift));
  return {.shift = shift, .mean = mean};
}

HWY_INLINE double LaneSum(FloatVec sums) {
  HWY_ALIGN float lanes[kLanes];
  hn::Store(sums, FloatTag(), lanes);
  double sum = 0.0;
  for (const float lane : lanes) sum += static_cast<double>(lane);
  return sum;
}

// weights = exp(scores - shift), d_scores = weights * (dP - D), in place.
template <bool kParameters>
HWY_INLINE void GradeTiles(float* HWY_RESTRICT weights, float* HWY_RESTRICT d_scores, std::size_t tiles,
                           StreamingRow& row) {
  const FloatTag d;
  const Exponential exponential(1.0);
  const FloatVec shift = hn::Set(d, static_cast<float>(row.shift));
  const FloatVec mean = hn::Set(d, static_cast<float>(row.mean));
  FloatVec sum_p = hn::Zero(d), sum_pz = hn::Zero(d), sum_dz = hn::Zero(d), sum_dzz = hn::Zero(d);
  for (std::size_t t = 0; t < tiles; ++t, weights += kTileSize, d_scores += kTileSize) {
    SHARPMAX_UNROLL
    for (std::size_t v = 0; v < kTileKeys; v += kLanes) {
      const FloatVec score = hn::Load(d, weights + v);
      const auto masked = hn::Eq(score, hn::Set(d, -std::numeric_limits<float>::infinity()));
      const FloatVec p = hn::IfThenZeroElse(masked, exponential(hn::Sub(score, shift)));
      hn::Store(p, d, weights + v);
      const FloatVec gradient =
          hn::IfThenZeroElse(masked, hn::Mul(p, hn::Sub(hn::Load(d, d_scores + v), mean)));
      hn::Store(gradient, d, d_scores + v);
      if constexpr (kParameters) {
        const FloatVec z = hn::IfThenZeroElse(masked, score);
        sum_p = hn::Add(sum_p, p);
        sum_pz = hn::MulAdd(p, z, sum_pz);
        sum_dz = hn::Add(sum_dz, gradient);
        sum_dzz = hn::MulAdd(gradient, z, sum_dzz);
      }
    }
  }
  if constexpr (kParameters) {
    row.weights += LaneSum(sum_p);
    row.scores += LaneSum(sum_pz);
    row.gradients += LaneSum(sum_dz);
    row.products += LaneSum(sum_dzz);
  }
}

// What the rows of a block leave of the parameters, added in their order.
HWY_INLINE void AddParameters(const BackwardContext& c, std::span<const StreamingRow> saved) {
  const AnyNormalizer& normalizer = c.job.call->normalizer;
  const Definition& definition = normalizer.definition();
  const auto heads = static_cast<std::size_t>(c.job.call->request.query.shape[1]);
  double parameters[kMaxParameters];
  for (std::size_t i = 0; i < saved.size(); ++i) {
    if (c.keys[i] == 0) continue;
    const StreamingRow& row = saved[i];
    RuleGradient d_rule;
    if (definition.moves.beta) {
      const double covariance = row.products - row.scores / row.weights * row.gradients;
      // One key has nothing to move against, and under ssmax a beta of 0 perhaps; but NaN stays NaN.
      d_rule.beta = c.keys[i] == 1 ? 0.0 * covariance : covariance / c.rows[i].beta;
    }
    if (definition.moves.sink) {
      const double mean = row.gradients + row.mean * row.weights;
      d_rule.sink = mean == 0.0 ? 0.0 : -mean * std::exp(-row.shift);
    }
    const auto head = static_cast<std::size_t>(c.rows[i].head);
    std::fill_n(parameters, c.job.parameters, 0.0);
    definition.through_rule(HeadParameters(normalizer.parameters(), head), static_cast<double>(c.keys[i]),
                            d_rule, {parameters, c.job.parameters});
    for (std::size_t p = 0; p < c.job.parameters; ++p) c.sums.d_parameters[p * heads + head] += parameters[p];
  }
}

HWY_INLINE void StreamBackward(const BackwardContext& c) {
  const BackwardScratch& scratch = c.scratch;
  const bool parameters = c.job.parameters > 0 && c.job.call->normalizer.definition().through_rule != nullptr;
  StreamingRow saved[kBlockRows];
  for (std::size_t i = 0; i < c.rows.size(); ++i) {
    const float* d_out = scratch.d_out + (i / kTileRows) * kTileRows * c.value_feature + i % kTileRows;
    saved[i] = ReadSaved(c, c.rows[i], d_out);
  }
  constexpr std::size_t kGroupFloats = kBlockPanels * kTileSize;
  for (std::size_t begin = c.all.first; begin < c.all.second; begin += kBlockPanels) {
    const std::size_t end = std::min(begin + kBlockPanels, c.all.second);
    for (std::size_t g = 0; g < c.groups; ++g) {
      float* weights = scratch.weights + g * kGroupFloats;
      float* d_scores = scratch.d_scores + g * kGroupFloats;
      ScoreBoth(c, g, begin, end, weights, d_scores);
      const std::size_t from = std::clamp(c.visible[g].first, begin, end);
      const std::size_t to = std::clamp(c.visible[g].second, from, end);
      const auto group = GroupOf(c.rows, g);
      for (std::size_t r = 0; r < group.size(); ++r) {
        const std::size_t at = (from - begin) * kTileSize + r * kTileKeys;
        if (parameters) {
          GradeTiles<true>(weights + at, d_scores + at, to - from, saved[g * kTileRows + r]);
        } else {
          GradeTiles<false>(weights + at, d_scores + at, to - from, saved[g * kTileRows + r]);
        }
        if (c.job.d_bias != nullptr) AddToBias(c, group[r], from, to, d_scores + at, group[r].beta);
      }
      if (scratch.slopes != nullptr) {
        const std::size_t at = (from - begin) * kTileSize;
        ThroughCap(SlopesOf(c, weights + at), to - from, group.size(), d_scores + at);
      }
      if (group.size() < kTileRows) ZeroMissingRows(group.size(), end - begin, weights, d_scores);
    }
    AddProducts(c, begin, end, scratch.weights, scratch.d_scores, kGroupFloats);
  }
  if (parameters) AddParameters(c, {saved, c.rows.size()});
}

}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();

#endif  // SHARPMAX_BACKWARD_STREAMING_INL_H_
