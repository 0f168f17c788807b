#include "report/kind/kinds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <map>
#include <string_view>

#include "base/in_quotes.h"
#include "report/view/looks.h"
#include "sharpmax/error.h"

namespace sharpmax::report {

// One file each.
View retrieval_view(const Json& results);
View audit_view(const Json& results);
View demo_view(const Json& results);
View bound_view(const Json& results);
View bound_model_view(const Json& results);
View fix_view(const Json& results);
View perplexity_view(const Json& results);
View inspect_view(const Json& results);
View fit_view(const Json& results);
View train_view(const Json& results);
void compare_retrievals(View& view, std::span<const Compared> compared);
void compare_audits(View& view, std::span<const Compared> compared);
void compare_bounds(View& view, std::span<const Compared> compared);
void compare_certificates(View& view, std::span<const Compared> compared);
void compare_fixes(View& view, std::span<const Compared> compared);
void compare_losses(View& view, std::span<const Compared> compared);

namespace {

constexpr Kind kKinds[] = {
    {"sharpmax.retrieval/1", retrieval_view, compare_retrievals},
    {"sharpmax.audit/1", audit_view, compare_audits},
    {"sharpmax.attend.demo/1", demo_view, nullptr},
    {"sharpmax.bound.spread/1", bound_view, compare_bounds},
    {"sharpmax.bound.model/1", bound_model_view, compare_certificates},
    {"sharpmax.fix/1", fix_view, compare_fixes},
    {"sharpmax.perplexity/1", perplexity_view, compare_losses},
    {"sharpmax.inspect/1", inspect_view, nullptr},
    {"sharpmax.fit/1", fit_view, nullptr},
    {"sharpmax.train/1", train_view, nullptr},
};

// Whether there is nothing to show of it.
bool is_empty(const Chart& chart) { return !is_drawable(chart); }
bool is_empty(const Bars& bars) { return bars.bars.empty(); }
bool is_empty(const HeatMaps& maps) { return maps.lines.empty(); }
bool is_empty(const Table& table) { return table.rows.empty(); }
bool is_empty(const Choice& choice) { return choice.options.empty(); }
bool is_empty(const auto&) { return false; }

std::string known() {
  std::vector<std::string_view> schemas;
  for (const Kind& kind : kKinds) schemas.push_back(kind.schema);
  return fmt::format("{}", fmt::join(schemas, ", "));
}

}  // namespace

const Kind& kind_of(const Json& results) {
  const auto found = results.is_object() ? results.find("schema") : results.end();
  const bool named = found != results.end() && found->is_string();
  const std::string schema = named ? found->get<std::string>() : "";
  for (const Kind& kind : kKinds)
    if (schema == kind.schema) return kind;
  throw Error(ErrorCode::bad_argument,
              fmt::format("report: the results have {}; there is a page for {}",
                          named ? "schema " + in_quotes(schema) : "no schema", known()));
}

View view_of(const Json& results) {
  const Kind& kind = kind_of(results);
  View view = made_of(kind, [&] { return kind.view(results); });
  leave_out_empty(view);
  return view;
}

void leave_out_empty(View& view) {
  for (Section& section : view.sections)
    std::erase_if(section.items, [](const Item& item) { return std::visit([](const auto& value) { return is_empty(value); }, item.value); });
  std::erase_if(view.sections, [](const Section& section) { return section.items.empty(); });
}

void not_of_schema(const char* schema, const nlohmann::json::exception& problem) {
  // Without the library's own number for it in front.
  std::string_view words = problem.what();
  if (const std::size_t end = words.find("] "); end != words.npos) words.remove_prefix(end + 2);
  throw Error(ErrorCode::bad_argument,
              fmt::format("report: the results are not of schema {}: {}", schema, in_quotes(words)));
}

// Several results in one view: what each is, and those of one kind side by side.

namespace {

// Settings that tell more come first; those that a reader could not use are left out.
constexpr std::string_view kTelling[] = {"preset",       "file",      "normalizer", "normalizers", "rope_scaling",
                                         "rope_base",    "text",      "task",       "length",      "seeds",
                                         "normalizers.default"};
constexpr std::string_view kUntelling[] = {"fingerprint", "checksum", "sha256", "layers",    "heads",
                                           "kv_heads",    "head_width", "width", "vocabulary"};
constexpr std::size_t kLongestSetting = 40;

using Settings = std::vector<std::pair<std::string, std::string>>;

bool is_untelling(std::string_view name) {
  for (const std::string_view part : kUntelling)
    if (name == part || name.ends_with("." + std::string(part)) || name.find(std::string(part) + ".") != name.npos) return true;
  return false;
}

std::string plain_text(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

void read_settings(Settings& found, const Json& value, const std::string& name) {
  if (value.is_null() || is_untelling(name)) return;
  if (value.is_object()) {
    for (const auto& [key, inner] : value.items()) read_settings(found, inner, name.empty() ? key : name + "." + key);
  } else if (value.is_array()) {
    std::string text;
    for (const Json& one : value) text += (text.empty() ? "" : " ") + plain_text(one);
    found.emplace_back(name, std::move(text));
  } else {
    found.emplace_back(name, plain_text(value));
  }
}

// Names within the model are as short as those of the run.
Settings settings_of(const Json& results) {
  Settings found;
  const Json settings = results.value("settings", Json::object());
  for (const auto& [name, value] : settings.items()) read_settings(found, value, name == "model" ? "" : name);
  for (const char* name : {"spread", "beta", "peak", "seed", "preset", "rope_scaling", "rope_base"})
    if (results.contains(name)) read_settings(found, results.at(name), name);
  if (results.contains("model")) read_settings(found, results.at("model"), "");
  return found;
}

const std::string* value_of(const Settings& settings, const std::string& name) {
  for (const auto& [key, value] : settings)
    if (key == name) return &value;
  return nullptr;
}

std::size_t rank_of(std::string_view name) {
  return static_cast<std::size_t>(std::find(std::begin(kTelling), std::end(kTelling), name) - std::begin(kTelling));
}

std::string setting_words(std::string name, const std::string& value) {
  for (const char* plain : {"preset", "normalizer", "file", "text"})
    if (name == plain) return file_name(value);
  for (char& c : name)
    if (c == '_' || c == '.') c = ' ';
  return name + " " + value;
}

std::string what_differs(const Json& results, const std::vector<const Json*>& alike) {
  Settings mine = settings_of(results);
  std::vector<Settings> others;
  for (const Json* one : alike) others.push_back(settings_of(*one));
  std::erase_if(mine, [&](const auto& setting) {
    return setting.second.size() > kLongestSetting || std::all_of(others.begin(), others.end(), [&](const Settings& other) {
             const std::string* value = value_of(other, setting.first);
             return value && *value == setting.second;
           });
  });
  std::stable_sort(mine.begin(), mine.end(), [](const auto& a, const auto& b) { return rank_of(a.first) < rank_of(b.first); });
  std::string words;
  for (std::size_t i = 0; i < std::min<std::size_t>(2, mine.size()); ++i)
    words += (i ? ", " : "") + setting_words(mine[i].first, mine[i].second);
  if (!words.empty()) return words;
  const auto created = [](const Json& one) { return one.contains("created") ? plain_text(one.at("created")) : ""; };
  const bool dated = std::any_of(alike.begin(), alike.end(), [&](const Json* one) { return created(*one) != created(results); });
  return dated ? created(results) : "";
}

}  // namespace

std::vector<Named> names_of(const std::vector<View>& views, const std::vector<Json>& results) {
  constexpr Paint kPaints[] = {Paint::vermillion, Paint::blue, Paint::green, Paint::purple,
                               Paint::sky,        Paint::amber, Paint::brown, Paint::grey};
  constexpr std::string_view kDashes[] = {"", "9 4", "4 3", "12 3 2 3"};
  std::vector<Named> names;
  for (std::size_t i = 0; i < results.size(); ++i) {
    std::vector<const Json*> of_label, of_kind;
    for (std::size_t k = 0; k < results.size(); ++k) {
      if (views[k].label == views[i].label) of_label.push_back(&results[k]);
      if (views[k].schema == views[i].schema) of_kind.push_back(&results[k]);
    }
    const std::string apart = what_differs(results[i], of_label), own = what_differs(results[i], of_kind);
    const std::string& label = views[i].label;
    names.push_back({i + 1, label, fmt::format("{}: {}{}{}", i + 1, label, apart.empty() ? "" : ", ", apart),
                     fmt::format("{}: {}", i + 1, own.empty() ? label : own),
                     {kPaints[i % std::size(kPaints)], kDashes[i / std::size(kPaints) % std::size(kDashes)]}});
  }
  return names;
}

namespace {

Section list_of(const std::vector<View>& views, const std::vector<Named>& names) {
  Table table{.id = "result-list", .title = "Results",
              .columns = {{"result"}, {"date"}, {"sharpmax"}, {"command", kCode}},
              .sortable = false};
  for (std::size_t i = 0; i < views.size(); ++i) {
    const auto fact = [&](const char* name) {
      for (const auto& [key, value] : views[i].facts)
        if (key == name) return Cell(value);
      return Cell();
    };
    table.rows.push_back({names[i].name, fact("date"), fact("sharpmax"), views[i].command});
    table.links.push_back(std::to_string(names[i].number));
  }
  return {"compared-results", "What is compared", "Each result has its own view: its name leads there.", {{std::move(table)}}};
}

std::string title_of(const std::vector<View>& views) {
  bool one_kind = true, one_label = true;
  for (const View& view : views) {
    one_kind = one_kind && view.schema == views[0].schema;
    one_label = one_label && view.label == views[0].label;
  }
  const std::string many = plural(static_cast<double>(views.size()), "result");
  if (!one_kind) return many + " in one page";
  if (!one_label || views[0].label.empty()) return many + " compared";
  std::string of = views[0].label;
  if (of.front() >= 'a' && of.front() <= 'z') of.front() = static_cast<char>(of.front() - 'a' + 'A');
  return fmt::format("{}: {} compared", of, many);
}

}  // namespace

View compared_view(std::span<const Json> given) {
  const std::vector<Json> results(given.begin(), given.end());
  std::vector<View> views;
  for (const Json& one : results) views.push_back(view_of(one));
  const std::vector<Named> names = names_of(views, results);
  View compared;
  compared.schema = "sharpmax.compared";
  compared.kind = "compared";
  compared.label = "Compared";
  compared.title = title_of(views);
  compared.sections.push_back(list_of(views, names));
  std::vector<std::string> schemas;
  for (const View& view : views) add_once(schemas, view.schema);
  for (const std::string& schema : schemas) {
    std::vector<Compared> alike;
    for (std::size_t i = 0; i < views.size(); ++i)
      if (views[i].schema == schema) alike.push_back({&results[i], names[i]});
    const Kind& kind = kind_of(*alike[0].results);
    if (alike.size() > 1 && kind.compare) made_of(kind, [&] { kind.compare(compared, alike); });
  }
  leave_out_empty(compared);
  return compared;
}

namespace {

constexpr std::size_t kLongestFact = 2000;

std::string spaced(std::string text) {
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

// A value of the settings, whatever it is.
std::string setting_text(const Json& value) {
  if (value.is_null()) return std::string(kNone);
  if (value.is_number()) return value.is_number_float() ? plain_number(value.get<double>()) : count(value.get<double>());
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  std::string text;
  for (const auto& [name, part] : value.items()) {
    if (!text.empty()) text += value.is_array() ? ", " : "; ";
    text += (value.is_array() ? "" : spaced(name) + " ") + setting_text(part);
  }
  return text;
}

void add_facts(View& view, const Json& settings) {
  for (const auto& [name, value] : settings.items()) {
    if (name == "model") continue;
    std::string text = setting_text(value);
    if (text.size() > kLongestFact)
      view.left_out.push_back(name == "normalizers" ? "the table of normalizers by head" : spaced(name));
    else
      view.facts.emplace_back(name == "file" ? "model" : spaced(name), std::move(text));
  }
}

// What a command was told stands among its results where it has no settings of their own.
bool is_told(std::string_view name, const Json& value) {
  for (const char* apart : {"schema", "sharpmax", "command", "created", "seconds", "verdict", "complete", "likeliest_right"})
    if (name == apart) return false;
  return value.is_null() || value.is_number() || value.is_string();
}

}  // namespace

std::string text_or_none_at(const Json& from, const char* name) {
  return from.at(name).is_null() ? "" : text_at(from, name);
}

double size_at(const Json& from, const char* name) {
  const double size = from.at(name).get<double>();
  if (!(size > 0.0))
    throw Error(ErrorCode::bad_argument, fmt::format("report: the size {} is {}; it must be above 0", name, size));
  return size;
}

FieldColumn::FieldColumn(Column of, const char* field) : column(std::move(of)) {
  std::string path = *field ? field : column.name;
  std::replace(path.begin(), path.end(), ' ', '_');
  cell = [path, words = column.left()](const Json& row) {
    const Json* found = &row;
    for (std::size_t begin = 0, end = 0; begin < path.size(); begin = end + 1) {
      end = std::min(path.find('.', begin), path.size());
      found = &found->at(path.substr(begin, end - begin));
    }
    return words ? Cell(found->get<std::string>()) : Cell(number_in(*found));
  };
}

Table fields_table(Table begun, const Json& list, std::initializer_list<FieldColumn> columns) {
  for (const FieldColumn& one : columns) begun.columns.push_back(one.column);
  for (const Json& entry : list) {
    auto& row = begun.rows.emplace_back();
    for (const FieldColumn& one : columns) row.push_back(one.cell(entry));
  }
  return begun;
}

Axis counts_axis(std::string label, std::string symbol, std::span<const double> sizes) {
  Axis axis = size_axis(std::move(label), sizes);
  axis.format = kCount;
  axis.symbol = std::move(symbol);
  return axis;
}

void add_point(Curve& curve, double at, const std::optional<double>& value, const std::optional<double>& low, const std::optional<double>& high) {
  if (value) curve.points.push_back({at, *value, low, high});
}

Reference level_line(std::string name, std::span<const double> sizes, double value) {
  Reference line{.name = std::move(name)};
  for (const double n : sizes) line.points.push_back({n, value});
  return line;
}

Reference equal_weights_line(std::span<const double> sizes) {
  Reference line{.name = "ln n: equal weights", .rising = true};
  for (const double n : sizes) line.points.push_back({n, std::log(n)});
  return line;
}

void list_names(Words& words, const std::vector<Words>& names, std::size_t most) {
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i) {
    if (i > 0) words << std::string(", ");
    for (const Words::Part& part : names[i].parts) words << part;
  }
  words << (names.size() > most ? fmt::format(" and {}.", plural(static_cast<double>(names.size() - most), "other")) : ".");
}

std::string normalizer_of(const Json& model) {
  return model.contains("normalizer") && model.at("normalizer").is_string() ? model.at("normalizer").get<std::string>()
                                                                            : "a table of normalizers";
}

View begun_view(const Json& results, Origin origin) {
  View view;
  view.schema = text_at(results, "schema");
  if (origin == Origin::command) view.command = text_or_none_at(results, "command");
  view.complete = !results.contains("complete") || truth_at(results, "complete");
  const std::string version = text_or_none_at(results, "sharpmax");
  view.facts.emplace_back("sharpmax", version.empty() ? std::string(kNone) : version);
  if (results.contains("created")) view.facts.emplace_back("date", text_or_none_at(results, "created"));
  if (results.contains("seconds") && !results.at("seconds").is_object())
    if (const auto seconds = number_at(results, "seconds"))
      view.facts.emplace_back("time taken", decimal(*seconds, 1) + " s");
  Json told = Json::object();
  for (const auto& [name, value] : results.items())
    if (is_told(name, value)) told[name] = value;
  add_facts(view, told);
  if (results.contains("settings")) add_facts(view, results.at("settings"));
  const Json& of = results.contains("model") ? results : results.value("settings", Json::object());
  if (of.contains("model")) add_facts(view, of.at("model"));
  return view;
}

void add_sections(View& view, std::vector<Section> sections) {
  for (Section& section : sections) view.sections.push_back(std::move(section));
}

std::vector<std::string> shown_first(const std::vector<std::string>& names, std::initializer_list<const char*> story) {
  constexpr std::size_t kFew = 6, kInstead = 4;
  if (names.size() <= kFew) return names;
  std::vector<std::string> first;
  for (const std::string& name : names)
    if (std::any_of(story.begin(), story.end(), [&](const char* one) { return family_of(name) == one; }))
      first.push_back(name);
  if (first.empty()) first.assign(names.begin(), names.begin() + kInstead);
  return first;
}

}  // namespace sharpmax::report
