// Best temperatures against entropy, bin by bin: the numbers, and beside them where they lie.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/fit_report.h"
#include "cli/table.h"

namespace sharpmax::cli {
namespace {

constexpr std::size_t kPlotWidth = 27;  // what the widest numbers leave of a screen
constexpr double kMostShown = 16.0;     // a polynomial may shoot off between points

std::string in_six_columns(double number) {
  if (!std::isfinite(number)) return "-";
  if (std::abs(number) < 99.995) return fmt::format("{:.2f}", number);
  return std::abs(number) < 99999.5 ? fmt::format("{:.0f}", number) : fmt::format("{:.0e}", number);
}

double largest_shown(const std::vector<FitBin>& bins) {
  double largest = 1.0;
  for (const FitBin& bin : bins)
    for (const double beta : {bin.mean_beta, bin.refitted, bin.published})
      if (std::isfinite(beta)) largest = std::max(largest, std::min(kMostShown, beta));
  return largest;
}

// One row of beta from 0 to `largest`; of marks at one place the last drawn is seen.
std::string row_of_marks(const FitBin& bin, double largest) {
  std::string row(kPlotWidth, ' ');
  const auto draw = [&](double beta, char mark) {
    if (!std::isfinite(beta)) return;
    const double place = std::clamp(beta / largest, 0.0, 1.0) * static_cast<double>(kPlotWidth - 1);
    row[static_cast<std::size_t>(std::lround(place))] = mark;
  };
  draw(1.0, '|');
  draw(bin.published, 'p');
  draw(bin.refitted, 'r');
  draw(bin.mean_beta, 'o');
  return row;
}

}  // namespace

std::string fit_plot(const FitResult& found, bool colour) {
  const double largest = largest_shown(found.bins);
  Table table({Align::right, Align::right, Align::right, Align::right, Align::right, Align::right,
               Align::right, Align::left},
              1);
  const std::string axis = fmt::format("{:.1f}", largest);
  std::vector<Cell> head;
  for (const char* word : {"nats", "sets", "best", "refit", "publ", "off by", "rms"})
    head.push_back({word, Ink::bold});
  head.push_back({fmt::format("0{:>{}}", axis, kPlotWidth - 1), Ink::dim});
  table.add(head);
  for (const FitBin& bin : found.bins)
    table.add(
        {{fmt::format("{:.2f}-{:.2f}", bin.entropy.first, bin.entropy.second)},
         {grouped(bin.points)},
         {in_six_columns(bin.mean_beta)},
         {in_six_columns(bin.refitted)},
         {in_six_columns(bin.published)},
         {in_six_columns(bin.mean_residual)},
         {in_six_columns(bin.rms_residual)},
         {row_of_marks(bin, largest)}});
  return table.text(colour);
}

}  // namespace sharpmax::cli
