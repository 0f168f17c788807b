#include "report/view/room.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/view/json.h"

namespace sharpmax::report {
namespace {

std::size_t size_of(const View& view) {
  return to_json(view).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace).size();
}

template <class Each>
void each_item(std::vector<Item>& items, const Each& each) {
  for (Item& item : items) {
    each(item);
    if (Choice* choice = std::get_if<Choice>(&item.value))
      for (Option& option : choice->options) each_item(option.items, each);
  }
}

int greatest_spare(View& view) {
  int most = 0;
  for (Section& section : view.sections)
    each_item(section.items, [&](Item& item) {
      most = std::max(most, item.spare);
      if (const Table* table = std::get_if<Table>(&item.value))
        for (const Column& column : table->columns) most = std::max(most, column.spare);
    });
  return most;
}

void name_left_out(View& view, const std::string& name) {
  if (std::find(view.left_out.begin(), view.left_out.end(), name) == view.left_out.end()) view.left_out.push_back(name);
}

void drop_items(std::vector<Item>& items, int spare, View& view) {
  for (Item& item : items) {
    if (item.spare == spare) name_left_out(view, item.named);
    Choice* choice = std::get_if<Choice>(&item.value);
    if (!choice) continue;
    for (Option& option : choice->options) drop_items(option.items, spare, view);
    std::erase_if(choice->options, [](const Option& option) { return option.items.empty(); });
    if (choice->options.empty()) item.spare = spare;
    if (choice->shown >= choice->options.size()) choice->shown = 0;
  }
  std::erase_if(items, [&](const Item& item) { return item.spare == spare; });
}

void drop_columns(Table& table, int spare, View& view) {
  for (std::size_t k = table.columns.size(); k-- > 0;) {
    if (table.columns[k].spare != spare) continue;
    name_left_out(view, table.columns[k].name);
    for (auto& row : table.rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(k));
    table.columns.erase(table.columns.begin() + static_cast<std::ptrdiff_t>(k));
  }
}

void drop(View& view, int spare) {
  for (Section& section : view.sections) {
    drop_items(section.items, spare, view);
    each_item(section.items, [&](Item& item) {
      if (Table* table = std::get_if<Table>(&item.value)) drop_columns(*table, spare, view);
    });
  }
}

using CutRows = std::map<std::string, std::size_t>;  // how many lines were cut, by the title of the table

// Whether there was anything to cut.
bool cut_rows(View& view, std::size_t excess, CutRows& cut) {
  Table* longest = nullptr;
  for (Section& section : view.sections)
    each_item(section.items, [&](Item& item) {
      if (Table* table = std::get_if<Table>(&item.value))
        if (!longest || table->rows.size() > longest->rows.size()) longest = table;
    });
  if (!longest || longest->rows.size() < 2) return false;
  const std::size_t taken = to_json(*longest).dump().size(), rows = longest->rows.size();
  const std::size_t kept = excess >= taken ? 1 : std::max<std::size_t>(1, rows * (taken - excess) / taken);
  if (kept == rows) return false;
  cut[longest->title] += rows - kept;
  longest->rows.resize(kept);
  if (longest->links.size() > kept) longest->links.resize(kept);
  if (longest->chosen && *longest->chosen >= kept) longest->chosen.reset();
  return true;
}

// Points, cells and bars that a picture has, which is what its bytes go with.
std::size_t parts_of(const Item& item) {
  if (const Chart* chart = std::get_if<Chart>(&item.value)) {
    std::size_t points = 0;
    for (const Curve& curve : chart->curves) points += curve.points.size();
    return points;
  }
  if (const Grid* grid = std::get_if<Grid>(&item.value)) return grid->cells.size();
  const Bars* bars = std::get_if<Bars>(&item.value);
  return bars ? bars->bars.size() : 0;
}

// Whether there was a picture to drop.
bool drop_largest_picture(View& view) {
  constexpr int kDropped = 1 << 20;
  Item* largest = nullptr;
  for (Section& section : view.sections)
    each_item(section.items, [&](Item& item) {
      if (parts_of(item) > 0 && (!largest || parts_of(item) > parts_of(*largest))) largest = &item;
    });
  if (!largest) return false;
  largest->spare = kDropped;
  largest->named = std::visit([](const auto& value) { if constexpr (requires { value.subtitle; }) return value.title; else return std::string(); },
                              largest->value);
  if (largest->named.empty()) largest->named = "a picture";
  drop(view, kDropped);
  return true;
}

}  // namespace

void leave_out_beyond(View& view, std::size_t room) {
  for (int spare = greatest_spare(view); spare > 0 && size_of(view) > room; spare = greatest_spare(view)) drop(view, spare);
  CutRows cut;
  for (std::size_t size = size_of(view); size > room; size = size_of(view))
    if (!cut_rows(view, size - room, cut) && !drop_largest_picture(view)) break;
  for (const auto& [title, lines] : cut) view.left_out.push_back(fmt::format("the last {} lines of “{}”", lines, title));
}

}  // namespace sharpmax::report
