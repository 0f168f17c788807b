#include "report/kind/fix_candidates.h"

#include <fmt/format.h>

#include <algorithm>

#include "sharpmax/error.h"

namespace sharpmax::report {
namespace {

constexpr std::int64_t kMostHeads = 1 << 20;  // of a model: files may claim anything

// The normalizer of every head, layer by layer.
std::vector<std::string> spread_over_heads(const Json& table, ModelShape shape) {
  std::vector<std::string> of(static_cast<std::size_t>(shape.layers * shape.heads), text_at(table, "default"));
  const auto set = [&](const Json& entry, std::int64_t head) {
    const auto layer = entry.at("layer").get<std::int64_t>();
    if (layer < 0 || layer >= shape.layers || head < 0 || head >= shape.heads)
      throw Error(ErrorCode::bad_argument,
                  fmt::format("report: a table of normalizers has head {}.{}; the model has {} layers of {} heads", layer, head,
                              shape.layers, shape.heads));
    of[static_cast<std::size_t>(layer * shape.heads + head)] = text_at(entry, "normalizer");
  };
  if (table.contains("layers"))
    for (const Json& entry : table.at("layers"))
      for (std::int64_t head = 0; head < shape.heads; ++head) set(entry, head);
  for (const Json& entry : table.at("heads")) set(entry, entry.at("head").get<std::int64_t>());
  return of;
}

TextChange text_change(const Json& json) {
  return {json.at("from").get<double>(), size_at(json, "to"),      json.at("tokens").get<double>(), number_at(json, "plain"),
          number_at(json, "change"),     number_at(json, "low"), number_at(json, "high")};
}

AnswerFlips answer_flips(const Json& json) {
  AnswerFlips flips{{},
                    json.at("questions").get<double>(),
                    json.at("plain").get<double>(),
                    json.at("rule").get<double>(),
                    json.at("up").get<double>(),
                    json.at("down").get<double>(),
                    number_at(json, "p")};
  return flips;
}

Against against_of(const Json& json) {
  Against against{text_change(json.at("text")), {}, answer_flips(json.at("task")), {}};
  for (const Json& one : json.at("by_position")) against.by_position.push_back(text_change(one));
  for (const Json& one : json.at("by_length")) {
    against.by_length.push_back(answer_flips(one));
    if (!one.at("length").is_null()) against.by_length.back().length = size_at(one, "length");
  }
  return against;
}

std::string flips_text(const AnswerFlips& flips) { return fmt::format("(+{} −{})", count(flips.up), count(flips.down)); }

}  // namespace

ModelShape shape_of(const Json& model) {
  const ModelShape shape{model.at("layers").get<std::int64_t>(), model.at("heads").get<std::int64_t>()};
  if (shape.layers < 1 || shape.heads < 1 || shape.layers > kMostHeads || shape.heads > kMostHeads ||
      shape.layers * shape.heads > kMostHeads)
    throw Error(ErrorCode::bad_argument,
                fmt::format("report: the model has {} layers of {} heads", shape.layers, shape.heads));
  return shape;
}

std::vector<Candidate> candidates_of(const Json& results, std::vector<std::string>& plain) {
  const bool judged = truth_at(results, "complete");
  const ModelShape shape = shape_of(results.at("settings").at("model"));
  const std::string chosen = judged ? text_or_none_at(results.at("answer"), "chosen") : "";
  std::vector<Candidate> candidates;
  for (const Json& trial : results.at("trials")) {
    Candidate one{text_at(trial, "rule"), truth_at(trial, "searched"), false, trial.at("heads").get<double>(),
                  spread_over_heads(trial.at("normalizers"), shape), {}, {}, {}};
    require_texts(trial, {"rope_scaling"});
    one.chosen = one.name == chosen;
    if (plain.empty()) {
      plain = one.normalizers;
      continue;
    }
    if (judged) {
      one.score = number_at(trial, "score");
      require_texts(trial, {"llama_cpp"});
      const Json& against = trial.at("against_nothing");
      one.tuning = against_of(against.at("tuning"));
      if (against.contains("held_out")) one.held_out = against_of(against.at("held_out"));
    }
    candidates.push_back(std::move(one));
  }
  const auto rank = [](const Candidate& one) { return one.chosen ? 0 : one.held_out ? 1 : 2; };
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](const Candidate& a, const Candidate& b) { return rank(a) < rank(b); });
  return candidates;
}

std::string with_ends(const TextChange& text, int digits) {
  if (!text.change) return std::string(kNone);
  if (!text.low) return change(*text.change, digits);
  return fmt::format("{} ({} to {})", change(*text.change, digits), change(*text.low, digits), change(*text.high, digits));
}

std::string right_text(const AnswerFlips& flips) {
  const auto share = flips.share(flips.right);
  return share ? fmt::format("{} {}", percent(*share), flips_text(flips)) : "";
}

const Candidate* chosen_of(const std::vector<Candidate>& candidates) {
  return !candidates.empty() && candidates[0].chosen && candidates[0].held_out ? &candidates[0] : nullptr;
}

void compare_fixes(View& view, std::span<const Compared> compared) {
  Table table{.id = "compared-fix-table", .title = "Answers",
              .columns = {{"result"}, {"use", kCode}, {"came out best", kCode}, {"loss added, nats", signed_to(3)},
                          {"questions right", kCount}, {"right without it", kCount},
                          {.name = "verdict", .brief = false}},
              .sortable = false};
  for (const Compared& one : compared) {
    const Json& results = *one.results;
    const bool judged = truth_at(results, "complete");
    std::vector<std::string> plain;
    const std::vector<Candidate> candidates = candidates_of(results, plain);
    const Candidate* chosen = chosen_of(candidates);
    std::vector<Cell> row{one.named.own};
    if (judged)
      row.insert(row.end(), {text_or_none_at(results.at("answer"), "use"), text_or_none_at(results.at("answer"), "chosen")});
    else
      row.insert(row.end(), 2, Cell());
    if (chosen)
      row.insert(row.end(), {Cell(chosen->held_out->text.change, with_ends(chosen->held_out->text)),
                             Cell(chosen->held_out->task.right, fmt::format("{} of {}", count(chosen->held_out->task.right),
                                                                            count(chosen->held_out->task.questions))),
                             chosen->held_out->task.plain});
    else
      row.insert(row.end(), 3, Cell());
    row.push_back(judged ? text_at(results.at("answer"), "verdict") : "It was not finished.");
    table.rows.push_back(std::move(row));
    table.links.push_back(std::to_string(one.named.number));
  }
  view.sections.push_back({"compared-fixes", "What fixes it", "The answer of each search, judged on the part that was held out.",
                           {{std::move(table)}}, /*brief=*/true});
}

}  // namespace sharpmax::report
