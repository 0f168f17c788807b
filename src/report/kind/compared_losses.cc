// Several runs of loss by position: a curve for each, and what they lose or gain against the first, token by token.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/kind/kinds.h"
#include "report/view/looks.h"
#include "statistics/significance.h"

namespace sharpmax::report {
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
        if (const auto loss = number_at(*bucket, "loss"))
          curve.points.push_back({to, *loss, number_at(*bucket, "low"), number_at(*bucket, "high")});
    chart.curves.push_back(std::move(curve));
  }
  chart.up = loss_axis(chart.curves);
  return {"compared-losses", "Loss by position",
          "Nats per token, by how many tokens stood before. Bands are 95\u00a0% intervals.", {{std::move(chart)}}};
}

Table change_table(std::span<const Compared> runs, const std::vector<double>& ends) {
  const Compared& first = runs[0];
  Table table{.id = "compared-loss-table",
              .title = "Losses of the runs",
              .columns = {{.name = "tokens before"}},
              .sortable = false};
  for (const Compared& run : runs) table.columns.push_back({.name = run.named.own, .format = fixed_to(4)});
  for (const Compared& run : runs.subspan(1)) {
    const std::string name = fmt::format("{} less {}", run.named.number, first.named.number);
    table.columns.push_back({.name = name, .format = signed_to(4)});
    table.columns.push_back({.name = name + ", 95 %", .csv = false});
    table.columns.push_back({.name = name + ", low", .format = signed_to(4), .hidden = true});
    table.columns.push_back({.name = name + ", high", .format = signed_to(4), .hidden = true});
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
  chart.reference = Reference{.name = "no change"};
  for (const double to : ends) chart.reference->points.push_back({to, 0.0});
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
