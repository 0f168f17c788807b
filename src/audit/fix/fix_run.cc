#include "audit/fix/fix_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "base/in_quotes.h"
#include "model/generation/generate.h"
#include "sharpmax/error.h"

namespace sharpmax::audit {
namespace {

constexpr std::int64_t kBlocks = 6;

}  // namespace

HeadSearch::HeadSearch(model::NormalizerTable on, model::NormalizerTable off, std::vector<bool> members, double start,
                       std::int64_t budget)
    : on_(std::move(on)), off_(std::move(off)), members_(std::move(members)), best_(start), budget_(budget) {
  seen_.insert(members_);
  const std::int64_t layers = on_.layers(), block = (layers + kBlocks - 1) / kBlocks;
  if (block > 1)
    for (std::int64_t first = 0; first < layers; first += block)
      add_layers(first, std::min(first + block, layers));
  for (std::int64_t layer = 0; layer < layers; ++layer) add_layers(layer, layer + 1);
  for (std::int64_t layer = 0; layer < layers; ++layer)
    for (std::int64_t head = 0; head < on_.heads(); ++head)
      groups_.push_back({fmt::format("layer {} head {}", layer, head),
                         {static_cast<std::size_t>(layer * on_.heads() + head)}});
}

void HeadSearch::add_layers(std::int64_t first, std::int64_t end) {
  Group group{end - first == 1 ? fmt::format("layer {}", first)
                               : fmt::format("layers {}-{}", first, end - 1)};
  for (std::int64_t at = first * on_.heads(); at < end * on_.heads(); ++at)
    group.heads.push_back(static_cast<std::size_t>(at));
  groups_.push_back(std::move(group));
}

std::optional<model::NormalizerTable> HeadSearch::next() {
  while (budget_ > 0 && group_ < groups_.size()) {
    const Group& group = groups_[group_++];
    tried_ = members_;
    const bool off =
        std::any_of(group.heads.begin(), group.heads.end(), [&](std::size_t at) { return members_[at]; });
    for (const std::size_t at : group.heads) tried_[at] = !off;
    if (!seen_.insert(tried_).second) continue;
    --budget_;
    last_ = fmt::format("{}: {}", off ? "off" : "on", group.name);
    return table_of(tried_);
  }
  return std::nullopt;
}

void HeadSearch::report(double score) {
  if (!(score > best_)) return;
  best_ = score;
  members_ = tried_;
}

model::NormalizerTable HeadSearch::table_of(const std::vector<bool>& members) const {
  model::NormalizerTable table = off_;
  for (std::int64_t layer = 0; layer < on_.layers(); ++layer)
    for (std::int64_t head = 0; head < on_.heads(); ++head)
      if (members[static_cast<std::size_t>(layer * on_.heads() + head)])
        table.set(layer, head, on_.at(layer, head));
  return table;
}

namespace {

bool same(const RuleTable& a, const RuleTable& b) {
  return a.normalizers == b.normalizers && a.rope == b.rope;
}

}  // namespace

FixRun::FixRun(const model::Model& model, FixPlan plan, const model::SessionSettings& settings,
               std::vector<TriedRule> earlier)
    : model_(model), plan_(std::move(plan)), settings_(settings), trials_(std::move(earlier)) {
  settings_.capacity = plan_.material.room(model.tokenizer());
}

std::int64_t FixRun::whole_cost() const {
  const std::int64_t tuning = plan_.material.cost(Part::tuning),
                     held_out = plan_.material.cost(Part::held_out);
  return (static_cast<std::int64_t>(plan_.rules.size()) + 1) * (tuning + held_out) +
         static_cast<std::int64_t>(plan_.material.tuning.front().size()) + plan_.search_budget * tuning +
         (plan_.search_budget > 0 ? held_out : 0) - skipped_;
}

model::SessionSettings FixRun::settings_for(const TriedRule& trial, std::int64_t room) const {
  model::SessionSettings settings = settings_;
  settings.capacity = room;
  settings.normalizers = trial.table.normalizers;
  if (!trial.table.rope.empty())
    settings.rope_scaling = model::parse_rope_scaling(trial.table.rope, model_.configuration().context);
  return settings;
}

Outcome FixRun::measure_share(const TriedRule& trial, const TrialShare& share, const FixListener& listener) {
  if (session_place_ != share.place) {  // memory for one cache at a time
    session_.reset();
    pass_.reset();
    session_place_ = share.place;
  }
  const std::int64_t whole = whole_cost();
  const auto on_cost = [&](std::int64_t cost) {
    if (listener.on_cost) listener.on_cost(share.place == 0 ? "the model as it is" : trial.name, done_ + cost, whole);
  };
  Outcome outcome;
  if (plan_.reading.by_layer) {
    outcome = share_by_layer(trial, share, on_cost);
  } else {
    if (!session_) session_ = std::make_unique<model::Session>(model_, settings_for(trial, settings_.capacity));
    outcome = try_share(*session_, plan_.material, share.part, share.share, on_cost);
  }
  done_ += plan_.material.cost(share.part, share.share);
  return outcome;
}

Outcome FixRun::share_by_layer(const TriedRule& trial, const TrialShare& share,
                               const std::function<void(std::int64_t)>& on_cost) {
  const auto& chunks = plan_.material.text(share.part);
  if (share.share < chunks.size()) {
    session_.reset();
    if (!pass_)
      pass_ = std::make_unique<model::LayerPass>(model_, settings_for(trial, plan_.material.text_room()), plan_.reading.group);
    return chunk_by_layer(chunks[share.share], share, on_cost);
  }
  pass_.reset();
  Group* const group = plan_.reading.group;
  const int asks = group ? static_cast<int>(share.share % static_cast<std::size_t>(group->size())) : 0;
  Outcome outcome;
  if (!group || group->rank() == asks) {
    if (!session_)
      session_ = std::make_unique<model::Session>(model_, settings_for(trial, plan_.material.question_room(model_.tokenizer())));
    outcome = try_share(*session_, plan_.material, share.part, share.share, on_cost);
  }
  if (!group || group->size() == 1) return outcome;
  Group::Bytes right;
  for (const std::vector<bool>& answers : outcome.right)
    for (const bool answer : answers) right.push_back(std::byte{answer});
  outcome.right.assign(1, {});
  for (const std::byte answer : group->broadcast(right, asks)) outcome.right[0].push_back(answer != std::byte{0});
  return outcome;
}

Outcome FixRun::chunk_by_layer(std::span<const model::Token> chunk, const TrialShare& share,
                               const std::function<void(std::int64_t)>& on_cost) {
  using Clock = std::chrono::steady_clock;
  const FixReading& reading = plan_.reading;
  const std::int64_t layers = model_.configuration().layers, read = static_cast<std::int64_t>(chunk.size()) - 1;
  const std::uint64_t print = model::fingerprint_with(
      reading.state.fingerprint, fmt::format("{} {} {}", share.place, share.part == Part::tuning, share.share));
  const bool saves = pass_->agreed(!reading.state.path.empty());
  if (saves) pass_->load(reading.state.path, print, read);
  auto saved = Clock::now();
  const auto losses = model::chunk_losses(
      *pass_, chunk, 0,
      {.on_block = [&](std::int64_t layer, std::int64_t tokens) { on_cost((layer * read + tokens) / layers); },
       .on_layer =
           [&](std::int64_t) {
             const bool due = std::chrono::duration<double>(Clock::now() - saved).count() >= reading.state.seconds;
             if (!saves || !pass_->agreed(due)) return;
             pass_->save(reading.state.path, print, {});
             saved = Clock::now();
           }});
  Outcome outcome;
  outcome.runs = runs_of(losses.losses);
  return outcome;
}

Outcome FixRun::measure(const TriedRule& trial, std::size_t place, Part part, const FixListener& listener) {
  std::vector<TrialShare> shares;
  for (std::size_t share = 0; share < plan_.material.shares(part); ++share) shares.push_back({place, part, share});
  const auto here = [&](const TrialShare& share) { return measure_share(trial, share, listener); };
  Outcome outcome;
  if (plan_.measure) {
    for (Outcome& share : plan_.measure(shares, here)) append(outcome, std::move(share));
  } else {
    for (const TrialShare& share : shares) append(outcome, here(share));
  }
  return outcome;
}

void FixRun::try_at(std::size_t place, TriedRule trial, const FixListener& listener) {
  const bool wants_both = !trial.searched;
  if (place < trials_.size()) {
    const TriedRule& earlier = trials_[place];
    if (earlier.name != trial.name || !same(earlier.table, trial.table) || (wants_both && !earlier.held_out))
      throw Error(ErrorCode::bad_file, fmt::format("trial {} of the earlier run is {}; {} comes there", place,
                                                   in_quotes(earlier.name), in_quotes(trial.name)));
    // Outcomes of other texts would not compare.
    compare(trials_[0].tuning, earlier.tuning);
    skipped_ += plan_.material.cost(Part::tuning) + (wants_both ? plan_.material.cost(Part::held_out) : 0);
    return;
  }
  trial.tuning = measure(trial, place, Part::tuning, listener);
  if (wants_both) trial.held_out = measure(trial, place, Part::held_out, listener);
  trials_.push_back(std::move(trial));
  if (listener.on_trial) listener.on_trial(trials_);
}

void FixRun::run_survey(const FixListener& listener) {
  const auto on_tokens = [&](std::int64_t tokens) {
    if (listener.on_cost) listener.on_cost("what each head does", tokens, whole_cost());
  };
  const auto& tokens = plan_.material.tuning.front();
  if (plan_.reading.by_layer) {
    model::SessionSettings settings = settings_;
    settings.capacity = plan_.material.text_room();
    model::LayerPass pass(model_, settings, plan_.reading.group);
    survey_ = survey_heads(pass, tokens, on_tokens);
  } else {
    model::Session session(model_, settings_);
    survey_ = survey_heads(session, tokens, on_tokens);
  }
  done_ += static_cast<std::int64_t>(plan_.material.tuning.front().size());
}

std::vector<TriedRule> FixRun::candidates() const {
  const model::NormalizerTable& own = model_.own_normalizers();
  std::vector<TriedRule> all = {{.name = "nothing", .table = {.normalizers = own}}};
  for (const Rule& rule : plan_.rules) all.push_back({.name = rule.text, .table = make_out(rule, survey_, own)});
  return all;
}

void FixRun::try_rules(const FixListener& listener) {
  const std::vector<TriedRule> all = candidates();
  if (plan_.measure) {  // all together, so that a process may take any share of any candidate
    std::vector<TrialShare> shares;
    for (std::size_t place = 0; place < all.size(); ++place)
      for (const Part part : {Part::tuning, Part::held_out})
        for (std::size_t share = 0; share < plan_.material.shares(part); ++share) shares.push_back({place, part, share});
    plan_.measure(shares, [&](const TrialShare& share) { return measure_share(all[share.place], share, listener); });
  }
  for (std::size_t place = 0; place < all.size(); ++place) try_at(place, all[place], listener);
}

void FixRun::search_heads(const FixListener& listener) {
  // From the rule that scores best; where none is better than nothing, from no heads under the rule that
  // gains most questions, or saves most loss.
  std::vector<double> scores, gains;
  const Criterion free{plan_.criterion.goal == Goal::text ? Goal::text : Goal::task};
  for (std::size_t i = 1; i <= plan_.rules.size(); ++i) {
    scores.push_back(score_of(i));
    // A rule of positions has no heads to choose.
    const bool has_heads = trials_[i].table.changed > 0;
    gains.push_back(has_heads ? score(compared(i, Part::tuning), free)
                              : -std::numeric_limits<double>::infinity());
  }
  const auto best = best_of(scores);
  const std::size_t from =
      best ? *best : static_cast<std::size_t>(std::max_element(gains.begin(), gains.end()) - gains.begin());
  Rule rule = plan_.rules[from];
  rule.heads = "all";
  const RuleTable on = make_out(rule, survey_, model_.own_normalizers());
  if (on.changed == 0) return;
  std::vector<bool> members(survey_.all.size());
  for (std::size_t i = 0; best && i < members.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    members[i] = trials_[from + 1].table.normalizers.at(at / survey_.heads, at % survey_.heads) ==
                 on.normalizers.at(at / survey_.heads, at % survey_.heads);
  }
  const model::NormalizerTable& own = model_.own_normalizers();
  HeadSearch search(on.normalizers, own, std::move(members), best ? scores[*best] : 0.0, plan_.search_budget);
  for (std::size_t place = plan_.rules.size() + 1;; ++place) {
    const auto table = search.next();
    if (!table) break;
    RuleTable made{.normalizers = *table, .rope = rule.rope};
    for (std::int64_t at = 0; at < survey_.layers * survey_.heads; ++at) {
      const std::int64_t layer = at / survey_.heads, head = at % survey_.heads;
      made.changed += table->at(layer, head) == own.at(layer, head) ? 0 : 1;
    }
    try_at(place,
           {.name = fmt::format("{}, {}", rule.normalizer, search.last()), .table = made, .searched = true},
           listener);
    search.report(score_of(place));
  }
}

void FixRun::go(const FixListener& listener) {
  run_survey(listener);
  try_rules(listener);
  if (plan_.search_budget > 0 && !plan_.rules.empty()) search_heads(listener);
  const auto best = chosen();
  if (!best || trials_[*best].held_out) return;
  trials_[*best].held_out = measure(trials_[*best], *best, Part::held_out, listener);
  if (listener.on_trial) listener.on_trial(trials_);
}

Comparison FixRun::compared(std::size_t trial, Part part) const {
  const TriedRule &plain = trials_[0], &rule = trials_[trial];
  return part == Part::tuning ? compare(plain.tuning, rule.tuning) : compare(*plain.held_out, *rule.held_out);
}

double FixRun::score_of(std::size_t trial) const {
  return score(compared(trial, Part::tuning), plan_.criterion);
}

std::optional<std::size_t> FixRun::chosen() const {
  std::vector<double> scores;
  for (std::size_t i = 0; i < trials_.size(); ++i) scores.push_back(score_of(i));
  return best_of(scores);
}

}  // namespace sharpmax::audit
