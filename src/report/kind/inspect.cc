// The view of `sharpmax inspect`: what a model file holds, whether it runs here, and whether its weights are numbers.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "report/kind/kinds.h"

namespace sharpmax::report {
namespace {

constexpr std::size_t kLongestValue = 60;  // characters of metadata

std::string cut_text(const std::string& text, std::size_t most) {
  const std::u32string all = code_points(shown(text));
  if (all.size() <= most) return shown(text);
  std::string kept;
  for (const char32_t c : all.substr(0, most - 1)) append(kept, c);
  return kept + "…";
}

std::string number_or(const Json& value, const char* otherwise = "?") {
  return value.is_null() ? otherwise : count(value.get<double>());
}

std::string format_text(const Json& format) {
  std::string text = text_at(format, "name");
  if (format.contains("version")) text += " version " + count(format.at("version").get<double>());
  if (format.contains("files") && format.at("files").size() > 1)
    text += fmt::format(" in {} files", format.at("files").size());
  return text;
}

std::string tokenizer_text(const Json& tokenizer) {
  if (tokenizer.is_null()) return "none";
  if (tokenizer.at("description").is_string()) return text_at(tokenizer, "description");
  const std::string kind = text_or_none_at(tokenizer, "kind"), pre = text_or_none_at(tokenizer, "pre");
  return fmt::format("{}{}; does not work here: {}", kind.empty() ? "of unknown kind" : kind,
                     pre.empty() ? "" : ", pre-tokenizer " + pre, text_or_none_at(tokenizer, "why_not"));
}

Section summary_section(const Json& results) {
  const Json &architecture = results.at("architecture"), &shape = results.at("shape");
  const std::string name = text_or_none_at(architecture, "name");
  Facts facts;
  const auto add = [&](const char* key, std::string value) { facts.pairs.emplace_back(key, std::move(value)); };
  add("architecture", name.empty() ? "unknown" : name);
  add("runs here", truth_at(architecture, "runs_here") ? "yes" : "no: " + text_or_none_at(architecture, "why_not"));
  if (architecture.contains("trained_with"))
    add("trained with", text_at(architecture, "trained_with") + " in every head, with a value of its own");
  if (!shape.is_null()) {
    add("layers", number_or(shape.at("layers")));
    add("width", fmt::format("{}, feed-forward {}", number_or(shape.at("width")), number_or(shape.at("feed_forward"))));
    std::string heads = number_or(shape.at("query_heads")) + " query";
    if (!shape.at("kv_heads").is_null()) heads += fmt::format(", {} key and value", number_or(shape.at("kv_heads")));
    if (!shape.at("head_width").is_null()) heads += fmt::format(", {} features each", number_or(shape.at("head_width")));
    add("heads", heads);
    if (shape.contains("experts"))
      add("experts", fmt::format("{}, {} for a token", number_or(shape.at("experts")), number_or(shape.at("experts_used"))));
    if (shape.contains("window"))
      add("windows", fmt::format("{} keys in {} layers", number_or(shape.at("window")), number_or(shape.at("layers_with_window"))));
    add("context", number_or(shape.at("context")) + " tokens");
    add("vocabulary", number_or(shape.at("vocabulary")) + " tokens");
  }
  add("tokenizer", tokenizer_text(results.at("tokenizer")));
  if (results.contains("sha256") && results.at("sha256").is_string()) add("SHA-256", text_at(results, "sha256"));
  return {"summary", "What it is", "", {{std::move(facts)}}, /*brief=*/true};
}

Section types_section(const Json& results) {
  const Json& types = results.at("types");
  Table table = fields_table({.id = "all-types", .title = "Types of weights", .sortable = false}, types,
                             {{"type"}, {"tensors", kCount}, {"elements", kCount}, {"size", kBytes, "bytes"}, {"share", kShare},
                              {bar_column("of all bytes"), [](const Json& type) { return bar_to(number_at(type, "share"), Paint::blue); }}});
  const auto sum = [&](const char* field) {
    double all = 0.0;
    for (const Json& type : types) all += type.at(field).get<double>();
    return all;
  };
  if (table.rows.size() > 1) table.rows.push_back({"all", sum("tensors"), sum("elements"), sum("bytes"), 1.0, Cell()});
  return {"types", "Types of weights", "How the weights are stored.", {{std::move(table)}}, /*brief=*/true};
}

// "blk.7.attn_q.weight" and its like in the other layers are one line: whole numbers between dots become *.
std::string pattern_of(const std::string& name) {
  std::string out;
  for (std::size_t from = 0; from <= name.size();) {
    const std::size_t dot = std::min(name.find('.', from), name.size());
    const std::string part = name.substr(from, dot - from);
    const bool number = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
    out += (from > 0 ? "." : "") + (number ? std::string("*") : part);
    from = dot + 1;
  }
  return out;
}

std::string shape_text(const Json& shape) {
  std::string text = "[";
  for (const Json& extent : shape) text += fmt::format("{}{:.0f}", text.size() > 1 ? ", " : "", extent.get<double>());
  return text + "]";
}

Section tensors_section(const Json& results) {
  using Key = std::tuple<std::string, std::string, std::string>;  // name, type, shape
  struct Sum {
    double tensors = 0.0, bytes = 0.0;
  };
  std::vector<Key> order;
  std::map<Key, Sum> sums;
  Table every{.id = "every-tensor", .title = "Every tensor",
              .columns = {{"tensor"}, {"type"}, {"shape"}, {"size", kBytes}},
              .tall = true,
              .brief_rows = 0};
  for (const Json& tensor : results.at("tensors")) {
    const std::string name = text_at(tensor, "name"), type = text_at(tensor, "type"), shape = shape_text(tensor.at("shape"));
    const double bytes = tensor.at("bytes").get<double>();
    const Key key{pattern_of(name), type, shape};
    add_once(order, key);
    sums[key].tensors += 1.0;
    sums[key].bytes += bytes;
    every.rows.push_back({name, type, shape, bytes});
  }
  Table table{.id = "all-tensors", .title = "Tensors",
              .columns = {{"tensor"}, {"tensors", kCount}, {"type"}, {"shape"}, {"size", kBytes}}};
  for (const Key& key : order) {
    const auto& [name, type, shape] = key;
    table.rows.push_back({name, sums[key].tensors, type, shape, sums[key].bytes});
  }
  return {"tensors", "Tensors", "Tensors that differ in the layer alone are one line; * is its number.",
          {{std::move(table)}, {std::move(every), 1, "every tensor"}}, /*brief=*/true};
}

std::string value_text(const Json& value) {
  if (value.is_string()) {
    const std::string text = value.get<std::string>();
    const std::string size = text.size() > kLongestValue ? fmt::format(" ({} bytes)", count(static_cast<double>(text.size()))) : "";
    return fmt::format("'{}'{}", cut_text(text, kLongestValue), size);
  }
  if (!value.is_array()) return cut_text(value.is_number_float() ? plain_number(value.get<double>()) : value.dump(), kLongestValue);
  constexpr std::size_t kShown = 3;
  std::string list;
  for (std::size_t i = 0; i < std::min(value.size(), kShown); ++i) list += (i ? ", " : "") + value_text(value[i]);
  if (value.size() <= kShown) return cut_text("[" + list + "]", kLongestValue);
  return cut_text(fmt::format("{} values: {}, …", count(static_cast<double>(value.size())), list), kLongestValue);
}

Section metadata_section(const Json& results) {
  Table table = fields_table({.id = "all-metadata", .title = "Metadata", .tall = true}, results.at("metadata"),
                             {{"key"}, {{"value"}, [](const Json& entry) { return Cell(value_text(entry.at("value"))); }}});
  return {"metadata", "Metadata", "The format’s own; long values are cut.", {{std::move(table), 2, "metadata"}}, /*brief=*/true};
}

Words check_sentence(const Json& check) {
  const std::string tensors = count(check.at("tensors").get<double>());
  const double unread = check.at("not_checked").get<double>();
  const std::string rest = unread > 0.0 ? fmt::format("; {} of other types were not looked at", count(unread)) : "";
  if (check.at("bad").empty()) return fmt::format("check: every weight of {} tensors is finite{}.", tensors, rest);
  return fmt::format("check: {} of {} tensors have weights that are NaN or infinite{}.", check.at("bad").size(), tensors, rest);
}

Section check_section(const Json& check) {
  return {"check", "Weights that are not finite", "",
          {{fields_table({.id = "bad-tensors", .title = "Tensors with weights that are not finite"}, check.at("bad"),
                         {{"tensor", kText, "name"}, {"NaN", kCount, "nan"}, {"infinite", kCount}, {"first at", kCount, "first"}})}},
          /*brief=*/true};
}

}  // namespace

View inspect_view(const Json& results) {
  View view = begun_view(results, Origin::file);
  const std::string file = file_name(text_at(results, "path"));
  const double bytes = results.at("bytes").get<double>();
  const Json& shape = results.at("shape");
  view.kind = "a model file";
  view.title = file + ": what is in it";
  view.label = "file " + file;
  view.verdict.push_back(Words(code(file)) << fmt::format(": {}, {} ({} bytes).", format_text(results.at("format")), bytes_text(bytes), count(bytes)));
  view.tiles.push_back({bytes_text(bytes), "on disk", format_text(results.at("format")), Paint::blue});
  if (!shape.is_null()) {
    view.tiles.push_back({number_or(shape.at("layers")), "layers", number_or(shape.at("query_heads")) + " heads each", Paint::grey});
    view.tiles.push_back({number_or(shape.at("context")), "tokens", "context it was trained for", Paint::grey});
  }
  view.sections = {summary_section(results), types_section(results), tensors_section(results), metadata_section(results)};
  if (results.contains("check") && !results.at("check").is_null()) {
    view.verdict.push_back(check_sentence(results.at("check")));
    view.sections.push_back(check_section(results.at("check")));
  }
  return view;
}

}  // namespace sharpmax::report
