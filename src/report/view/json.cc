#include "report/view/written.h"

#include <cmath>

#include "report/svg/svg.h"

namespace sharpmax::report {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(double value) { return std::isfinite(value) ? Json(value) : Json(); }
Json json_of(const std::optional<double>& value) { return value ? json_of(*value) : Json(); }

Json json_of(const Words& words) {
  if (words.parts.size() == 1 && !words.parts[0].code) return words.parts[0].text;
  Json parts = Json::array();
  for (const Words::Part& part : words.parts)
    parts.push_back(part.code ? Json{{"code", part.text}} : Json(part.text));
  return parts;
}

Json json_of(Paint paint) { return shades_of(paint).name; }

Json json_of(const Look& look) {
  Json made{{"paint", json_of(look.paint)}};
  for (std::size_t begin = 0; begin < look.dash.size();) {
    const std::size_t end = std::min(look.dash.find(' ', begin), look.dash.size());
    made["dash"].push_back(std::stoi(std::string(look.dash.substr(begin, end - begin))));
    begin = end + 1;
  }
  return made;
}

Json json_of(const Axis& axis) {
  Json ticks = Json::array();
  for (const Tick& tick : axis.ticks) ticks.push_back({tick.at, tick.text});
  return {{"label", axis.label},
          {"symbol", axis.symbol.empty() ? axis.label : axis.symbol},
          {"kind", axis.kind == Axis::Kind::linear ? "linear" : "log"},
          {"low", axis.low},
          {"high", axis.high},
          {"ticks", std::move(ticks)},
          {"format", name_of(axis.format)}};
}

Json json_of(const std::vector<Point>& points) {
  Json made = Json::array();
  for (const Point& point : points) {
    Json one{point.at, json_of(point.value)};
    if (point.low || point.high) one.insert(one.end(), {json_of(point.low), json_of(point.high)});
    made.push_back(std::move(one));
  }
  return made;
}

Json json_of(const Curve& curve) {
  constexpr const char* kMarkers[] = {"dot", "ring", "large_dot", "none"};
  Json made{{"name", curve.name},
            {"look", json_of(curve.look)},
            {"format", name_of(curve.format)},
            {"marker", kMarkers[static_cast<std::size_t>(curve.marker)]},
            {"points", json_of(curve.points)}};
  if (curve.code) made["code"] = true;
  if (!curve.first) made["first"] = false;
  if (!curve.of.empty()) made["published"] = true, made["of"] = curve.of;
  if (!curve.layer.empty()) made["layer"] = curve.layer;
  if (curve.unlisted) made["unlisted"] = true;
  return made;
}

// What every picture has.
template <class Picture>
Json begun(const char* type, const Picture& picture) {
  return {{"type", type},
          {"id", picture.id},
          {"figure", picture.figure},
          {"title", picture.title},
          {"subtitle", picture.subtitle}};
}

Json json_of(const RampWords& ramp, const char* kind) { return {{"kind", kind}, {"low", ramp.low}, {"high", ramp.high}}; }

Json json_of(const Grid& grid) {
  constexpr const char* kRamps[] = {"cividis", "mark"};
  Json made = begun("grid", grid);
  made["described"] = grid.described;
  made["ramp"] = json_of(grid.ramp, kRamps[static_cast<std::size_t>(grid.kind)]);
  made["unknown"] = grid.unknown;
  made["format"] = name_of(grid.format);
  Json cells = Json::array();
  for (const GridCell& cell : grid.cells) cells.push_back({cell.layer, cell.head, json_of(cell.value), cell.share});
  made["cells"] = std::move(cells);
  if (!grid.texts.empty()) made["texts"] = grid.texts;
  return made;
}

Json json_of(const HeadLayer::Values& values) {
  Json made = Json::array();
  for (const auto& line : values) {
    Json& of_head = made.emplace_back(Json::array());
    for (const auto& value : line) of_head.push_back(json_of(value));
  }
  return made;
}

Json json_of(const HeadLayer& layer) {
  constexpr const char* kScales[] = {"root", "linear", "log", "diverging"};
  Json made{{"id", layer.id}, {"name", layer.name}, {"format", name_of(layer.format)}, {"values", json_of(layer.values)}};
  if (!layer.low.empty()) made["low"] = json_of(layer.low), made["high"] = json_of(layer.high);
  if (!layer.texts.empty()) made["texts"] = layer.texts;
  if (layer.meaning.empty()) return made;
  made.update({{"meaning", layer.meaning}, {"scale", kScales[static_cast<std::size_t>(layer.scale)]}, {"least", layer.least}, {"most", layer.most},
               {"ramp", {layer.ramp.low, layer.ramp.high}}});
  return made;
}

Json json_of(const Heads& heads) {
  Json made{{"type", "heads"},       {"id", heads.id},       {"title", heads.title},     {"lengths", heads.lengths},
            {"length_names", heads.length_names}, {"heads", Json::array()}, {"first", heads.first}, {"offered", heads.offered},
            {"layers", Json::array()}, {"words", heads.words}, {"links", heads.links}, {"figures", Json::array()},
            {"columns", heads.columns}, {"note", heads.note}, {"drawn", heads.drawn}};
  for (const Heads::Name& name : heads.heads) made["heads"].push_back({name.layer, name.head, name.kind});
  for (const HeadLayer& layer : heads.layers) made["layers"].push_back(json_of(layer));
  for (const HeadFigure& figure : heads.figures)
    made["figures"].push_back({{"caption", figure.caption}, {"words", figure.words}, {"chart", to_json(figure.chart)}});
  for (const Heads::Part& part : heads.parts) made["drawn"][part.key] = part.data;
  return made;
}

Json json_of(const Bar& bar) {
  Json pieces = Json::array();
  for (const Piece& piece : bar.pieces) pieces.push_back({piece.length, json_of(piece.paint)});
  Json made{{"name", bar.name}, {"pieces", std::move(pieces)}, {"beside", bar.beside}};
  if (bar.low) made["low"] = *bar.low;
  if (bar.high) made["high"] = *bar.high;
  if (bar.bold) made["bold"] = true;
  if (bar.code) made["code"] = true;
  return made;
}

Json json_of(const Bars& bars) {
  Json made = begun("bars", bars);
  made["described"] = bars.described;
  made["legend"] = Json::array();
  for (const Entry& entry : bars.legend)
    made["legend"].push_back({{"name", entry.name}, {"paint", json_of(entry.look.paint)}});
  made["across"] = json_of(bars.across);
  made["beside"] = bars.beside;
  if (bars.mark) made["mark"] = *bars.mark;
  made["bars"] = Json::array();
  for (const Bar& bar : bars.bars) made["bars"].push_back(json_of(bar));
  return made;
}

Json json_of(const Panel& panel) {
  Json thousandths = Json::array();
  std::size_t width = 0;
  for (const auto& line : panel.weights) {
    width = line.size();
    for (const auto& weight : line) thousandths.push_back(weight ? Json(std::lround(1000.0 * *weight)) : Json());
  }
  return {{"name", panel.name}, {"below", json_of(panel.below)}, {"width", width}, {"thousandths", std::move(thousandths)}};
}

Json json_of(const HeatMaps& maps) {
  Json made = begun("heat_maps", maps);
  made["ramp"] = json_of(maps.ramp, "cividis");
  made["lines"] = Json::array();
  for (const PanelLine& line : maps.lines) {
    Json panels = Json::array();
    for (const Panel& panel : line.panels) panels.push_back(json_of(panel));
    made["lines"].push_back({{"name", line.name}, {"panels", std::move(panels)}});
  }
  return made;
}

Json json_of(const Column& column) {
  Json made{{"name", column.name}, {"format", name_of(column.format)}};
  if (!column.meaning.empty()) made["meaning"] = column.meaning;
  if (column.left()) made["align"] = "left";
  if (column.code()) made["code"] = true;
  if (column.hidden) made["hidden"] = true;
  if (!column.csv) made["csv"] = false;
  if (column.bar) made["bar"] = {{"mark", json_of(column.mark)}};
  return made;
}

Json json_of(const Cell& cell, const Column& column) {
  Json value;
  if (cell.is_number()) value = json_of(cell.value);
  if (cell.is_words()) value = cell.words;
  if (column.bar && !value.is_null()) {
    Json bar{cell.from, value};
    if (cell.paint) bar.push_back(json_of(*cell.paint));
    return bar;
  }
  return cell.text.empty() ? value : Json{{"value", std::move(value)}, {"text", cell.text}};
}

Json json_of(const Item& item);

Json json_of(const Choice& choice) {
  Json options = Json::array();
  for (const Option& option : choice.options) {
    Json items = Json::array();
    for (const Item& item : option.items) items.push_back(json_of(item));
    options.push_back({{"name", option.name}, {"items", std::move(items)}});
  }
  return {{"type", "choice"},
          {"label", choice.label},
          {"style", choice.style == Choice::Style::radio ? "radio" : "select"},
          {"shown", choice.shown},
          {"group", choice.group},
          {"options", std::move(options)}};
}

Json json_of(const Note& note) { return {{"type", "note"}, {"text", json_of(note.text)}}; }
Json json_of(const CommandLine& line) { return {{"type", "command"}, {"words", line.words}, {"text", line.text}}; }
Json json_of(const Facts& facts) { return {{"type", "facts"}, {"pairs", facts.pairs}}; }
Json json_of(const ScoreRow& row) {
  return {{"type", "row"}, {"row", {{"name", row.name}, {"n", row.n}, {"quantiles", row.quantiles}}}};
}
Json json_of(const Chart& chart) { return to_json(chart); }
Json json_of(const Table& table) { return to_json(table); }

Json json_of(const Item& item) {
  return std::visit([](const auto& value) { return json_of(value); }, item.value);
}

Json json_of(const Section& section) {
  Json items = Json::array();
  for (const Item& item : section.items) items.push_back(json_of(item));
  return {{"id", section.id}, {"heading", section.heading}, {"words", section.words}, {"items", std::move(items)}};
}

}  // namespace

