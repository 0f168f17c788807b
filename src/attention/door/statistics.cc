#include <fmt/format.h>

#include <array>

#include "attention/door/validate.h"
#include "sharpmax/error.h"
#include "sharpmax/statistics.h"

namespace sharpmax {
namespace {

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
  each_row_statistic([&](const auto& statistic) {
    if (wanted.*statistic.wish) allocate(this->*statistic.tensor, one_each);
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
  each_row_statistic([&](const auto& statistic) { views.*statistic.view = this->*statistic.tensor; });
  views.top_keys = top_keys;
  views.top_weights = top_weights;
  views.gap_counts = gap_counts;
  views.gaps = gaps;
  views.column_mass = column_mass;
  views.map = map;
  return views;
}

namespace {

class StatisticsCheck {
 public:
  StatisticsCheck(std::string_view door, const RowStatistics& statistics, const HeadCounts& counts,
                  std::vector<NamedView>& outputs)
      : door_(door), statistics_(statistics), counts_(counts), outputs_(outputs) {}

  void run() {
    const RowStatistics& s = statistics_;
    each_row_statistic([&](const auto& statistic) {
      output<3>(statistic.path, s.*statistic.view, {counts_.batches, counts_.heads, counts_.queries},
                "batch, query head, query");
    });
    top();
    gaps();
    sums();
  }

 private:
  template <std::size_t Rank, class T>
  void output(std::string_view name, const TensorView<T, Rank>& view, const Extents<Rank>& wanted,
              std::string_view meaning) {
    const NamedView named_view = named(door_, name, view);
    if (!is_there(named_view)) return;
    check_memory(named_view);
    check_shape(named_view, wanted, meaning);
    check_writable(named_view);
    outputs_.push_back(named_view);
  }

  void top() {
    const RowStatistics& s = statistics_;
    const bool keys = is_there(named(door_, "statistics.top_keys", s.top_keys));
    const bool weights = is_there(named(door_, "statistics.top_weights", s.top_weights));
    if (keys != weights) {
      throw Error(ErrorCode::bad_argument,
                  fmt::format("{}: statistics.{} is there without statistics.{}; both or neither", door_,
                              keys ? "top_keys" : "top_weights", keys ? "top_weights" : "top_keys"));
    }
    const Extents<4> wanted = {counts_.batches, counts_.heads, counts_.queries, s.top_keys.shape[3]};
    output<4>("statistics.top_keys", s.top_keys, wanted, "batch, query head, query, k");
    output<4>("statistics.top_weights", s.top_weights, wanted, "as statistics.top_keys");
  }

  void gaps() {
    const RowStatistics& s = statistics_;
    if (!is_there(named(door_, "statistics.gap_counts", s.gap_counts))) return;
    for (std::size_t i = 0; i < s.gaps.size(); ++i) {
      const double before = i == 0 ? 0.0 : s.gaps[i - 1];
      if (s.gaps[i] > before) continue;
      throw Error(ErrorCode::bad_argument,
                  fmt::format("{}: statistics.gaps[{}] is {} after {}; gaps must be positive and ascending", door_,
                              i, s.gaps[i], before));
    }
    output<4>("statistics.gap_counts", s.gap_counts,
              {counts_.batches, counts_.heads, counts_.queries, static_cast<std::int64_t>(s.gaps.size())},
              "batch, query head, query, gap");
  }

  void sums() {
    const RowStatistics& s = statistics_;
    output<3>("statistics.column_mass", s.column_mass, {counts_.batches, counts_.heads, counts_.keys},
              "batch, query head, key");
    const auto [rows, columns] = std::array{s.map.shape[2], s.map.shape[3]};
    output<4>("statistics.map", s.map, {counts_.batches, counts_.heads, rows, columns},
              "batch, query head, map row, map column");
    if (!is_there(named(door_, "statistics.map", s.map))) return;
    if (rows < 1 || columns < 1 || rows > kMostBlocks || columns > kMostBlocks) {
      throw Error(ErrorCode::bad_argument, fmt::format("{}: statistics.map has {} x {} blocks; expected 1 to {} each way",
                                                       door_, rows, columns, kMostBlocks));
    }
  }

  // So that block x size never overflows; a map this wide is no longer a picture.
  static constexpr std::int64_t kMostBlocks = std::int64_t{1} << 20;

  std::string_view door_;
  const RowStatistics& statistics_;
  const HeadCounts& counts_;
  std::vector<NamedView>& outputs_;
};

}  // namespace

bool is_there(const NamedView& view) {
  if (view.present()) return true;
  for (const std::int64_t size : view.shape) {
    if (size == 0) return false;
  }
  check_memory(view);  // throws: elements, or a negative size, without data
  return false;
}

void check_statistics(std::string_view door, const RowStatistics& statistics, const HeadCounts& counts,
                      std::vector<NamedView>& outputs) {
  StatisticsCheck(door, statistics, counts, outputs).run();
}

}  // namespace sharpmax
