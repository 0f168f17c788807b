#include "retrieval/testing/streamed_set.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "base/numbers.h"
#include "sharpmax/fold.h"

namespace sharpmax::retrieval {

struct DrawnItem {
  double priority = 0.0;
  std::int64_t index = 0;
  std::int32_t item_class = 0;

  bool operator<(const DrawnItem& other) const {  // larger priority first
    return priority != other.priority ? priority > other.priority : index < other.index;
  }
};

// What one round over the items finds out: the items of largest priority, and the ends of the scores.
// Numbers of a part: largest and least score, item of the largest score, then items of largest priority.
class ItemFacts final : public InRounds {
 public:
  explicit ItemFacts(std::size_t kept) : kept_(kept) {}

  bool done() const noexcept override { return done_; }
  void merge(SharePart& into, const SharePart& from) const override {
    Facts a = facts_in(into.numbers), b = facts_in(from.numbers);
    if (b.largest > a.largest) {  // of equal scores the first item counts
      a.largest = b.largest;
      a.ranked = b.ranked;
    }
    a.least = std::min(a.least, b.least);
    std::vector<DrawnItem> joined(a.top.size() + b.top.size());
    std::merge(a.top.begin(), a.top.end(), b.top.begin(), b.top.end(), joined.begin());
    joined.resize(std::min(joined.size(), kept_));
    a.top = std::move(joined);
    into.numbers = numbers_of(a);
  }
  void resolve(const SharePart& whole) override {
    facts_ = facts_in(whole.numbers);
    done_ = true;
  }

  struct Facts {
    double largest = 0.0, least = 0.0;  // scores
    DrawnItem ranked;                   // of the largest score
    std::vector<DrawnItem> top;         // by priority
  };
  const Facts& facts() const { return facts_; }

  void visit(std::int64_t first, const Set& items, std::span<const double> scores, std::vector<double>& numbers) const {
    const auto item = [&](std::size_t i) {
      return DrawnItem{items.priorities[i], first + static_cast<std::int64_t>(i), items.classes[i]};
    };
    Facts facts{.largest = scores[0], .least = scores[0], .ranked = item(0)};
    for (std::size_t i = 1; i < scores.size(); ++i) {
      if (scores[i] > facts.largest) {
        facts.largest = scores[i];
        facts.ranked = item(i);
      }
      facts.least = std::min(facts.least, scores[i]);
    }
    std::vector<DrawnItem>& heap = facts.top;  // the least priority in front
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (heap.size() == kept_ && !(items.priorities[i] > heap.front().priority)) continue;
      if (heap.size() == kept_) {
        std::pop_heap(heap.begin(), heap.end());
        heap.pop_back();
      }
      heap.push_back(item(i));
      std::push_heap(heap.begin(), heap.end());
    }
    std::sort_heap(heap.begin(), heap.end());
    numbers = numbers_of(facts);
  }

 private:
  static void append(std::vector<double>& numbers, const DrawnItem& item) {
    numbers.insert(numbers.end(), {item.priority, static_cast<double>(item.index), static_cast<double>(item.item_class)});
  }
  static DrawnItem item_in(std::span<const double> numbers) {
    return {numbers[0], static_cast<std::int64_t>(numbers[1]), static_cast<std::int32_t>(numbers[2])};
  }
  static std::vector<double> numbers_of(const Facts& facts) {
    std::vector<double> numbers = {facts.largest, facts.least};
    append(numbers, facts.ranked);
    for (const DrawnItem& item : facts.top) append(numbers, item);
    return numbers;
  }
  static Facts facts_in(std::span<const double> numbers) {
    Facts facts{.largest = numbers[0], .least = numbers[1], .ranked = item_in(numbers.subspan(2))};
    for (std::size_t at = 5; at < numbers.size(); at += 3) facts.top.push_back(item_in(numbers.subspan(at)));
    return facts;
  }

  std::size_t kept_;
  Facts facts_;
  bool done_ = false;
};

namespace {

// Rounds that a set may well take; what progress is measured by.
constexpr double kUsualRounds = 6.0;

}  // namespace

struct StreamedEvaluator::Asked {
  TestSet set;
  std::vector<double> query;  // [item_features + 1]
  ItemFacts::Facts facts;
  std::vector<DrawnItem> watched;  // items of largest priority, whose weights are kept

  double weight_of_watched(const SplitRow& row, std::size_t features, std::size_t which) const {
    const std::vector<double>& sum = row.outcome().sum;
    return sum.empty() ? row.outcome().scale * 0.0 : row.outcome().scale * sum[features + which];
  }
};