std::string Words::text() const {
  std::string all;
  for (const Part& part : parts) all += part.text;
  return all;
}

Json to_json(const Chart& chart) {
  Json made = begun("chart", chart);
  made["across"] = json_of(chart.across);
  made["up"] = json_of(chart.up);
  if (chart.up_log) made["up_log"] = json_of(*chart.up_log);
  made["curves"] = Json::array();
  for (const Curve& curve : chart.curves) made["curves"].push_back(json_of(curve));
  if (chart.reference)
    made["reference"] = {{"name", chart.reference->name},
                         {"points", json_of(chart.reference->points)},
                         {"rising", chart.reference->rising}};
  for (const Mark& mark : chart.marks) made["marks"].push_back({{"at", mark.at}, {"name", mark.name}});
  for (const Zone& zone : chart.zones)
    made["zones"].push_back(
        {{"name", zone.name}, {"from", zone.from}, {"to", zone.to}, {"low", zone.low}, {"high", zone.high}});
  if (!chart.share.empty()) made["share"] = chart.share;
  return made;
}

Json to_json(const Table& table) {
  Json made{{"type", "table"}, {"id", table.id}, {"title", table.title}, {"columns", Json::array()}};
  for (const Column& column : table.columns) made["columns"].push_back(json_of(column));
  Json rows = Json::array();
  for (const auto& cells : table.rows) {
    Json row = Json::array();
    for (std::size_t i = 0; i < cells.size(); ++i) row.push_back(json_of(cells[i], table.columns[i]));
    rows.push_back(std::move(row));
  }
  made["rows"] = std::move(rows);
  if (table.sortable) made["sortable"] = true;
  if (table.tall) made["tall"] = true;
  if (table.chosen) made["chosen"] = *table.chosen;
  if (!table.links.empty()) made["links"] = table.links;
  if (!table.filters.empty()) made["filters"] = table.filters, made["row_name"] = table.row_name;
  return made;
}

Json to_json(const View& view) {
  Json made{{"schema", view.schema}, {"kind", view.kind},           {"title", view.title},
            {"label", view.label},   {"complete", view.complete},   {"verdict", Json::array()},
            {"tiles", Json::array()}, {"sections", Json::array()}, {"left_out", view.left_out}};
  for (const Words& words : view.verdict) made["verdict"].push_back(json_of(words));
  for (const Tile& tile : view.tiles)
    made["tiles"].push_back(
        {{"number", tile.number}, {"what", json_of(tile.what)}, {"where", tile.where}, {"paint", json_of(tile.paint)}});
  for (const Section& section : view.sections)
    if (section.page) made["sections"].push_back(json_of(section));
  made["provenance"] = {{"command", view.command}, {"facts", view.facts}};
  return made;
}

}  // namespace sharpmax::report
