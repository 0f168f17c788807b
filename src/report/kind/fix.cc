// The view of `sharpmax fix`: what to use, or to leave the model as it is; and what every candidate did.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "job/field_values.h"
#include "report/kind/fix_candidates.h"
#include "report/view/looks.h"
#include "sharpmax/error.h"

namespace sharpmax::report {
namespace {

// What the answer rests on.
std::string judged_sentence(const Json& results, const std::vector<Candidate>& candidates) {
  const std::string by = text_at(results.at("settings"), "for");
  const double allow = results.at("settings").at("allow").get<double>();
  const std::string criterion = by == "text"   ? "the least loss"
                                : by == "task" ? "the most right answers"
                                : by == "both" ? fmt::format("right answers gained (share) less loss added (nats), among "
                                                             "candidates that add at most {} nats",
                                                             plain_number(allow))
                                               : by;
  std::string text = fmt::format("{} tried on one part, chosen by {}, judged on another.",
                                 plural(static_cast<double>(candidates.size()), "candidate"), criterion);
  for (const Candidate& one : candidates)
    if (one.held_out)
      return text + fmt::format(" Held out: {} of text and {}.", plural(one.held_out->text.tokens, "token"),
                                plural(one.held_out->task.questions, "question"));
  return text;
}

void add_fix_tiles(View& view, const Json& answer, const std::vector<Candidate>& candidates) {
  const auto judged = std::find_if(candidates.begin(), candidates.end(), [](const Candidate& one) { return one.held_out; });
  if (judged == candidates.end()) return;
  const Against& plain = *judged->held_out;
  const Candidate* chosen = chosen_of(candidates);
  if (truth_at(answer, "leave_it"))
    view.tiles.push_back({count(static_cast<double>(candidates.size())), "candidates tried", "none shown to be better", Paint::green});
  view.tiles.push_back({formatted(fixed_to(3), plain.text.plain), "nats per token", "held out, as it is", Paint::grey});
  if (chosen)
    view.tiles.push_back({formatted(signed_to(3), chosen->held_out->text.change), "nats per token", "held out, " + chosen->name,
                          Paint::vermillion});
  view.tiles.push_back({formatted(kShare, plain.task.share(plain.task.plain)), "of questions right",
                        "held out, as it is", Paint::grey});
  if (!chosen) return;
  const AnswerFlips& task = chosen->held_out->task;
  view.tiles.push_back({formatted(kShare, task.share(task.right)), "of questions right", "held out, " + chosen->name,
                        Paint::vermillion});
  view.tiles.push_back({formatted(kP, task.p), "p",
                        fmt::format("{} answers up, {} down", count(task.up), count(task.down)), Paint::blue});
}

// The change of the loss of every candidate that was judged, and what it brings on the task.
Bars candidate_bars(const std::vector<Candidate>& candidates) {
  Bars bars{.title = "What every candidate costs on text and brings on the task",
            .subtitle = "Held out: the change of the loss in nats per token, with 95\u00a0% intervals, and the share of questions "
                        "answered right.",
            .beside = {"loss", "right"},
            .mark = 0.0,
            .id = "trials",
            .figure = "trials"};
  double low = 0.0, high = 0.0;
  for (const Candidate& one : candidates) {
    if (!one.held_out || !one.held_out->text.change) continue;
    const TextChange& text = one.held_out->text;
    const AnswerFlips& task = one.held_out->task;
    Bar bar{.name = one.name,
            .pieces = {{*text.change, *text.change > 0.0 ? Paint::vermillion : Paint::green}},
            .beside = {change(*text.change), formatted(kShare, task.share(task.right))},
            .low = text.low,
            .high = text.high,
            .bold = one.chosen};
    low = std::min({low, *text.change, text.low.value_or(0.0)});
    high = std::max({high, *text.change, text.high.value_or(0.0)});
    bars.described += fmt::format("{}: {}, right {}. ", bar.name, bar.beside[0], bar.beside[1]);
    bars.bars.push_back(std::move(bar));
  }
  if (chosen_of(candidates)) bars.subtitle += " Bold: the one chosen on the other part.";
  bars.across = value_axis("change of the loss, nats per token", 1.04 * low, 1.04 * high);
  return bars;
}

// The deciding columns come first: what happened on the part that no choice was made by.
Section candidates_section(const Json& results, const std::vector<Candidate>& candidates) {
  const bool leave_it = truth_at(results.at("answer"), "leave_it");
  Table table{.id = "all-rows", .title = "Every candidate that was tried",
              .columns = {{"candidate", kCode}, {"answer"},
                          {"loss, held out", signed_to(3), "change from doing nothing, nats per token"},
                          in_csv("loss, held out, low", signed_to(3)), in_csv("loss, held out, high", signed_to(3)),
                          {"right, held out", kShare}, {"p, held out", kP},
                          {.name = "score", .format = signed_to(4), .meaning = "of the part to choose by: it decides", .brief = false},
                          {"heads", kCount}, in_csv("loss, to choose by", signed_to(3)),
                          in_csv("right, to choose by", kShare), in_csv("p, to choose by", kP)},
              .tall = true};
  for (const Candidate& one : candidates) {
    const char* mark = one.chosen ? (leave_it ? "best to choose by" : "use") : one.searched ? "by search" : "";
    std::vector<Cell> row{one.name, mark};
    if (const auto& held = one.held_out)
      row.insert(row.end(), {Cell(held->text.change, with_ends(held->text)), held->text.low, held->text.high,
                             Cell(held->task.share(held->task.right), right_text(held->task)), held->task.p});
    else
      row.insert(row.end(), 5, Cell());
    row.insert(row.end(), {one.score, one.heads});
    if (const auto& tuning = one.tuning)
      row.insert(row.end(), {tuning->text.change, tuning->task.share(tuning->task.right), tuning->task.p});
    else
      row.insert(row.end(), 3, Cell());
    table.rows.push_back(std::move(row));
  }
  if (!candidates.empty() && candidates[0].chosen) table.chosen = 0;
  const double judged = static_cast<double>(
      std::count_if(candidates.begin(), candidates.end(), [](const Candidate& one) { return one.held_out.has_value(); }));
  table.brief_rows = static_cast<std::size_t>(judged);
  return {"numbers", "Every candidate that was tried",
          "Loss: its change from doing nothing, in nats per token, with 95\u00a0% intervals. Right: share of questions, and in brackets "
          "answers that became right and wrong. p: exact sign test. The score, of the part to choose by, decides which candidate is judged.",
          {{candidate_bars(candidates)}, {std::move(table)}}, /*brief=*/true};
}

std::vector<const Candidate*> judged_of(const std::vector<Candidate>& candidates) {
  std::vector<const Candidate*> judged;
  for (const Candidate& one : candidates)
    if (one.held_out) judged.push_back(&one);
  return judged;
}

Chart before_after_chart(const Candidate& one, double longest, bool figure) {
  Curve before{.name = "as it is", .look = {Paint::grey, kDashed}, .marker = Marker::ring};
  Curve after{.name = one.name, .look = {Paint::green, ""}, .code = true};
  std::vector<double> sizes;
  for (const TextChange& part : one.held_out->by_position) {
    if (!part.plain || !part.change) continue;
    const double at = std::min(part.to, longest);
    sizes.push_back(at);
    before.points.push_back({at, *part.plain});
    after.points.push_back({at, *part.plain + *part.change});
    if (part.low && part.high) after.points.back().low = *part.plain + *part.low, after.points.back().high = *part.plain + *part.high;
  }
  Chart chart{.title = "Loss by position, before and after",
              .subtitle = "Held-out text, nats per token, by how many tokens stand before it. The band is the 95\u00a0% interval of "
                          "the change, token by token.",
              .across = counts_axis(kTokensBefore, "up to", sizes),
              .curves = {std::move(before), std::move(after)},
              .id = "by-position-chart",
              .figure = figure ? "by-position" : ""};
  chart.up = loss_axis(chart.curves);
  return chart;
}

Table position_table(const Candidate& one) {
  Table table{.id = "all-positions", .title = "Loss by position",
              .columns = {{"tokens before"}, {"tokens", kCount}, {"as it is", fixed_to(4)}, {"change", signed_to(4)},
                          {"95 % from", signed_to(4)}, {"to", signed_to(4)}},
              .sortable = false};
  for (const TextChange& part : one.held_out->by_position)
    table.rows.push_back({Cell(part.from, fmt::format("{}–{}", count(part.from), count(part.to))), part.tokens, part.plain,
                          part.change, part.low, part.high});
  return table;
}

Section position_section_of(const Json& results, const std::vector<const Candidate*>& judged) {
  Choice choice{"Candidate", Choice::Style::select, 0, "candidate", {}};
  const double longest = results.at("settings").at("length").get<double>();
  for (const Candidate* one : judged) {
    if (one->held_out->by_position.empty()) continue;
    const int spare = choice.options.empty() ? 0 : 3;
    choice.options.push_back({one->name,
                              {{before_after_chart(*one, longest, one->chosen), spare, "losses by position of other candidates"},
                               {position_table(*one), spare, "losses by position of other candidates"}}});
  }
  return {"by-position", "Loss by position, before and after",
          "On the held-out text: as it is and with the candidate. The band is the 95\u00a0% interval of the change; where it holds the "
          "dashed curve, no change is proved.",
          {{std::move(choice)}}, /*brief=*/true};
}

Section length_section(const std::vector<const Candidate*>& judged) {
  Section section{"by-length", "Right answers, before and after",
                  "On the held-out questions, by their length; in brackets answers that became right and wrong.", {}, /*brief=*/true};
  if (judged.empty() || judged[0]->held_out->by_length.empty()) return section;
  const std::vector<AnswerFlips>& lengths = judged[0]->held_out->by_length;
  if (judged[0]->chosen) {
    Bars bars{.title = "Right answers, before and after",
              .subtitle = "Held-out questions, by the length of the question in tokens.",
              .across = share_axis("share of questions answered right"),
              .beside = {"right", "of"},
              .id = "by-length-bars",
              .figure = "by-length"};
    for (const AnswerFlips& at : lengths) {
      if (!(at.questions > 0.0)) continue;
      const auto add = [&](const std::string& name, double right, Paint paint) {
        bars.bars.push_back({.name = (at.length ? count(*at.length) + " tokens, " : "") + name,
                             .pieces = {{right / at.questions, paint}},
                             .beside = {count(right), count(at.questions)}});
        bars.described += fmt::format("{}: {} of {}. ", bars.bars.back().name, count(right), count(at.questions));
      };
      add("as it is", at.plain, Paint::grey);
      add(judged[0]->name, at.right, Paint::green);
    }
    section.items.push_back({std::move(bars)});
  }
  Table table{.id = "all-lengths", .title = "Right answers by length", .columns = {{"candidate", kCode}},
              .sortable = false};
  std::vector<Cell> plain{"as it is"};
  for (const AnswerFlips& at : lengths) {
    table.columns.push_back({at.length ? count(*at.length) + " tokens" : "the file’s", kShare});
    plain.push_back(at.share(at.plain));
  }
  table.rows.push_back(std::move(plain));
  for (const Candidate* one : judged) {
    std::vector<Cell> row{one->name};
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      const auto& own = one->held_out->by_length;
      row.push_back(i < own.size() ? Cell(own[i].share(own[i].right), right_text(own[i])) : Cell());
    }
    table.rows.push_back(std::move(row));
  }
  section.items.push_back({std::move(table)});
  section.items.push_back({Note{plural(lengths[0].questions, "question") + " of each length."}});
  return section;
}

// Kinds of heads as the survey has them, one for each head of the model.
std::vector<std::string> kinds_of_heads(const Json& results) {
  const ModelShape shape = shape_of(results.at("settings").at("model"));
  std::vector<std::string> kinds;
  for (const char* name : {"kind", "entropy_slope"}) {
    const Json& list = results.at("survey").at(name);
    if (list.size() != static_cast<std::size_t>(shape.layers * shape.heads))
      throw Error(ErrorCode::bad_argument, fmt::format("report: the survey tells {} of {} heads; the model has {}", name, list.size(),
                                                       shape.layers * shape.heads));
    for (const Json& value : list) {
      if (std::string_view(name) == "kind")
        kinds.push_back(value.get<std::string>());
      else
        static_cast<void>(number_in(value));
    }
  }
  return kinds;
}

Section heads_section(const Json& results, const std::vector<Candidate>& candidates, const std::vector<std::string>& plain) {
  const ModelShape shape = shape_of(results.at("settings").at("model"));
  const std::vector<std::string> kinds = kinds_of_heads(results);
  Choice choice{"Candidate", Choice::Style::select, 0, "", {}};
  for (const Candidate& one : candidates) {
    if (!(one.heads > 0.0)) continue;
    Grid grid{.title = "Heads that " + one.name + " changes", .ramp = {"", "changed"},
              .unknown = "as it is", .id = "heads-grid", .kind = Grid::Ramp::mark};
    for (std::size_t i = 0; i < one.normalizers.size(); ++i) {
      const auto layer = static_cast<double>(static_cast<std::int64_t>(i) / shape.heads);
      const auto head = static_cast<double>(static_cast<std::int64_t>(i) % shape.heads);
      const bool changed = one.normalizers[i] != plain[i];
      grid.cells.push_back({layer, head, changed ? 1.0 : 0.0, changed ? 1.0 : 0.0});
      grid.texts.push_back(fmt::format("Head {:.0f}.{:.0f}, {}: {}", layer, head, i < kinds.size() ? kinds[i] : "", one.normalizers[i]));
    }
    const int spare = one.chosen ? 1 : one.searched ? 5 : 2;
    choice.options.push_back({one.name, {{std::move(grid), spare, "which heads the other candidates changed"}}});
  }
  return {"heads", "Which heads a candidate changes",
          "One cell is one head; those that the candidate changes are colored. Point at one, or go there by the arrow keys, to read what it has.",
          {{std::move(choice)}}};
}

Section use_section(const Json& results) {
  const Json& answer = results.at("answer");
  Section section{"use", "How to use it", "", {}};
  if (truth_at(answer, "leave_it")) {
    section.items.push_back({Note{"There is nothing to use: no candidate was shown to be better than the model as it is. More text "
                                  "or more questions may tell more: --tokens and --questions."}});
    return section;
  }
  const std::string file = quoted_word(text_at(results.at("settings").at("model"), "file"));
  const std::string scaling = text_or_none_at(answer, "rope_scaling");
  const std::string scaled = scaling.empty() ? "" : " --rope-scaling " + quoted_word(scaling);
  section.items.push_back({CommandLine{"With the table that the same command writes with --table table.json:",
                                       fmt::format("sharpmax run {} --normalizers table.json{} --prompt \"...\"", file, scaled)}});
  section.items.push_back({CommandLine{
      "Its loss on a text:", fmt::format("sharpmax perplexity {} --normalizers table.json{} --text book.txt", file, scaled)}});
  const std::string llama = text_or_none_at(answer, "llama_cpp");
  if (llama.empty())
    section.items.push_back({Note{"llama.cpp: no setting of it does the same."}});
  else
    section.items.push_back({CommandLine{"The same in llama.cpp:", llama}});
  return section;
}

// For a terminal, where the command says how to go on itself.
Section llama_section(const Json& answer) {
  Section section{"llama-cpp", "", "", {}, /*brief=*/true, /*page=*/false};
  if (truth_at(answer, "leave_it")) return section;
  const std::string llama = text_or_none_at(answer, "llama_cpp");
  section.items.push_back({Note{llama.empty() ? "llama.cpp: none; no setting of it does the same" : "llama.cpp: " + llama}});
  return section;
}

Section unjudged_section(const Json& results) {
  Table table = fields_table({.id = "all-rows", .title = "Tried so far", .sortable = false}, results.at("trials"),
                             {{"candidate", kCode, "rule"}, {"heads", kCount}});
  return {"numbers", "Tried so far", "", {{std::move(table)}}, /*brief=*/true};
}

}  // namespace

