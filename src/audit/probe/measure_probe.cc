#include "audit/probe/measure_probe.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <span>

#include "audit/measure/findings.h"
#include "audit/measure/reading.h"
#include "job/json_members.h"
#include "model/tokenizer/utf8.h"
#include "statistics/significance.h"

namespace sharpmax::audit {
namespace {

// What one row adds to the signs of a head's kind. Nothing outside the first token: nothing near, no peak.
void add_signs(std::span<const double> weights, std::int64_t position, KindSigns& sums) {
  double sum = 0, near = 0, peak = 0;
  for (std::size_t key = 0; key < weights.size(); ++key) {
    sum += weights[key];
    if (key == 0) continue;
    peak = std::max(peak, weights[key]);
    if (position - static_cast<std::int64_t>(key) < kNear) near += weights[key];
  }
  const double outside = sum - weights[0];
  if (!(sum > 0)) return;
  sums.first += weights[0] / sum;
  if (!(outside > 0)) return;
  sums.near_outside += near / outside;
  sums.peak_outside += peak / outside;
}

}  // namespace

ItemAttention::ItemAttention(std::int64_t layers, std::int64_t heads)
    : heads_(heads),
      weight_(static_cast<std::size_t>(layers * heads)),
      first_(weight_.size()),
      signs_(weight_.size()) {}

void ItemAttention::watch(const WatchedRows& rows) {
  watched_ = rows;
  rows_ = 0;
  std::fill(weight_.begin(), weight_.end(), 0.0);
  std::fill(first_.begin(), first_.end(), 0.0);
  std::fill(signs_.begin(), signs_.end(), KindSigns{});
}

void ItemAttention::seen(const model::AttentionBlock& block) {
  const std::int64_t end = std::min(watched_.end - block.position, block.tokens);
  for (std::int64_t row = std::max<std::int64_t>(watched_.first - block.position, 0); row < end; ++row) {
    watch_row(block, row);
    if (block.layer == 0 && block.first_head == 0) ++rows_;
  }
}

// One row attends again, alone: the sum over its rows of what each key gets is then the row itself. So a
// window, a soft cap, the type of the cache and the normalizer are dealt with where they always are.
void ItemAttention::watch_row(const model::AttentionBlock& block, std::int64_t row) {
  AttentionRequest request = *block.request;
  const std::int64_t keys = block.position + row + 1, width = request.value.shape[3];
  request.query.data = static_cast<const float*>(request.query.data) + row * request.query.strides[2];
  request.query.shape[2] = 1;
  request.key.shape[2] = request.value.shape[2] = keys;
  mass_.assign(static_cast<std::size_t>(block.heads * keys), 0.0);
  out_.resize(static_cast<std::size_t>(block.heads * width));
  RowStatistics statistics;
  statistics.column_mass = TensorView<double, 3>(mass_.data(), {1, block.heads, keys});
  attend(request, *block.normalizer, TensorView<float, 4>(out_.data(), {1, block.heads, 1, width}),
         &statistics, {.threads = 1});
  for (std::int64_t head = 0; head < block.heads; ++head) {
    const double* const weights = mass_.data() + head * keys;
    const auto at = static_cast<std::size_t>(block.layer * heads_ + block.first_head + head);
    for (std::int64_t key = watched_.item_begin; key < std::min(watched_.item_end, keys); ++key)
      weight_[at] += weights[key];
    add_signs({weights, static_cast<std::size_t>(keys)}, keys - 1, signs_[at]);
    const std::int64_t peak = std::max_element(weights, weights + keys) - weights;
    first_[at] += peak >= watched_.item_begin && peak < watched_.item_end ? 1.0 : 0.0;
  }
}

std::vector<double> ItemAttention::item_weight() const {
  std::vector<double> mean = weight_;
  for (double& w : mean) w /= static_cast<double>(rows_);
  return mean;
}

std::vector<KindSigns> ItemAttention::signs() const {
  std::vector<KindSigns> means = signs_;
  for (KindSigns& s : means) {
    for (double* sum : {&s.first, &s.near_outside, &s.peak_outside}) *sum /= static_cast<double>(rows_);
  }
  return means;
}

std::vector<double> ItemAttention::item_first() const {
  std::vector<double> share = first_;
  for (double& s : share) s /= static_cast<double>(rows_);
  return share;
}

}  // namespace sharpmax::audit

