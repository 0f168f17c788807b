#include "statistics.h"

#include <string>

#include "sharpmax/error.h"

namespace sharpmax::python {
namespace {

template <class T, std::size_t Rank>
TensorView<T, Rank> heads_of(const TensorView<T, Rank>& whole, const RowPart& part) {
  if (!whole.present()) return {};
  TensorView<T, Rank> view = whole;
  view.data += part.layer * whole.strides[0] + part.first_head * whole.strides[1];
  view.shape[0] = 1;
  view.shape[1] = part.heads;
  return view;
}

template <class T, std::size_t Rank>
TensorView<T, Rank> rows_of(const TensorView<T, Rank>& whole, const RowPart& part) {
  TensorView<T, Rank> view = heads_of(whole, part);
  if (!view.present()) return view;
  view.data += part.first_query * view.strides[2];
  view.shape[2] = part.queries;
  return view;
}

}  // namespace

HeldStatistics::HeldStatistics(const nb::dict& wanted, std::vector<double> gaps) : gaps_(std::move(gaps)) {
  for (const auto& [key, array] : wanted) {
    const char* name = nb::cast<const char*>(key);
    arrays_.push_back(output_array(array, name));
    assign(name, arrays_.back());
    const std::string_view which = name;
    if (which != "column_mass" && which != "map") arrays_of_rows_.push_back(arrays_.back());
  }
  if (!gaps_.empty()) view_.gaps = gaps_;
}

void HeldStatistics::assign(std::string_view name, const OutputArray& array) {
  bool found = false;
  each_row_statistic([&]<class T>(const RowStatistic<T>& statistic) {
    if (name != statistic.name()) return;
    view_.*statistic.view = output_view<T, 3>(array, statistic.name());
    found = true;
  });
  if (found) return;
  if (name == "top_keys") {
    view_.top_keys = output_view<std::int64_t, 4>(array, "top_keys");
  } else if (name == "top_weights") {
    view_.top_weights = output_view<double, 4>(array, "top_weights");
  } else if (name == "gap_counts") {
    view_.gap_counts = output_view<std::int64_t, 4>(array, "gap_counts");
  } else if (name == "column_mass") {
    view_.column_mass = output_view<double, 3>(array, "column_mass");
  } else if (name == "map") {
    view_.map = output_view<double, 4>(array, "map");
  } else {
    throw Error(ErrorCode::bad_argument, "there is no statistic '" + std::string(name) + "'");
  }
}

RowStatistics part_of(const RowStatistics& whole, const RowPart& part) {
  RowStatistics view;
  each_row_statistic(
      [&](const auto& statistic) { view.*statistic.view = rows_of(whole.*statistic.view, part); });
  view.top_keys = rows_of(whole.top_keys, part);
  view.top_weights = rows_of(whole.top_weights, part);
  view.gap_counts = rows_of(whole.gap_counts, part);
  view.gaps = whole.gaps;
  view.column_mass = heads_of(whole.column_mass, part);
  view.map = heads_of(whole.map, part);
  return view;
}

}  // namespace sharpmax::python
