// The text of a fit: what came of it first, then the rule to paste, the fit, where it acts, the comparison.
#include "cli/fit_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/table.h"

namespace sharpmax::cli {
namespace {

std::string percent(double share) { return std::isnan(share) ? "-" : fmt::format("{:.1f}", 100.0 * share); }

// As many sizes as fit, least and largest among them: of neighbors the closest go first.
std::vector<std::int64_t> thinned(std::vector<std::int64_t> sizes, std::size_t most) {
  while (sizes.size() > std::max<std::size_t>(most, 2)) {
    std::size_t closest = 1;
    const auto gap = [&](std::size_t i) {
      return static_cast<double>(sizes[i + 1]) / static_cast<double>(sizes[i - 1]);
    };
    for (std::size_t i = 2; i + 1 < sizes.size(); ++i)
      if (gap(i) < gap(closest)) closest = i;
    sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(closest));
  }
  return sizes;
}

std::string short_percent(double share) {
  const std::string text = percent(share);
  return text == "100.0" ? "100" : text;  // so that four rules with their intervals fit the screen
}
std::string heading(std::string_view text, bool colour) { return inked(text, Ink::bold, colour) + "\n"; }

// Words refilled; a '~' is a space that ends no line.
std::string paragraph(const std::string& text) {
  std::string lines = wrapped(text);
  std::replace(lines.begin(), lines.end(), '~', ' ');
  return lines + "\n";
}

const FitComparison& measured(const FitResult& found, std::int64_t n, std::string_view rule) {
  static const FitComparison none;
  for (const FitComparison& entry : found.comparison)
    if (entry.n == n && entry.rule == rule) return entry;
  return none;
}

enum class Direction { better, worse };

// Where the refitted rule is farthest from `other` in one direction: "up to 5.5 points better (...)".
std::string farthest(const FitResult& found, const char* other, Direction direction) {
  const double sign = direction == Direction::better ? 1.0 : -1.0;
  const char* word = direction == Direction::better ? "better" : "worse";
  std::int64_t at = 0;
  double most = 0.0;
  for (const std::int64_t n : found.settings.test_sizes) {
    const double gain = sign * (measured(found, n, "refitted").accuracy - measured(found, n, other).accuracy);
    if (gain > most) {
      most = gain;
      at = n;
    }
  }
  if (at == 0) return fmt::format("nowhere {}", word);
  const FitComparison &ours = measured(found, at, "refitted"), &theirs = measured(found, at, other);
  const bool apart = ours.accuracy_low > theirs.accuracy_high || ours.accuracy_high < theirs.accuracy_low;
  return fmt::format("up to {:.1f} points {} ({} items: {}~% against {}~%, {})", 100.0 * most, word,
                     grouped(at), short_percent(ours.accuracy), short_percent(theirs.accuracy),
                     apart ? "intervals apart" : "intervals overlap");
}

std::string verdict(const FitResult& found) {
  const FittedHead& head = found.head;
  std::string text = fmt::format(
      "Head of arm {}, seed {}, trained under {} on at most {} items. Adaptive temperature refitted to it "
      "is,",
      head.arm, head.seed, head.normalizer, grouped(head.largest_size));
  const std::pair<const char*, const char*> others[] = {{"softmax", "plain softmax"},
                                                        {"published", "the published polynomial"},
                                                        {"entropy_target", "entropy_target"}};
  for (const auto& [rule, name] : others)
    text += fmt::format(" against {}: {}, {}{}", name, farthest(found, rule, Direction::better),
                        farthest(found, rule, Direction::worse),
                        std::string_view(rule) == "entropy_target" ? "." : ";");
  return paragraph(text);
}

std::string counts_table(const FitResult& found, bool colour) {
  constexpr std::size_t kMostSizes = 9;
  std::vector<std::int64_t> sizes;
  for (const FitCount& count : found.counts) sizes.push_back(count.n);
  std::sort(sizes.begin(), sizes.end());
  sizes = thinned(sizes, kMostSizes);
  std::vector<Align> columns(sizes.size() + 1, Align::right);
  columns[0] = Align::left;
  Table table(columns);
  const auto add = [&](const char* name, const auto& cell, Ink ink) {
    std::vector<Cell> row = {{name, ink}};
    for (const std::int64_t n : sizes)
      for (const FitCount& count : found.counts)
        if (count.n == n) row.push_back({cell(count), ink});
    table.add(row);
  };
  const auto counted = [](std::int64_t FitCount::*number) {
    return [number](const FitCount& count) { return grouped(count.*number); };
  };
  add(
      "items", [](const FitCount& count) { return short_count(count.n); }, Ink::bold);
  add("sets", counted(&FitCount::sets), Ink::plain);
  add("wrong under softmax", counted(&FitCount::wrong), Ink::plain);
  add("right at their best", counted(&FitCount::mended), Ink::plain);
  return heading("Sets looked at", colour) + table.text(colour);
}

std::string ends(const FitResult& found) {
  const double share =
      static_cast<double>(found.at_least_beta + found.at_largest_beta) / static_cast<double>(found.points);
  return paragraph(fmt::format(
      "beta = 1/temperature. best: mean of the beta of least loss, o in the plot; refit (r) and publ (p): "
      "the "
      "polynomials in the middle of the bin; |: beta~=~1; off by, rms: best less refit. Of {} fitted sets {} "
      "are best at beta~=~{} and {} at {}, the ends of what was tried ({:.0f}~%): these would go further. "
      "Residuals of all sets: rms {:.2f} refitted, {:.2f} published; entropy explains {:.0f}~% of the "
      "variance "
      "of the best beta.",
      grouped(found.points), grouped(found.at_least_beta), found.settings.least_beta, grouped(found.at_largest_beta),
      found.settings.largest_beta, 100.0 * share, found.refitted.rms_residual, found.published.rms_residual,
      100.0 * found.explained));
}

// Where the rule is not softmax: the polynomial exceeds 1 and the entropy the threshold.
std::string where_it_acts(const FitPolynomial& rule, double looked_up_to) {
  std::string out;
  double last = 0.0;
  for (const auto& [from, high] : rule.above_one) {
    const double low = std::max(from, rule.threshold);
    if (high <= low) continue;
    out += fmt::format("{} {:.3f} to {:.3f}", out.empty() ? "" : " and", low, high);
    last = high;
  }
  if (out.empty()) return "nowhere: it is plain softmax";
  out = fmt::format("from{} nats", out);
  if (last >= looked_up_to) return out + ", as far as was looked";
  return out + fmt::format("; beyond, from about {} equally weighted items on, it is exactly plain softmax",
                           grouped(std::llround(std::exp(last))));
}

std::string where(const FitResult& found, bool colour) {
  const double looked_up_to = found.looked_at.second;
  return heading("Where they sharpen", colour) +
         paragraph(fmt::format("Published: {}. Refitted: {}. The fitted sets have {:.2f} to {:.2f} nats; "
                               "outside of these the refitted polynomial is guesswork.",
                               where_it_acts(found.published, looked_up_to),
                               where_it_acts(found.refitted, looked_up_to),
                               found.entropy.first, found.entropy.second));
}

std::string comparison(const FitResult& found, bool colour) {
  if (found.comparison.empty()) return "";
  Table table({Align::right, Align::right, Align::right, Align::right, Align::right, Align::right}, 1);
  std::vector<Cell> head;
  for (const char* word : {"items", "nats", "softmax", "published", "refitted", "entropy_target"})
    head.push_back({word, Ink::bold});
  table.add(head);
  for (const std::int64_t n : found.settings.test_sizes) {
    std::vector<Cell> row = {{short_count(n)},
                             {short_number(measured(found, n, "softmax").entropy)}};
    for (const char* rule : {"softmax", "published", "refitted", "entropy_target"}) {
      const FitComparison& m = measured(found, n, rule);
      row.push_back(
          {fmt::format(" {:>4} {:>9}", short_percent(m.accuracy),
                       fmt::format("{}-{}", short_percent(m.accuracy_low), short_percent(m.accuracy_high)))});
    }
    table.add(row);
  }
  const FitComparison& any = found.comparison.back();
  return heading(fmt::format("Right answers in %, with 95 % intervals, over {} other sets of each size",
                             grouped(any.sets)),
                 colour) +
         table.text(colour) +
         paragraph(fmt::format("nats: mean entropy under softmax; the last column is {}.",
                               any.normalizer));
}

}  // namespace

std::string fit_report(const FitResult& found, bool colour) {
  return fmt::format("{}\n{}{}\n\n{}\n{}{}{}\n{}\n{}", verdict(found),
                     heading("The refitted rule, highest degree first, as --normalizers takes it", colour),
                     found.refitted.normalizer, counts_table(found, colour),
                     heading("Best temperatures by entropy, and the fit", colour), fit_plot(found, colour),
                     inked(ends(found), Ink::dim, colour), where(found, colour), comparison(found, colour));
}

}  // namespace sharpmax::cli