namespace sharpmax::audit {
namespace {

constexpr std::size_t kWrongShown = 5;
// An answer's tokens and what shows its end; answers of probes have at most four digits.
constexpr std::int64_t kAnswerRoom = 16;

void add_to(std::vector<double>& sums, const std::vector<double>& more) {
  sums.resize(more.size());
  for (std::size_t i = 0; i < more.size(); ++i) sums[i] += more[i];
}

void add_to(std::vector<KindSigns>& sums, const std::vector<KindSigns>& more, double share) {
  sums.resize(more.size());
  for (std::size_t i = 0; i < more.size(); ++i) {
    sums[i].first += share * more[i].first;
    sums[i].near_outside += share * more[i].near_outside;
    sums[i].peak_outside += share * more[i].peak_outside;
  }
}

void divide(std::vector<double>& sums, double by) {
  for (double& sum : sums) sum /= by;
}

}  // namespace

std::int64_t probe_room(std::int64_t length) { return length + kAnswerRoom; }

ProbedLength measure_probe(model::Session& session, const Probe& probe, std::int64_t length,
                          std::int64_t count, const std::function<void(const ProbeProgress&)>& on_progress) {
  const model::Configuration& c = session.model().configuration();
  const auto questions = probe_questions(session.model(), probe, length, count);
  ProbedLength result{.length = length, .questions = static_cast<std::int64_t>(questions.size())};
  ItemAttention attention(c.layers, c.heads);
  session.rewind(0);
  Examiner examiner(session);
  const model::Watching watching(session, attention);
  for (const Question& question : questions) {
    const auto prompt = static_cast<std::int64_t>(question.prompt.size());
    // The row of the last token alone: those of the answer that is being given are watched below, on the
    // right answer, so that every question weighs the same.
    attention.watch({prompt - 1, prompt, question.item_begin, question.item_end});
    const Answer answer = examiner.ask(question);
    const std::vector<double> asking = attention.item_weight();
    add_to(result.asking_weight, asking);
    add_to(result.asking_first, attention.item_first());
    const std::vector<KindSigns> asking_signs = attention.signs();
    attention.watch({prompt, session.capacity(), question.item_begin, question.item_end});
    const bool more = examiner.read_right_answer(question) > 0;
    add_to(result.answering_weight, more ? attention.item_weight() : asking);
    add_to(result.answering_signs, more ? attention.signs() : asking_signs,
           1 / static_cast<double>(questions.size()));
    result.tokens += static_cast<double>(prompt) / static_cast<double>(questions.size());
    result.right += answer.right;
    if (!answer.right && result.wrong.size() < kWrongShown) result.wrong.push_back(answer.given);
    if (on_progress) on_progress({static_cast<std::int64_t>(&question - questions.data()) + 1, count});
  }
  const auto asked = static_cast<double>(questions.size());
  for (auto* sums : {&result.asking_weight, &result.asking_first, &result.answering_weight})
    divide(*sums, asked);
  const Interval share = share_interval(result.right, result.questions);
  result.low = share.low;
  result.high = share.high;
  return result;
}

}  // namespace sharpmax::audit