View fix_view(const Json& results) {
  View view = begun_view(results);
  const Json& settings = results.at("settings");
  require_numbers(settings, {"tokens", "length", "seed", "allow", "budget"});
  require_texts(settings, {"task", "for"});
  const std::string file = file_name(text_at(settings.at("model"), "file"));
  view.kind = "fix";
  view.label = "fix of " + file;
  std::vector<std::string> plain;
  const std::vector<Candidate> candidates = candidates_of(results, plain);
  if (!view.complete) {
    view.title = file + ": an unfinished trial of candidates";
    view.verdict.push_back(fmt::format("This run was not finished: {} so far, and nothing is judged before the end.",
                                       plural(static_cast<double>(results.at("trials").size()), "trial")));
    view.sections = {unjudged_section(results)};
    return view;
  }
  const Json& answer = results.at("answer");
  if (answer.contains("finding"))
    require_truths(answer.at("finding"), {"better", "loss_falls", "loss_rises", "task_gains", "task_loses", "loss_allowed"});
  const bool leave_it = truth_at(answer, "leave_it");
  view.title = file + (leave_it ? ": leave it as it is" : ": use " + text_at(answer, "use"));
  view.label += leave_it ? ": leave it" : ": " + text_at(answer, "use");
  view.verdict = {text_at(answer, "verdict"), judged_sentence(results, candidates)};
  add_fix_tiles(view, answer, candidates);
  const std::vector<const Candidate*> judged = judged_of(candidates);
  view.sections = {candidates_section(results, candidates), position_section_of(results, judged), length_section(judged),
                   heads_section(results, candidates, plain), use_section(results), llama_section(answer)};
  return view;
}

}  // namespace sharpmax::report
