// The view of `sharpmax perplexity`: how well a model predicts a text, by how much of it it has seen.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "report/kind/kinds.h"
#include "report/view/looks.h"
#include "statistics/significance.h"

namespace sharpmax::report {
namespace {

struct LossBucket {
  double from = 0.0, to = 0.0, tokens = 0.0;
  std::optional<double> loss, low, high, perplexity;
};

LossBucket loss_bucket(const Json& json) {
  return {json.at("from").get<double>(), size_at(json, "to"), json.at("tokens").get<double>(), number_at(json, "loss"),
          number_at(json, "low"), number_at(json, "high"), number_at(json, "perplexity")};
}

std::vector<LossBucket> loss_buckets(const Json& results) {
  std::vector<LossBucket> buckets;
  for (const Json& bucket : results.at("buckets")) buckets.push_back(loss_bucket(bucket));
  std::stable_sort(buckets.begin(), buckets.end(), [](const auto& a, const auto& b) { return a.to < b.to; });
  return buckets;
}

std::string range_text(double from, double to) { return fmt::format("{}–{}", count(from), count(to)); }

std::string interval_text(const LossBucket& bucket, int digits = 3) {
  return bucket.low && bucket.high ? fmt::format("{} to {}", decimal(*bucket.low, digits), decimal(*bucket.high, digits)) : "";
}

std::string nats(const std::optional<double>& value) { return formatted(fixed_to(3), value); }

Words loss_sentence(const Json& results, const LossBucket& all) {
  Words words = fmt::format("Over {} tokens, under ", count(all.tokens));
  const std::string ends = all.low ? fmt::format(" (95\u00a0% interval {})", interval_text(all)) : "";
  words << code(normalizer_of(results.at("settings").at("model")))
        << fmt::format(", the loss is {} nats per token{}: a perplexity of {}. {} of the tokens were the model’s first guess.",
                       nats(all.loss), ends, formatted(fixed_to(2), all.perplexity),
                       formatted(kShare, number_at(results, "likeliest_right")));
  return words;
}

// Does more text before a token make it easier to guess? Told where the intervals tell.
void add_context_sentence(View& view, const std::vector<LossBucket>& buckets) {
  if (buckets.size() < 2 || !buckets.front().loss || !buckets.back().loss) return;
  const LossBucket &first = buckets.front(), &last = buckets.back();
  const double change = *last.loss - *first.loss;
  const bool apart = first.low && last.low && (*last.high < *first.low || *last.low > *first.high);
  view.verdict.push_back(fmt::format("After {} tokens it is {}, {} {} than in the first {}{}", range_text(last.from, last.to),
                                     nats(last.loss), decimal(std::abs(change)), change < 0.0 ? "less" : "more",
                                     count(first.to), apart ? "." : ": within their intervals, so no more than a hint."));
}

void add_tiles(View& view, const Json& results, const LossBucket& all, const std::vector<LossBucket>& buckets) {
  view.tiles = {{formatted(fixed_to(2), all.perplexity), "perplexity", fmt::format("over {} tokens", count(all.tokens)),
                 Paint::vermillion},
                {nats(all.loss), "nats per token", all.low ? interval_text(all) : "mean loss", Paint::vermillion}};
  if (buckets.size() > 1)
    view.tiles.push_back({nats(buckets.back().loss), "nats per token",
                          fmt::format("after {} tokens", range_text(buckets.back().from, buckets.back().to)), Paint::blue});
  view.tiles.push_back({formatted(kShare, number_at(results, "likeliest_right")), "first guesses right",
                        "the likeliest token was the next", Paint::grey});
}

// A curve of one run: a bucket stands where it ends, at most at the length of a chunk.
Curve loss_curve(const Json& results, std::string name, Look look) {
  Curve curve{.name = std::move(name), .look = look};
  const double longest = results.at("settings").value("length", std::numeric_limits<double>::infinity());
  for (const LossBucket& bucket : loss_buckets(results)) add_point(curve, std::min(bucket.to, longest), bucket.loss, bucket.low, bucket.high);
  return curve;
}

std::vector<double> sizes_in(const std::vector<Curve>& curves) {
  std::vector<double> sizes;
  for (const Curve& curve : curves)
    for (const Point& point : curve.points) sizes.push_back(point.at);
  return sizes;
}

Chart chart_of(std::vector<Curve> curves, const std::string& about) {
  return {.title = "Loss by position" + about,
          .subtitle = "Nats per token, by how many tokens stand before it. Bands are 95\u00a0% intervals.",
          .across = counts_axis(kTokensBefore, "up to", sizes_in(curves)),
          .up = loss_axis(curves),
          .curves = std::move(curves),
          .id = "by-position",
          .figure = "by-position"};
}

Section position_section(const Json& results, const LossBucket& all) {
  Section section{"by-position", "Loss by position",
                  "Mean loss of the tokens that have so many before them, in nats, with 95\u00a0% intervals.", {}};
  const Json& model = results.at("settings").at("model");
  Chart chart = chart_of({loss_curve(results, normalizer_of(model), {Paint::vermillion, ""})},
                         ": " + file_name(text_at(model, "file")));
  chart.curves[0].code = true;
  if (all.loss) chart.reference = level_line("all tokens", sizes_in(chart.curves), *all.loss);
  if (chart.curves[0].points.size() < 2)
    section.items.push_back({Note{"Chunks are too short to tell positions apart; a greater --length does."}});
  section.items.push_back({std::move(chart)});
  return section;
}

std::vector<Cell> bucket_row(const LossBucket& bucket, Cell range, double from) {
  return {std::move(range), from, bucket.to, bucket.tokens, bucket.loss, Cell(bucket.low, interval_text(bucket)), bucket.low, bucket.high,
          bucket.perplexity};
}

Section numbers_section(const std::vector<LossBucket>& buckets, const LossBucket& all) {
  Table table{.id = "all-rows", .title = "All numbers",
              .columns = {on_screen("tokens before"), in_csv("from", kCount), in_csv("to", kCount), {"tokens", kCount},
                          {"loss", fixed_to(4), "mean, in nats per token"}, on_screen("95 % interval"),
                          in_csv("low", fixed_to(4)), in_csv("high", fixed_to(4)), {"perplexity", fixed_to(2)}}};
  for (const LossBucket& bucket : buckets)
    table.rows.push_back(bucket_row(bucket, Cell(bucket.from, range_text(bucket.from, bucket.to)), bucket.from));
  table.rows.push_back(bucket_row(all, Cell(-1.0, "all"), 0.0));
  table.chosen = table.rows.size() - 1;
  return {"numbers", "All numbers", "Losses are in nats per token.", {{std::move(table)}}, /*brief=*/true};
}

// Parts of the text differ: by how much is what the intervals are made of.
Section chunks_section(const Json& results) {
  Table table{.id = "all-chunks", .title = "Losses of the chunks",
              .columns = {{"first token", kCount}, {"tokens", kCount}, {"loss", fixed_to(4)},
                          {"first guess right", kShare}, bar_column("of the largest")},
              .tall = true};
  double most = 1e-9;
  for (const Json& chunk : results.at("chunks")) {
    double sum = 0.0;
    for (const Json& loss : chunk.at("losses")) sum += number_in(loss).value_or(std::nan(""));
    const double tokens = static_cast<double>(chunk.at("losses").size());
    const auto likeliest = number_at(chunk, "likeliest");
    const std::optional<double> loss = std::isfinite(sum) && tokens > 0.0 ? std::optional(sum / tokens) : std::nullopt;
    most = std::max(most, loss.value_or(0.0));
    table.rows.push_back({number_at(chunk, "first"), tokens, loss,
                          likeliest && tokens > 0.0 ? std::optional(*likeliest / tokens) : std::nullopt, bar_to(loss, Paint::vermillion)});
  }
  for (auto& row : table.rows) row.back().value /= most;
  return {"chunks", "Along the text", "Each chunk is read from an empty cache. They differ, as parts of a text do; the intervals come from this.",
          {{std::move(table), 1, "the mean loss of every chunk"}}};
}

}  // namespace

View perplexity_view(const Json& results) {
  View view = begun_view(results);
  const Json& settings = results.at("settings");
  const std::string file = file_name(text_at(settings.at("model"), "file"));
  require_truths(results, {"complete"});
  view.kind = "loss by position";
  view.title = fmt::format("{}: loss on {}", file, file_name(settings.value("text", "a text")));
  view.label = fmt::format("loss of {} under {}", file, normalizer_of(settings.at("model")));
  if (!view.complete) view.verdict.push_back("This run was not finished: what was measured so far is shown.");
  Section chunks = chunks_section(results);
  if (!results.contains("all")) {
    view.verdict.push_back("No chunk of the text was read to its end, so there is nothing to show.");
    return view;
  }
  const LossBucket all = loss_bucket(results.at("all"));
  const std::vector<LossBucket> buckets = loss_buckets(results);
  view.verdict.push_back(loss_sentence(results, all));
  add_context_sentence(view, buckets);
  add_tiles(view, results, all, buckets);
  view.sections = {position_section(results, all), std::move(chunks), numbers_section(buckets, all)};
  return view;
}

// Several runs of loss by position: a curve for each, and what they lose or gain against the first, token by token.

namespace {

constexpr std::size_t kRunLength = 32;  // that of sharpmax/perplexity.h: neighbors are not independent

struct LossChange {
  double change = std::nan("");
  std::optional<double> low, high;
};

// Pairs of the same token read by both: the tokens, how they were cut and what was read must be the same.
bool are_paired(const Json& a, const Json& b) {
  const Json &of_a = a.at("settings"), &of_b = b.at("settings");
  for (const char* name : {"fingerprint", "length"})
    if (!of_a.contains(name) || !of_b.contains(name) || of_a.at(name) != of_b.at(name)) return false;
  const Json &chunks = a.at("chunks"), &others = b.at("chunks");
  if (chunks.empty() || chunks.size() != others.size()) return false;
  for (std::size_t i = 0; i < chunks.size(); ++i)
    if (chunks[i].at("first") != others[i].at("first") || chunks[i].at("losses").size() != others[i].at("losses").size())
      return false;
  return true;
}

// Over tokens with at least `from` and fewer than `to` tokens before them; intervals over runs of tokens.
LossChange change_between(const Json& a, const Json& b, double from, double to) {
  std::vector<double> runs;
  double total = 0.0, tokens = 0.0;
  for (std::size_t c = 0; c < a.at("chunks").size(); ++c) {
    const Json &before = a.at("chunks")[c].at("losses"), &after = b.at("chunks")[c].at("losses");
    const auto begin = static_cast<std::size_t>(std::max(0.0, from - 1.0));
    const auto end = static_cast<std::size_t>(std::min(to - 1.0, static_cast<double>(before.size())));
    double run = 0.0;
    for (std::size_t i = begin; i < end; ++i) {
      const double change = number_in(after[i]).value_or(std::nan("")) - number_in(before[i]).value_or(std::nan(""));
      total += change, run += change, tokens += 1.0;
      if ((i - begin + 1) % kRunLength != 0) continue;
      runs.push_back(run / static_cast<double>(kRunLength));
      run = 0.0;
    }
  }
  LossChange found{total / tokens, {}, {}};
  const Interval interval = mean_interval(runs);
  if (std::isnan(interval.low) || std::isnan(found.change)) return found;
  // Runs leave out what does not fill one; their interval is laid round the mean of all.
  found.low = found.change + (interval.low - mean_of(runs));
  found.high = found.change + (interval.high - mean_of(runs));
  return found;
}

const Json* bucket_at(const Json& results, double to) {
  for (const Json& bucket : results.at("buckets"))
    if (bucket.at("to").get<double>() == to) return &bucket;
  return nullptr;
}

// Paired where it can be and every loss is there; else the difference of the means, without an interval.
LossChange change_of(const Json& first, const Json& other, const Json& of_first, const Json& of_other, double from, double to) {
  if (are_paired(first, other))
    if (const LossChange found = change_between(first, other, from, to); !std::isnan(found.change)) return found;
  const auto a = number_at(of_first, "loss"), b = number_at(of_other, "loss");
  return {a && b ? *b - *a : std::nan(""), {}, {}};
}

LossChange whole_change(const Json& first, const Json& other) {
  return change_of(first, other, first.at("all"), other.at("all"), 0.0, 1e15);
}

std::string ends_text(const LossChange& found, int digits) {
  return found.low ? fmt::format("{} to {}", change(*found.low, digits), change(*found.high, digits)) : "";
}

// Does it hurt? Answered by the interval.
Words change_sentence(const Compared& first, const Compared& other) {
  const LossChange found = whole_change(*first.results, *other.results);
  Words words = "Against ";
  words << code(first.named.own) << ", " << code(other.named.own);
  if (std::isnan(found.change)) return words << std::string(" cannot be judged: losses are missing.");
  const std::string by = fmt::format(" by {} nats per token", decimal(std::abs(found.change), 4));
  if (!found.low)
    return words << fmt::format(" {} the loss{}. The runs read different tokens, so no paired interval can tell whether this is "
                                "chance.", found.change < 0.0 ? "lowers" : "raises", by);
  const std::string ends = fmt::format(" (95\u00a0% interval {}, paired token by token)", ends_text(found, 4));
  if (*found.low > 0.0) return words << fmt::format(" hurts: it raises the loss{}{}.", by, ends);
  if (*found.high < 0.0) return words << fmt::format(" helps: it lowers the loss{}{}.", by, ends);
  return words << fmt::format(" makes no difference that can be shown: {} nats per token{}.", change(found.change, 4), ends);
}

std::vector<double> ends_of(std::span<const Compared> runs) {
  std::vector<double> ends;
  for (const Compared& run : runs)
    for (const Json& bucket : run.results->at("buckets")) add_once(ends, size_at(bucket, "to"));
  std::sort(ends.begin(), ends.end());
  return ends;
}

Chart begun_chart(const char* id, const char* title, const char* subtitle, const std::vector<double>& ends) {
  return {.title = title, .subtitle = subtitle, .across = counts_axis(kTokensBefore, "up to", ends), .id = id};
}

Section losses_section(std::span<const Compared> runs, const std::vector<double>& ends) {
  Chart chart = begun_chart("compared-losses", "Loss by position",
                            "Nats per token, by how many tokens stand before it. Bands are 95\u00a0% intervals.", ends);
  chart.figure = "by-position";
  for (const Compared& run : runs) {
    Curve curve{.name = run.named.own, .look = run.named.look};
    for (const double to : ends)
      if (const Json* bucket = bucket_at(*run.results, to))
        add_point(curve, to, number_at(*bucket, "loss"), number_at(*bucket, "low"), number_at(*bucket, "high"));
    chart.curves.push_back(std::move(curve));
  }
  chart.up = loss_axis(chart.curves);
  return {"compared-losses", "Loss by position",
          "Nats per token, by how many tokens stood before. Bands are 95\u00a0% intervals.", {{std::move(chart)}}};
}

Table change_table(std::span<const Compared> runs, const std::vector<double>& ends) {
  const Compared& first = runs[0];
  Table table{.id = "compared-loss-table", .title = "Losses of the runs", .columns = {{"tokens before"}}, .sortable = false};
  for (const Compared& run : runs) table.columns.push_back({run.named.own, fixed_to(4)});
  for (const Compared& run : runs.subspan(1)) {
    const std::string name = fmt::format("{} less {}", run.named.number, first.named.number);
    table.columns.insert(table.columns.end(), {{name, signed_to(4)}, on_screen(name + ", 95 %"), in_csv(name + ", low", signed_to(4)),
                                               in_csv(name + ", high", signed_to(4))});
  }
  const auto add = [&](const std::string& range, double from, double to, const auto& part_of) {
    std::vector<Cell> row{range};
    for (const Compared& run : runs) {
      const Json* part = part_of(*run.results);
      row.push_back(part ? number_at(*part, "loss") : std::nullopt);
    }
    for (const Compared& run : runs.subspan(1)) {
      const Json *a = part_of(*first.results), *b = part_of(*run.results);
      const LossChange found = a && b ? change_of(*first.results, *run.results, *a, *b, from, to) : LossChange{};
      row.push_back(std::isnan(found.change) ? Cell() : Cell(found.change));
      row.insert(row.end(), {Cell(found.low, ends_text(found, 4)), found.low, found.high});
    }
    table.rows.push_back(std::move(row));
  };
  for (const double to : ends) {
    double from = 0.0;
    for (const Compared& run : runs)
      if (const Json* bucket = bucket_at(*run.results, to)) from = bucket->at("from").get<double>();
    add(fmt::format("{}–{}", count(from), count(to)), from, to, [&](const Json& one) { return bucket_at(one, to); });
  }
  add("all", 0.0, 1e15, [](const Json& one) { return &one.at("all"); });
  table.chosen = table.rows.size() - 1;
  return table;
}

Section changes_section(std::span<const Compared> runs, const std::vector<double>& ends) {
  Chart chart = begun_chart("compared-changes", "Change of loss",
                            "Against the first run, nats per token: below 0 is better. Bands are 95\u00a0% intervals.", ends);
  chart.reference = level_line("no change", ends, 0.0);
  Curve none{.points = {{ends.front(), 0.0, {}, {}}}};
  for (const Compared& run : runs.subspan(1)) {
    Curve curve{.name = run.named.own, .look = run.named.look, .format = signed_to(4)};
    for (const double to : ends) {
      const Json *a = bucket_at(*runs[0].results, to), *b = bucket_at(*run.results, to);
      if (!a || !b) continue;
      const LossChange found = change_of(*runs[0].results, *run.results, *a, *b, a->at("from").get<double>(), to);
      if (!std::isnan(found.change)) curve.points.push_back({to, found.change, found.low, found.high});
    }
    chart.curves.push_back(std::move(curve));
  }
  std::vector<Curve> all = chart.curves;
  all.push_back(std::move(none));  // the axis has 0
  chart.up = loss_axis(all, "change of loss, nats per token");
  return {"compared-changes", "Change of loss",
          fmt::format("Each loss less that of {}: below 0 is better. If two runs read the same tokens, the intervals are of the "
                      "change itself, paired token by token over runs of {} tokens.", runs[0].named.own, kRunLength),
          {{std::move(chart)}, {change_table(runs, ends)}}, /*brief=*/true};
}

}  // namespace

void compare_losses(View& view, std::span<const Compared> compared) {
  std::vector<Compared> runs;
  for (const Compared& one : compared)
    if (one.results->contains("all") && !one.results->at("buckets").empty()) runs.push_back(one);
  if (runs.size() < 2) return;
  const std::vector<double> ends = ends_of(runs);
  for (std::size_t i = 1; i < runs.size(); ++i) view.verdict.push_back(change_sentence(runs[0], runs[i]));
  view.sections.push_back(losses_section(runs, ends));
  view.sections.push_back(changes_section(runs, ends));
}

Axis loss_axis(const std::vector<Curve>& curves, std::string label) {
  double low = 0.0, high = 0.0;
  bool any = false;
  for (const Curve& curve : curves)
    for (const Point& point : curve.points) {
      const double least = point.low.value_or(point.value), most = point.high.value_or(point.value);
      low = any ? std::min(low, least) : least;
      high = any ? std::max(high, most) : most;
      any = true;
    }
  const double room = high > low ? 0.08 * (high - low) : 0.5;
  return value_axis(std::move(label), low - room, high + room);
}

}  // namespace sharpmax::report