namespace sharpmax {

std::int64_t heads_of(const ProbedLength& at, HeadKind kind) {
  return std::count_if(at.answering_signs.begin(), at.answering_signs.end(),
                       [&](const KindSigns& signs) { return audit::kind_of(signs, {}) == kind; });
}

std::vector<ItemHead> best_heads(const ProbedLength& at, std::int64_t heads, std::size_t count) {
  std::vector<ItemHead> all;
  for (std::size_t i = 0; i < at.asking_weight.size(); ++i) {
    const auto place = static_cast<std::int64_t>(i);
    all.push_back({{place / heads, place % heads},
                   at.asking_weight[i],
                   at.asking_first[i],
                   at.answering_weight[i],
                   audit::kind_of(at.answering_signs[i], {})});
  }
  std::stable_sort(all.begin(), all.end(), [](const ItemHead& a, const ItemHead& b) {
    return a.answering_weight > b.answering_weight;
  });
  all.resize(std::min(all.size(), count));
  return all;
}

}  // namespace sharpmax
namespace sharpmax::audit {
namespace {

constexpr std::size_t kBestHeads = 10;

// One list per sign, over heads.
Json signs_json(const std::vector<KindSigns>& signs) {
  Json first = Json::array(), near = Json::array(), peak = Json::array();
  for (const KindSigns& s : signs) {
    first.push_back(s.first);
    near.push_back(s.near_outside);
    peak.push_back(s.peak_outside);
  }
  return {{"first", first}, {"near_outside", near}, {"peak_outside", peak}};
}

std::vector<KindSigns> signs_in(const Json& json) {
  std::vector<double> first, near, peak;
  read_json(json.at("first"), first);
  read_json(json.at("near_outside"), near);
  read_json(json.at("peak_outside"), peak);
  std::vector<KindSigns> signs;
  if (near.size() != first.size() || peak.size() != first.size())
    throw Error(ErrorCode::bad_file, "answering_signs: its lists must have one number per head");
  for (std::size_t i = 0; i < first.size(); ++i) signs.push_back({first[i], near[i], peak[i]});
  return signs;
}

}  // namespace

Json to_json(const ProbedLength& at, std::int64_t heads) {
  Json wrong = Json::array();
  // Tokens may end within a character, and JSON is UTF-8.
  for (const std::string& given : at.wrong) wrong.push_back(model::with_replacements(given));
  Json json{{"length", at.length},
            {"tokens", at.tokens},
            {"questions", at.questions},
            {"right", at.right},
            {"share", at.share()},
            {"low", at.low},
            {"high", at.high},
            {"asking_weight", json_of(at.asking_weight)},
            {"asking_first", json_of(at.asking_first)},
            {"answering_weight", json_of(at.answering_weight)},
            {"answering_signs", signs_json(at.answering_signs)},
            {"wrong", wrong},
            {"best_heads", Json::array()}};
  for (const ItemHead& head : best_heads(at, heads, kBestHeads))
    json["best_heads"].push_back({{"layer", head.place.layer},
                                  {"head", head.place.head},
                                  {"kind", name_of(head.kind)},
                                  {"asking_weight", head.asking_weight},
                                  {"asking_first", head.asking_first},
                                  {"answering_weight", head.answering_weight}});
  for (const HeadKind kind : kHeadKinds) json["kinds"][std::string(name_of(kind))] = heads_of(at, kind);
  return json;
}

ProbedLength probed_length_in(const Json& json, std::int64_t layers, std::int64_t heads) {
  ProbedLength at;
  read_json(json.at("length"), at.length);
  read_json(json.at("tokens"), at.tokens);
  read_json(json.at("questions"), at.questions);
  read_json(json.at("right"), at.right);
  read_json(json.at("low"), at.low);
  read_json(json.at("high"), at.high);
  read_json(json.at("asking_weight"), at.asking_weight);
  read_json(json.at("asking_first"), at.asking_first);
  read_json(json.at("answering_weight"), at.answering_weight);
  at.answering_signs = signs_in(json.at("answering_signs"));
  read_json(json.at("wrong"), at.wrong);
  for (const std::size_t found :
       {at.asking_weight.size(), at.asking_first.size(), at.answering_weight.size(), at.answering_signs.size()})
    check_head_count(found, layers, heads);
  return at;
}

}  // namespace sharpmax::audit
