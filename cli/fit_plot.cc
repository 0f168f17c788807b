// Best temperatures against entropy, bin by bin: the numbers, and beside them where they lie.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/fit.h"
#include "cli/table.h"

namespace sharpmax::cli {
namespace {

constexpr std::size_t kPlotWidth = 27;  // what the widest numbers leave of a screen
constexpr double kMostShown = 16.0;     // a polynomial may shoot off between points

double value_or_nan(const Json& value) { return value.is_number() ? value.get<double>() : std::nan(""); }

std::string in_six_columns(const Json& value) {
  if (!value.is_number()) return "-";
  const double number = value.get<double>();
  if (std::abs(number) < 99.995) return fmt::format("{:.2f}", number);
  return std::abs(number) < 99999.5 ? fmt::format("{:.0f}", number) : fmt::format("{:.0e}", number);
}

double largest_shown(const Json& bins) {
  double largest = 1.0;
  for (const Json& bin : bins)
    for (const char* key : {"mean_beta", "refitted", "published"})
      if (bin[key].is_number()) largest = std::max(largest, std::min(kMostShown, bin[key].get<double>()));
  return largest;
}

// One row of beta from 0 to `largest`; of marks at one place the last drawn is seen.
std::string row_of_marks(const Json& bin, double largest) {
  std::string row(kPlotWidth, ' ');
  const auto draw = [&](double beta, char mark) {
    if (std::isnan(beta)) return;
    const double place = std::clamp(beta / largest, 0.0, 1.0) * static_cast<double>(kPlotWidth - 1);
    row[static_cast<std::size_t>(std::lround(place))] = mark;
  };
  draw(1.0, '|');
  draw(value_or_nan(bin["published"]), 'p');
  draw(value_or_nan(bin["refitted"]), 'r');
  draw(value_or_nan(bin["mean_beta"]), 'o');
  return row;
}

}  // namespace

std::string fit_plot(const Json& found, bool colour) {
  const Json& bins = found["bins"];
  const double largest = largest_shown(bins);
  Table table({Align::right, Align::right, Align::right, Align::right, Align::right, Align::right,
               Align::right, Align::left},
              1);
  const std::string axis = fmt::format("{:.1f}", largest);
  std::vector<Cell> head;
  for (const char* word : {"nats", "sets", "best", "refit", "publ", "off by", "rms"})
    head.push_back({word, Ink::bold});
  head.push_back({fmt::format("0{:>{}}", axis, kPlotWidth - 1), Ink::dim});
  table.add(head);
  for (const Json& bin : bins)
    table.add(
        {{fmt::format("{:.2f}-{:.2f}", bin["entropy"][0].get<double>(), bin["entropy"][1].get<double>())},
         {grouped(bin["points"].get<long long>())},
         {in_six_columns(bin["mean_beta"])},
         {in_six_columns(bin["refitted"])},
         {in_six_columns(bin["published"])},
         {in_six_columns(bin["mean_residual"])},
         {in_six_columns(bin["rms_residual"])},
         {row_of_marks(bin, largest)}});
  return table.text(colour);
}

}  // namespace sharpmax::cli
