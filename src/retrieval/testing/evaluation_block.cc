#include "retrieval/testing/evaluation_block.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/numbers.h"
#include "normalizer/definition.h"
#include "retrieval/certificate/certificate.h"

namespace sharpmax::retrieval {
namespace {

// Rules without a kind of their own are asked: the weights of a row, and of the same row shifted.
bool keeps_weights_when_shifted(const AnyNormalizer& normalizer) {
  constexpr std::array<double, 5> kRow = {0.75, -0.5, 1.25, 0.25, -1.0};
  constexpr double kShift = 2.0, kRounding = 1e-9;
  std::array<double, kRow.size()> shifted, plain_weights, shifted_weights;
  std::transform(kRow.begin(), kRow.end(), shifted.begin(), [](double e) { return e + kShift; });
  weigh_row(normalizer, 0, kRow, plain_weights);
  weigh_row(normalizer, 0, shifted, shifted_weights);
  for (std::size_t i = 0; i < kRow.size(); ++i)
    if (!(std::abs(plain_weights[i] - shifted_weights[i]) <= kRounding)) return false;
  return true;
}

}  // namespace

RuleFacts facts_of(const AnyNormalizer& normalizer, std::int64_t n) {
  const HeadParameters parameters(normalizer.parameters(), 0);
  const Rule rule = normalizer.definition().rule(parameters, static_cast<double>(n));
  switch (rule.kind) {
    case RuleKind::exponential:
      return {.ignores_shift = rule.sink == 0.0, .is_softmax = rule.sink == 0.0};
    case RuleKind::surveyed:
    case RuleKind::entropy_target:
    case RuleKind::peak_target:
      return {.ignores_shift = true, .is_softmax = true};
    case RuleKind::top_k:
    case RuleKind::hard:
    case RuleKind::threshold:
      return {.ignores_shift = true};
    case RuleKind::sigmoid:
    case RuleKind::relu:
    case RuleKind::softpick:
    case RuleKind::self_adjust:
    case RuleKind::stick_breaking:
    case RuleKind::proportional:
      return {};
    case RuleKind::specification:
      break;
  }
  return {.ignores_shift = keeps_weights_when_shifted(normalizer)};
}

namespace {

// A block holds about this many items, unless one set has more: enough for a call of normalize() to be
// cheap beside its rows.
constexpr std::int64_t kBlockItems = 4096;
constexpr std::int64_t kMostBlockSets = 256;
constexpr std::int64_t kGroupWeights = std::int64_t{1} << 23;  // 32 MB of weights together

std::vector<RuleFacts> facts_of_all(const EvaluationRequest& request) {
  std::vector<RuleFacts> all;
  for (const AnyNormalizer& normalizer : request.normalizers) all.push_back(facts_of(normalizer, request.n));
  return all;
}

}  // namespace

std::int64_t largest_logit(std::span<const double> logits) {
  for (const double logit : logits)
    if (std::isnan(logit)) return -1;
  return std::max_element(logits.begin(), logits.end()) - logits.begin();
}

bool breaks_spread(const EvaluationRequest& request, double spread) {
  constexpr double kRounding = 1.0 + 1e-9;  // of double in either figure
  return request.certified_spread > 0.0 && !(spread <= request.certified_spread * kRounding);
}

std::int64_t record_row(const EvaluationRequest& request, const RuleFacts& facts, const MeasuredRow& row,
                        Measurement& sums) {
  // The kernels round gaps to float, which may lengthen them by 2^-24, and weights by less than 1e-5: an
  // exponential errs by 1.2 ulp, a sum in a lane by 64 * 2^-24.
  constexpr double kLonger = 1.0 + 0x1p-23, kHeavier = 1.0 + 1e-5;
  sums.entropy += row.entropy;
  sums.peak_weight += row.peak_weight;
  sums.right_weight += row.mass == 0.0 ? 0.0 : row.right / row.mass;
  sums.temperature += row.temperature;
  sums.spread += row.spread;
  sums.largest_peak_weight = std::max(sums.largest_peak_weight, row.peak_weight);
  sums.largest_spread = std::max(sums.largest_spread, row.spread);
  if (!(request.certified_spread > 0.0) || !facts.is_softmax) return 0;
  return !(row.peak_weight <= kHeavier * largest_possible_weight(static_cast<double>(request.n),
                                                                 kLonger * request.certified_spread,
                                                                 std::abs(row.temperature)));
}

void record_answer(const SetAnswer& answer, Measurement& sums) {
  const auto [hard, rule, ranked_first] = answer;
  sums.sets += 1;
  sums.right += rule;
  sums.ranked_first += ranked_first;
  sums.hard_right_rule_right += hard && rule;
  sums.hard_right_rule_wrong += hard && !rule;
  sums.hard_wrong_rule_right += !hard && rule;
  sums.hard_wrong_rule_wrong += !hard && !rule;
}

EvaluationPlan::EvaluationPlan(const Head& trained, const EvaluationRequest& wanted)
    : request(wanted), seed(trained.seed), head(trained), facts(facts_of_all(wanted)) {
  if (head.encoder == Encoder::mlp) {
    layer.emplace(head);
    if (ScoreCurves all(head); all.worth_it(request.n)) curves = std::move(all);
  }
  block_sets = std::clamp<std::int64_t>(kBlockItems / request.n, 1, kMostBlockSets);
  group = std::clamp<std::int64_t>(kGroupWeights / (block_sets * request.n), 1,
                                   std::max<std::int64_t>(normalizers(), 1));
}

BlockEvaluator::BlockEvaluator(const EvaluationPlan& plan)
    : plan_(plan), pooler_(plan.head, plan.layer ? &*plan.layer : nullptr, plan.group) {
  const std::int64_t sets = plan.block_sets, n = plan.request.n, rows = plan.normalizers() + 1;
  const FoldedHead& head = plan.head;
  sets_.resize(to_size(sets));
  query_inputs_.resize(to_size(sets * (head.query_features + 1)));
  queries_.resize(to_size(sets * (head.item_features + 1)));
  if (plan.layer) padded_query_.resize(plan.layer->stride);
  scores_.resize(to_size(sets * n));
  gaps_.resize(to_size(sets * n));
  if (!std::all_of(plan.facts.begin(), plan.facts.end(), [](RuleFacts f) { return f.ignores_shift; }))
    plain_.resize(to_size(sets * n));
  ranked_.resize(to_size(sets));
  spread_.resize(to_size(sets));
  weights_.resize(to_size(plan.group * sets * n));
  for (auto* statistic : {&entropy_, &peak_, &mass_, &temperature_})
    statistic->resize(to_size(plan.group * sets));
  pooled_.resize(to_size(rows * sets * (head.item_features + 1)));
  hidden_.resize(to_size(rows * sets * head.width));
  logits_.resize(to_size(rows * sets * head.classes));
}

BlockResult BlockEvaluator::run(std::int64_t first, std::int64_t count, std::span<HeatMap> heat_maps) {
  first_ = first;
  count_ = count;
  BlockResult result{.sums = std::vector<Measurement>(plan_.request.normalizers.size())};
  draw(first);
  score();
  compare_scores();
  for (std::int64_t s = 0; s < count_; ++s)
    result.bound_violations += breaks_spread(plan_.request, spread_[to_size(s)]);
  for (std::int64_t from = 0; from < plan_.normalizers(); from += plan_.group)
    weigh_group(from, std::min(from + plan_.group, plan_.normalizers()), result, heat_maps);
  answer();
  tally(result);
  return result;
}

std::vector<double> BlockEvaluator::scores_of(std::int64_t set) {
  first_ = set;
  count_ = 1;
  draw(set);
  score();
  return {scores_.begin(), scores_.begin() + plan_.request.n};
}

void BlockEvaluator::draw(std::int64_t first) {
  const FoldedHead& head = plan_.head;
  const std::int64_t inputs = head.query_features + 1;
  for (std::int64_t s = 0; s < count_; ++s) {
    draw_test_set(plan_.seed, head.classes, plan_.request.n, first + s, sets_[to_size(s)]);
    double* const h = query_inputs_.data() + s * inputs;
    const double y = sets_[to_size(s)].query;
    h[0] = y;
    if (plan_.layer) {
      for (std::int64_t j = 0; j < head.width; ++j)
        h[j] = head.query_slope[to_size(j)] * y + head.query_offset[to_size(j)];
      gelu_in_place({h, to_size(head.width)});
    }
    h[inputs - 1] = 1.0;
  }
  gemm(1.0, Matrix<const double>(query_inputs_.data(), count_, inputs),
       transpose(Matrix<const double>(head.score.data(), head.item_features + 1, inputs)), 0.0,
       Matrix<double>(queries_.data(), count_, head.item_features + 1));
}

void BlockEvaluator::score() {
  const std::int64_t n = plan_.request.n, features = plan_.head.item_features;
  std::vector<double> class_scores(to_size(plan_.head.classes));
  for (std::int64_t s = 0; s < count_; ++s) {
    const Set& set = sets_[to_size(s)];
    const double* const t = queries_.data() + s * (features + 1);
    const std::span<double> scores(scores_.data() + s * n, to_size(n));
    if (plan_.layer) {
      std::copy_n(t, features, padded_query_.begin());
      const Items items{set.priorities, set.classes};
      if (plan_.curves)
        plan_.curves->score(*plan_.layer, padded_query_, t[features], items, curves_, scores);
      else
        score_items(*plan_.layer, padded_query_, t[features], items, scores);
      continue;
    }
    for (std::size_t c = 0; c < class_scores.size(); ++c) class_scores[c] = t[1 + c] + t[features];
    for (std::size_t i = 0; i < scores.size(); ++i)
      scores[i] = t[0] * set.priorities[i] + class_scores[to_size(set.classes[i])];
  }
}

void BlockEvaluator::compare_scores() {
  const std::int64_t n = plan_.request.n;
  for (std::int64_t s = 0; s < count_; ++s) {
    const std::span<const double> scores(scores_.data() + s * n, to_size(n));
    const auto [least, last_largest] = std::minmax_element(scores.begin(), scores.end());
    const double largest = *last_largest;
    ranked_[to_size(s)] = std::find(scores.begin(), scores.end(), largest) - scores.begin();
    spread_[to_size(s)] = largest - *least;
    for (std::size_t i = 0; i < scores.size(); ++i)
      gaps_[to_size(s * n) + i] = static_cast<float>(scores[i] - largest);
    if (plain_.empty()) continue;
    for (std::size_t i = 0; i < scores.size(); ++i)
      plain_[to_size(s * n) + i] = static_cast<float>(scores[i]);
  }
}

std::span<float> BlockEvaluator::weights_of(std::int64_t row, std::int64_t set) {
  const std::int64_t n = plan_.request.n;
  return {weights_.data() + (row * plan_.block_sets + set) * n, to_size(n)};
}
std::span<const float> BlockEvaluator::weights_of(std::int64_t row, std::int64_t set) const {
  return const_cast<BlockEvaluator*>(this)->weights_of(row, set);
}

void BlockEvaluator::weigh_group(std::int64_t from, std::int64_t to, BlockResult& result,
                                 std::span<HeatMap> heat_maps) {
  const std::int64_t n = plan_.request.n, features = plan_.head.item_features + 1;
  const Extents<4> shape{1, 1, count_, n};
  for (std::int64_t which = from; which < to; ++which) {
    const std::int64_t row = which - from, at = row * plan_.block_sets;
    const auto view = [&](std::vector<double>& values) {
      return TensorView<double, 3>(values.data() + at, {1, 1, count_});
    };
    RowStatistics statistics;
    statistics.entropy = view(entropy_);
    statistics.peak_weight = view(peak_);
    statistics.mass = view(mass_);
    statistics.temperature = view(temperature_);
    const float* const scores = (plan_.facts[to_size(which)].ignores_shift ? gaps_ : plain_).data();
    normalize(TensorView<const float, 4>(scores, shape), plan_.request.normalizers[to_size(which)],
              TensorView<float, 4>(weights_of(row, 0).data(), shape), &statistics, {.threads = 1});
    record(which, row, result);
    if (!heat_maps.empty()) map_heat(heat_maps[to_size(which)], row);
  }
  for (std::int64_t s = 0; s < count_; ++s)
    pooler_.pool(sets_[to_size(s)],
                 Matrix<const float>(weights_of(0, s).data(), to - from, n, plan_.block_sets * n),
                 Matrix<double>(pooled_.data() + (from * count_ + s) * features, to - from, features,
                                count_ * features));
}

void BlockEvaluator::record(std::int64_t which, std::int64_t row, BlockResult& result) const {
  for (std::int64_t s = 0; s < count_; ++s) {
    const std::size_t at = to_size(row * plan_.block_sets + s);
    const MeasuredRow measured{.entropy = entropy_[at],
                               .peak_weight = peak_[at],
                               .mass = mass_[at],
                               .temperature = temperature_[at],
                               .right = weights_of(row, s)[to_size(sets_[to_size(s)].right)],
                               .spread = spread_[to_size(s)]};
    result.bound_violations +=
        record_row(plan_.request, plan_.facts[to_size(which)], measured, result.sums[to_size(which)]);
  }
}

void BlockEvaluator::map_heat(HeatMap& map, std::int64_t row) const {
  std::vector<std::int64_t> order(to_size(plan_.request.n));
  for (std::int64_t s = 0; s < count_ && first_ + s < map.sets; ++s) {
    const Set& set = sets_[to_size(s)];
    const auto heavier = [&](std::int64_t a, std::int64_t b) {
      const double left = set.priorities[to_size(a)], right = set.priorities[to_size(b)];
      return left != right ? left > right : a < b;
    };
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::partial_sort(order.begin(), order.begin() + map.items, order.end(), heavier);
    const double mass = mass_[to_size(row * plan_.block_sets + s)];
    for (std::int64_t i = 0; i < map.items; ++i)
      map.weights[to_size((first_ + s) * map.items + map.items - 1 - i)] =
          mass == 0.0 ? 0.0f : static_cast<float>(weights_of(row, s)[to_size(order[to_size(i)])] / mass);
  }
}

void BlockEvaluator::answer() {
  const FoldedHead& head = plan_.head;
  const std::int64_t features = head.item_features + 1, rows = (plan_.normalizers() + 1) * count_;
  for (std::int64_t s = 0; s < count_; ++s)
    pooler_.item(sets_[to_size(s)], ranked_[to_size(s)],
                 {pooled_.data() + (plan_.normalizers() * count_ + s) * features, to_size(features)});
  for (std::int64_t row = 0; row < rows; ++row) {
    std::copy(head.hidden_bias.begin(), head.hidden_bias.end(), hidden_.begin() + row * head.width);
    std::copy(head.out_bias.begin(), head.out_bias.end(), logits_.begin() + row * head.classes);
  }
  const Matrix<double> hidden(hidden_.data(), rows, head.width);
  gemm(1.0, Matrix<const double>(pooled_.data(), rows, features),
       transpose(Matrix<const double>(head.hidden.data(), head.width, features)), 1.0, hidden);
  gelu_in_place({hidden_.data(), to_size(rows * head.width)});
  gemm(1.0, hidden, transpose(Matrix<const double>(head.out.data(), head.classes, head.width)), 1.0,
       Matrix<double>(logits_.data(), rows, head.classes));
}

void BlockEvaluator::tally(BlockResult& result) const {
  const std::int64_t classes = plan_.head.classes;
  const auto is_right = [&](std::int64_t which, std::int64_t s) {
    const std::span<const double> logits(logits_.data() + (which * count_ + s) * classes, to_size(classes));
    return largest_logit(logits) == sets_[to_size(s)].classes[to_size(sets_[to_size(s)].right)];
  };
  for (std::int64_t s = 0; s < count_; ++s) {
    const bool hard = is_right(plan_.normalizers(), s);
    for (std::int64_t which = 0; which < plan_.normalizers(); ++which)
      record_answer({.hard = hard,
                     .rule = is_right(which, s),
                     .ranked_first = ranked_[to_size(s)] == sets_[to_size(s)].right},
                    result.sums[to_size(which)]);
  }
}

}  // namespace sharpmax::retrieval
