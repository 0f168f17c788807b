#include <fmt/format.h>

#include <tuple>

#include "sharpmax/error.h"
#include "sharpmax/statistics.h"

namespace sharpmax {
namespace {

// One number per row: the wish, the tensor that holds it, the view that attend() writes to.
constexpr std::tuple kPerRow = {
    std::tuple{&WantedStatistics::log_partition, &OwnedStatistics::log_partition,
               &RowStatistics::log_partition},
    std::tuple{&WantedStatistics::entropy, &OwnedStatistics::entropy, &RowStatistics::entropy},
    std::tuple{&WantedStatistics::peak_weight, &OwnedStatistics::peak_weight, &RowStatistics::peak_weight},
    std::tuple{&WantedStatistics::peak_key, &OwnedStatistics::peak_key, &RowStatistics::peak_key},
    std::tuple{&WantedStatistics::effective_support, &OwnedStatistics::effective_support,
               &RowStatistics::effective_support},
    std::tuple{&WantedStatistics::support, &OwnedStatistics::support, &RowStatistics::support},
    std::tuple{&WantedStatistics::mass, &OwnedStatistics::mass, &RowStatistics::mass},
    std::tuple{&WantedStatistics::temperature, &OwnedStatistics::temperature, &RowStatistics::temperature},
    std::tuple{&WantedStatistics::threshold, &OwnedStatistics::threshold, &RowStatistics::threshold},
    std::tuple{&WantedStatistics::score_spread, &OwnedStatistics::score_spread, &RowStatistics::score_spread},
    std::tuple{&WantedStatistics::first_weight, &OwnedStatistics::first_weight, &RowStatistics::first_weight},
};

template <class F>
void for_each_per_row(const F& f) {
  const auto apply_to = [&](const auto& fields) { std::apply(f, fields); };
  std::apply([&](const auto&... statistics) { (apply_to(statistics), ...); }, kPerRow);
}

void check_not_negative(const char* name, std::int64_t found) {
  if (found >= 0) return;
  throw Error(ErrorCode::bad_argument,
              fmt::format("statistics: {} is {}; it must be at least 0", name, found));
}

template <class T, std::size_t Rank>
void allocate(Tensor<T, Rank>& tensor, const Extents<Rank>& shape) {
  tensor = Tensor<T, Rank>(shape);
}

}  // namespace

OwnedStatistics::OwnedStatistics(const WantedStatistics& wanted, const Extents<4>& rows) {
  check_not_negative("top", wanted.top);
  for (const std::int64_t blocks : wanted.map) check_not_negative("map", blocks);
  const auto [batches, heads, queries, keys] = rows;
  const Extents<3> one_each = {batches, heads, queries};
  for_each_per_row([&](auto wish, auto tensor, auto) {
    if (wanted.*wish) allocate(this->*tensor, one_each);
  });
  if (wanted.top > 0) {
    allocate(top_keys, {batches, heads, queries, wanted.top});
    allocate(top_weights, {batches, heads, queries, wanted.top});
  }
  gaps.assign(wanted.gaps.begin(), wanted.gaps.end());
  if (wanted.gap_counts) {
    allocate(gap_counts, {batches, heads, queries, static_cast<std::int64_t>(gaps.size())});
  }
  if (wanted.column_mass) allocate(column_mass, {batches, heads, keys});
  if (wanted.map != Extents<2>{}) allocate(map, {batches, heads, wanted.map[0], wanted.map[1]});
}

RowStatistics OwnedStatistics::views() noexcept {
  RowStatistics views;
  for_each_per_row([&](auto, auto tensor, auto view) { views.*view = this->*tensor; });
  views.top_keys = top_keys;
  views.top_weights = top_weights;
  views.gap_counts = gap_counts;
  views.gaps = gaps;
  views.column_mass = column_mass;
  views.map = map;
  return views;
}

}  // namespace sharpmax
