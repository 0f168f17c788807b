#include "report/view/written.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "storage/files.h"

namespace sharpmax::report {
namespace {

std::size_t size_of(const View& view) { return bytes_in_page(to_json(view)); }

template <class Each>
void each_item(std::vector<Item>& items, const Each& each) {
  for (Item& item : items) {
    each(item);
    if (Choice* choice = std::get_if<Choice>(&item.value))
      for (Option& option : choice->options) each_item(option.items, each);
  }
}

// The greatest first.
std::vector<int> spares_of(View& view) {
  std::set<int, std::greater<>> spares;
  for (Section& section : view.sections)
    each_item(section.items, [&](Item& item) {
      spares.insert(item.spare);
      if (const Table* table = std::get_if<Table>(&item.value))
        for (const Column& column : table->columns) spares.insert(column.spare);
      if (const HeatMaps* maps = std::get_if<HeatMaps>(&item.value))
        for (const PanelLine& line : maps->lines) spares.insert(line.spare);
      if (const Heads* heads = std::get_if<Heads>(&item.value)) {
        for (const HeadLayer& layer : heads->layers) spares.insert({layer.spare, layer.spare_ends});
        for (const Heads::Part& part : heads->parts) spares.insert(part.spare);
      }
    });
  spares.erase(0);
  return {spares.begin(), spares.end()};
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

std::string spaced(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

void drop_parts(Heads& heads, int spare, View& view) {
  for (HeadLayer& layer : heads.layers) {
    if (layer.spare == spare) name_left_out(view, spaced(layer.id));
    if (layer.spare_ends != spare || layer.low.empty()) continue;
    name_left_out(view, "intervals of " + spaced(layer.id));
    layer.low.clear();
    layer.high.clear();
  }
  std::erase_if(heads.layers, [&](const HeadLayer& layer) { return layer.spare == spare; });
  for (std::size_t i = heads.parts.size(); i-- > 0;) {
    if (heads.parts[i].spare != spare) continue;
    const Heads::Part part = heads.parts[i];
    heads.parts.erase(heads.parts.begin() + static_cast<std::ptrdiff_t>(i));
    const bool coarser = std::any_of(heads.parts.begin(), heads.parts.end(), [&](const Heads::Part& one) { return one.key == part.key; });
    if (!coarser) name_left_out(view, part.named);
  }
}

void drop(View& view, int spare) {
  for (Section& section : view.sections) {
    drop_items(section.items, spare, view);
    each_item(section.items, [&](Item& item) {
      if (Table* table = std::get_if<Table>(&item.value)) drop_columns(*table, spare, view);
      if (HeatMaps* maps = std::get_if<HeatMaps>(&item.value))
        if (std::erase_if(maps->lines, [&](const PanelLine& line) { return line.spare == spare; })) name_left_out(view, "maps of other normalizers");
      if (Heads* heads = std::get_if<Heads>(&item.value)) drop_parts(*heads, spare, view);
    });
  }
}

using CutRows = std::map<std::string, std::size_t>;  // how many lines were cut, by the title of the table

// Fewer lines, so that `excess` bytes go if they can; one stays.
void cut_rows(Table& table, std::size_t excess, CutRows& cut) {
  const std::size_t taken = bytes_in_page(to_json(table)), rows = table.rows.size();
  const std::size_t fitting = excess >= taken ? 1 : rows * (taken - excess) / taken;
  const std::size_t kept = std::clamp<std::size_t>(fitting, 1, rows - 1);
  cut[table.title] += rows - kept;
  table.rows.resize(kept);
  if (table.links.size() > kept) table.links.resize(kept);
  if (table.chosen && *table.chosen >= kept) table.chosen.reset();
}

// Points, cells, bars and numbers, which is what the bytes of an item go with; 0 if there is nothing to take away.
std::size_t parts_of(const Item& item) {
  if (const Table* table = std::get_if<Table>(&item.value)) return table->rows.size() < 2 ? 0 : table->rows.size() * table->columns.size();
  if (const Chart* chart = std::get_if<Chart>(&item.value)) {
    std::size_t points = 0;
    for (const Curve& curve : chart->curves) points += curve.points.size();
    return points;
  }
  if (const Grid* grid = std::get_if<Grid>(&item.value)) return grid->cells.size();
  if (const Heads* heads = std::get_if<Heads>(&item.value)) return heads->heads.size() * heads->layers.size() * std::max<std::size_t>(1, heads->lengths.size());
  const Bars* bars = std::get_if<Bars>(&item.value);
  return bars ? bars->bars.size() : 0;
}

// Null if nothing can go any more.
Item* heaviest(View& view) {
  Item* found = nullptr;
  for (Section& section : view.sections)
    each_item(section.items, [&](Item& item) {
      if (parts_of(item) > (found ? parts_of(*found) : 0)) found = &item;
    });
  return found;
}

void drop_picture(View& view, Item& picture) {
  constexpr int kDropped = 1 << 20;
  picture.spare = kDropped;
  picture.named = std::visit([](const auto& value) { if constexpr (requires { value.subtitle; } || requires { value.layers; }) return value.title; else return std::string(); },
                             picture.value);
  if (picture.named.empty()) picture.named = "a picture";
  drop(view, kDropped);
}

}  // namespace

std::size_t bytes_in_page(const nlohmann::ordered_json& data) {
  const std::size_t packed = gzip_of(data.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)).size();
  return (packed + 2) / 3 * 4;  // base64
}

void leave_out_beyond(View& view, std::size_t room) {
  if (size_of(view) <= room) return;
  // The fewest that must go, by halving: measuring a view of a thousand heads takes a tenth of a second.
  const std::vector<int> spares = spares_of(view);
  const auto without = [&](std::size_t dropped) {
    View less = view;
    for (std::size_t i = 0; i < dropped; ++i) drop(less, spares[i]);
    return less;
  };
  std::size_t least = 0, most = spares.size();
  while (least < most) {
    const std::size_t middle = (least + most) / 2;
    if (size_of(without(middle)) <= room)
      most = middle;
    else
      least = middle + 1;
  }
  view = without(most);
  CutRows cut;
  for (std::size_t size = size_of(view); size > room; size = size_of(view)) {
    Item* item = heaviest(view);
    if (!item) break;
    if (Table* table = std::get_if<Table>(&item->value))
      cut_rows(*table, size - room, cut);
    else
      drop_picture(view, *item);
  }
  for (const auto& [title, lines] : cut) view.left_out.push_back(fmt::format("the last {} lines of “{}”", lines, title));
}

}  // namespace sharpmax::report