// One thread's share of items: drawn, scored, weighed, pooled.
class StreamedEvaluator::Worker {
 public:
  explicit Worker(const EvaluationPlan& plan)
      : plan_(plan),
        weights_(to_size(plan.normalizers()) * padded_keys(to_size(kShareKeys))),
        pooled_(to_size(plan.normalizers()) * features()),
        pooler_(plan.head, plan.layer ? &*plan.layer : nullptr, plan.normalizers()) {
    if (plan.layer) padded_query_.resize(plan.layer->stride);
  }

  void draw(const Asked& asked, std::int64_t share) {
    first_ = share * kShareKeys;
    const std::size_t items = to_size(std::min(kShareKeys, asked.set.n - first_));
    items_.priorities.resize(items);
    items_.classes.resize(items);
    scores_.resize(items);
    draw_test_items(asked.set, first_, items_.priorities, items_.classes);
    score(asked.query);
  }

  void visit(const ItemFacts& facts, SharePart& part) const { facts.visit(first_, items_, scores_, part.numbers); }

  void weigh(const Asked& asked, std::span<InRounds* const> live, std::span<SharePart> parts) {
    const std::size_t padded = padded_keys(scores_.size());
    std::vector<std::size_t> weighed;
    for (std::size_t i = 0; i < live.size(); ++i) {
      const std::span<float> weights(weights_.data() + weighed.size() * padded, padded);
      if (static_cast<const SplitRow*>(live[i])->visit({first_, scores_}, weights, parts[i].numbers)) weighed.push_back(i);
    }
    if (weighed.empty()) return;
    const auto rows = static_cast<std::int64_t>(weighed.size());
    pooler_.pool(items_,
                 Matrix<const float>(weights_.data(), rows, static_cast<std::int64_t>(scores_.size()),
                                     static_cast<std::int64_t>(padded)),
                 Matrix<double>(pooled_.data(), rows, static_cast<std::int64_t>(features())));
    for (std::size_t row = 0; row < weighed.size(); ++row) {
      std::vector<double>& sum = parts[weighed[row]].sum;
      const double* const from = pooled_.data() + row * features();
      sum.assign(from, from + features());
      for (const DrawnItem& item : asked.watched) {
        const std::int64_t at = item.index - first_;
        const bool here = at >= 0 && at < static_cast<std::int64_t>(scores_.size());
        sum.push_back(here ? static_cast<double>(weights_[row * padded + to_size(at)]) : 0.0);
      }
    }
  }

  // [g; 1] of one item.
  std::vector<double> features_of(const DrawnItem& item) {
    std::vector<double> pooled(features());
    pooler_.item({.priorities = {item.priority}, .classes = {item.item_class}}, 0, pooled);
    return pooled;
  }

 private:
  std::size_t features() const { return to_size(plan_.head.item_features) + 1; }

  void score(const std::vector<double>& query) {
    const std::size_t last = query.size() - 1;
    if (plan_.layer) {
      std::copy_n(query.begin(), last, padded_query_.begin());
      const Items items{items_.priorities, items_.classes};
      if (plan_.curves)
        plan_.curves->score(*plan_.layer, padded_query_, query[last], items, curves_, scores_);
      else
        score_items(*plan_.layer, padded_query_, query[last], items, scores_);
      return;
    }
    std::vector<double> class_scores(to_size(plan_.head.classes));
    for (std::size_t c = 0; c < class_scores.size(); ++c) class_scores[c] = query[1 + c] + query[last];
    for (std::size_t i = 0; i < scores_.size(); ++i)
      scores_[i] = query[0] * items_.priorities[i] + class_scores[to_size(items_.classes[i])];
  }

  const EvaluationPlan& plan_;
  std::int64_t first_ = 0;
  Set items_;  // of the share; neither query nor right item
  std::vector<double> scores_, padded_query_;
  std::vector<float> weights_;  // [row, padded items]
  std::vector<double> pooled_;  // [row, item_features + 1]
  ScoreCurves::Workspace curves_;
  Pooler pooler_;
};

StreamedEvaluator::StreamedEvaluator(const EvaluationPlan& plan, Group& group, int threads)
    : plan_(plan), group_(group), threads_(threads) {
  for (int t = 0; t < threads; ++t) workers_.push_back(std::make_unique<Worker>(plan));
}
StreamedEvaluator::~StreamedEvaluator() = default;

