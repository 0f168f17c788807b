// Several results in one view: what each is, and those of one kind side by side.
#include <fmt/format.h>

#include <map>
#include <string_view>

#include "report/kind/kinds.h"
#include "report/view/looks.h"

namespace sharpmax::report {
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
  Table table{.id = "result-list",
              .title = "Results",
              .columns = {{.name = "result"}, {.name = "date"}, {.name = "sharpmax"}, {.name = "command", .code = true}},
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
  return one_label ? fmt::format("{}: {} compared", views[0].label, many) : many + " compared";
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

}  // namespace sharpmax::report
