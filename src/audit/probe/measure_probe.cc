#include "audit/probe/measure_probe.h"

#include <algorithm>

#include "audit/measure/head_kind.h"
#include "audit/probe/item_attention.h"
#include "statistics/significance.h"

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