BlockResult StreamedEvaluator::run(std::int64_t set, std::span<HeatMap> heat_maps,
                                   const std::function<void(double)>& progress) {
  const std::int64_t n = plan_.request.n, shares = shares_of(n);
  const bool mapped = !heat_maps.empty() && set < heat_maps.front().sets;
  const std::size_t watched = mapped ? to_size(heat_maps.front().items) : 1;
  Asked asked{.set = {.seed = plan_.seed, .classes = plan_.head.classes, .n = n, .index = set}};
  double shares_done = 0.0;
  const SharesDone shares_told = [&](std::int64_t count) {
    shares_done += static_cast<double>(count) * group_.size();
    if (progress) progress(std::min(0.99, shares_done / (static_cast<double>(shares) * kUsualRounds)));
  };
  const auto worker = [&](int thread) -> Worker& { return *workers_[to_size(thread)]; };
  for (;; ++asked.set.attempt) {
    asked.query = plan_.head.query_vector(query_of(asked.set));
    ItemFacts facts(std::max<std::size_t>(watched, 2));
    InRounds* const one = &facts;
    run_rounds(group_, {&one, 1}, shares, threads_,
               [&](std::int64_t share, int thread, std::span<InRounds* const>, std::span<SharePart> parts) {
                 worker(thread).draw(asked, share);
                 worker(thread).visit(facts, parts[0]);
               },
               shares_told);
    asked.facts = facts.facts();
    const std::vector<DrawnItem>& top = asked.facts.top;
    if (top.size() < 2 || top[0].priority != top[1].priority) break;
  }
  asked.watched.assign(asked.facts.top.begin(),
                       asked.facts.top.begin() + static_cast<std::ptrdiff_t>(std::min(watched, asked.facts.top.size())));

  std::vector<std::unique_ptr<SplitRow>> rows;
  std::vector<InRounds*> live;
  for (const AnyNormalizer& normalizer : plan_.request.normalizers) {
    rows.push_back(split_row(normalizer, 0, n));
    live.push_back(rows.back().get());
  }
  run_rounds(group_, live, shares, threads_,
             [&](std::int64_t share, int thread, std::span<InRounds* const> of_round, std::span<SharePart> parts) {
               worker(thread).draw(asked, share);
               worker(thread).weigh(asked, of_round, parts);
             },
             shares_told);

  BlockResult result{.sums = std::vector<Measurement>(plan_.request.normalizers.size())};
  tally(asked, rows, result);
  const std::size_t features = to_size(plan_.head.item_features) + 1;
  for (std::size_t which = 0; mapped && which < rows.size(); ++which) {
    HeatMap& map = heat_maps[which];
    const double mass = rows[which]->outcome().mass;
    for (std::size_t i = 0; i < asked.watched.size(); ++i)
      map.weights[to_size(set * map.items + map.items - 1) - i] =
          mass == 0.0 ? 0.0f : static_cast<float>(asked.weight_of_watched(*rows[which], features, i) / mass);
  }
  return result;
}

void StreamedEvaluator::tally(const Asked& asked, std::span<const std::unique_ptr<SplitRow>> rows, BlockResult& result) {
  const std::size_t features = to_size(plan_.head.item_features) + 1;
  const double spread = asked.facts.largest - asked.facts.least;
  result.bound_violations += breaks_spread(plan_.request, spread);
  const bool hard = names_right_class(asked, workers_.front()->features_of(asked.facts.ranked));
  const bool ranked_first = asked.facts.ranked.index == asked.facts.top.front().index;
  for (std::size_t which = 0; which < rows.size(); ++which) {
    const SplitOutcome& outcome = rows[which]->outcome();
    std::vector<double> pooled(features, outcome.scale * 0.0);
    for (std::size_t i = 0; i < features && !outcome.sum.empty(); ++i) pooled[i] = outcome.scale * outcome.sum[i];
    const MeasuredRow row{.entropy = outcome.entropy,
                          .peak_weight = outcome.peak_weight,
                          .mass = outcome.mass,
                          .temperature = outcome.facts.temperature,
                          .right = asked.weight_of_watched(*rows[which], features, 0),
                          .spread = spread};
    result.bound_violations += record_row(plan_.request, plan_.facts[which], row, result.sums[which]);
    record_answer({.hard = hard, .rule = names_right_class(asked, pooled), .ranked_first = ranked_first},
                  result.sums[which]);
  }
}

bool StreamedEvaluator::names_right_class(const Asked& asked, std::span<const double> pooled) const {
  std::vector<double> logits(to_size(plan_.head.classes));
  plan_.head.read_out(pooled, logits);
  return largest_logit(logits) == asked.facts.top.front().item_class;
}

}  // namespace sharpmax::retrieval
