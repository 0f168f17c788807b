// The view of `sharpmax perplexity`: how well a model predicts a text, by how much of it it has seen.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "report/kind/kinds.h"
#include "report/kind/reading.h"
#include "report/view/looks.h"

namespace sharpmax::report {
namespace {

struct LossBucket {
  double from = 0.0, to = 0.0, tokens = 0.0;
  std::optional<double> loss, low, high, perplexity;
};

LossBucket loss_bucket(const Json& json) {
  return {json.at("from").get<double>(), size_at(json, "to"),      json.at("tokens").get<double>(),
          number_at(json, "loss"),       number_at(json, "low"),   number_at(json, "high"),
          number_at(json, "perplexity")};
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
                       formatted({Format::percent}, number_at(results, "likeliest_right")));
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
  view.tiles.push_back({formatted({Format::percent}, number_at(results, "likeliest_right")), "first guesses right",
                        "the likeliest token was the next", Paint::grey});
}

// A curve of one run: a bucket stands where it ends, at most at the length of a chunk.
Curve loss_curve(const Json& results, std::string name, Look look) {
  Curve curve{.name = std::move(name), .look = look};
  const Json& settings = results.at("settings");
  const double longest =
      settings.contains("length") ? settings.at("length").get<double>() : std::numeric_limits<double>::infinity();
  for (const LossBucket& bucket : loss_buckets(results))
    if (bucket.loss) curve.points.push_back({std::min(bucket.to, longest), *bucket.loss, bucket.low, bucket.high});
  return curve;
}

Chart chart_of(std::vector<Curve> curves, const std::string& about) {
  std::vector<double> sizes;
  for (const Curve& curve : curves)
    for (const Point& point : curve.points) sizes.push_back(point.at);
  return {.title = "Loss by position" + about,
          .subtitle = "Nats per token, by how many tokens stand before it. Bands are 95\u00a0% intervals.",
          .across = counts_axis(kTokensBefore, "up to", sizes),
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
  if (all.loss) {
    chart.reference = Reference{.name = "all tokens"};
    for (const Point& point : chart.curves[0].points) chart.reference->points.push_back({point.at, *all.loss});
  }
  if (chart.curves[0].points.size() < 2)
    section.items.push_back({Note{"Chunks are too short to tell positions apart; a greater --length does."}});
  section.items.push_back({std::move(chart)});
  return section;
}

std::vector<Cell> bucket_row(const LossBucket& bucket, Cell range, double from) {
  return {std::move(range), from,       bucket.to,
          bucket.tokens,    bucket.loss, Cell(bucket.low, interval_text(bucket)),
          bucket.low,       bucket.high, bucket.perplexity};
}

Section numbers_section(const std::vector<LossBucket>& buckets, const LossBucket& all) {
  Table table{.id = "all-rows",
              .title = "All numbers",
              .columns = {{.name = "tokens before", .csv = false},
                          {.name = "from", .format = {Format::count}, .hidden = true},
                          {.name = "to", .format = {Format::count}, .hidden = true},
                          {.name = "tokens", .format = {Format::count}},
                          {.name = "loss", .format = fixed_to(4), .meaning = "mean, in nats per token"},
                          {.name = "95 % interval", .csv = false},
                          {.name = "low", .format = fixed_to(4), .hidden = true},
                          {.name = "high", .format = fixed_to(4), .hidden = true},
                          {.name = "perplexity", .format = fixed_to(2)}}};
  for (const LossBucket& bucket : buckets)
    table.rows.push_back(bucket_row(bucket, Cell(bucket.from, range_text(bucket.from, bucket.to)), bucket.from));
  table.rows.push_back(bucket_row(all, Cell(-1.0, "all"), 0.0));
  table.chosen = table.rows.size() - 1;
  return {"numbers", "All numbers", "Losses are in nats per token.", {{std::move(table)}}, /*brief=*/true};
}

// Parts of the text differ: by how much is what the intervals are made of.
Section chunks_section(const Json& results) {
  Table table{.id = "all-chunks",
              .title = "Losses of the chunks",
              .columns = {{.name = "first token", .format = {Format::count}},
                          {.name = "tokens", .format = {Format::count}},
                          {.name = "loss", .format = fixed_to(4)},
                          {.name = "first guess right", .format = {Format::percent}},
                          {.name = "of the largest", .csv = false, .bar = true}},
              .tall = true};
  double most = 1e-9;
  for (const Json& chunk : results.at("chunks")) {
    double sum = 0.0;
    for (const Json& loss : chunk.at("losses")) sum += number_in(loss).value_or(std::nan(""));
    const double tokens = static_cast<double>(chunk.at("losses").size());
    const auto likeliest = number_at(chunk, "likeliest");
    const std::optional<double> loss = std::isfinite(sum) && tokens > 0.0 ? std::optional(sum / tokens) : std::nullopt;
    most = std::max(most, loss.value_or(0.0));
    Cell bar(loss);
    bar.paint = Paint::vermillion;
    table.rows.push_back({number_at(chunk, "first"), tokens, loss,
                          likeliest && tokens > 0.0 ? std::optional(*likeliest / tokens) : std::nullopt, std::move(bar)});
  }
  for (auto& row : table.rows)
    row.back().value /= most;
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

}  // namespace sharpmax::report
