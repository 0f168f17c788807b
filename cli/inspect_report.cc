// What inspect found, for people: 80 columns, made of its JSON alone. Names and texts come from the file, so
// nothing unprintable gets out.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "base/in_quotes.h"
#include "cli/inspect_report.h"
#include "cli/table.h"

namespace sharpmax::cli {
namespace {

constexpr std::size_t kIndent = 2, kGap = 2;

std::string cut(std::string text, std::size_t width) {
  return text.size() <= width ? text : text.substr(0, width > 3 ? width - 3 : 0) + "...";
}

// A sentence of ours, which has quoted what is not: only to be sure.
std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < 0x20 || c >= 0x7f; }, '?');
  return text;
}

std::string plain(const std::string& text, std::size_t width = kScreenWidth) {
  return cut(escaped(text), width);
}

std::string size_text(double bytes) {
  static constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < std::size(kUnits)) {
    bytes /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

std::string number_or(const Json& value, const char* otherwise = "?") {
  return value.is_number_integer() ? grouped(value.get<long long>()) : otherwise;
}

std::string shape_text(const Json& shape) {
  std::string text = "[";
  for (const Json& extent : shape)
    text += fmt::format("{}{}", text.size() > 1 ? ", " : "", extent.get<long long>());
  return text + "]";
}

std::string indented(const std::string& lines) {
  std::string out;
  std::size_t from = 0;
  while (from < lines.size()) {
    const std::size_t end = lines.find('\n', from) + 1;
    out += std::string(kIndent, ' ') + lines.substr(from, end - from);
    from = end;
  }
  return out;
}

// Words that no line has room for are cut into pieces.
std::string broken(const std::string& text, std::size_t room) {
  std::string out;
  std::size_t run = 0;
  for (const char c : text) {
    run = c == ' ' ? 0 : run + 1;
    if (run > room) {
      out += ' ';
      run = 1;
    }
    out += c;
  }
  return out;
}

struct Fact {
  std::string name, value;
};

// Two columns, the second wrapped under itself.
std::string facts_text(const std::vector<Fact>& facts) {
  std::size_t width = 0;
  for (const Fact& fact : facts) width = std::max(width, fact.name.size());
  const std::size_t column = kIndent + width + kGap;
  std::string out;
  for (const Fact& fact : facts) {
    const std::string start = fmt::format("{:{}}{:{}}", "", kIndent, fact.name, width + kGap);
    // wrapped() indents every line but the first, where a word as wide as the margin stands for it.
    const std::string value = broken(fact.value, kScreenWidth - column);
    out += start + wrapped(std::string(column, 'x') + value, kScreenWidth, column).substr(column) + "\n";
  }
  return out;
}

std::string heads_text(const Json& shape) {
  const Json& kv = shape["kv_heads"];
  std::string text = number_or(shape["query_heads"]) + " query";
  if (!kv.is_null()) text += fmt::format(", {} key and value", number_or(kv));
  if (!shape["head_width"].is_null())
    text += fmt::format(", {} features each", number_or(shape["head_width"]));
  return text;
}

std::string tokenizer_text(const Json& tokenizer) {
  if (tokenizer.is_null()) return "none";
  if (tokenizer["description"].is_string()) return printable(tokenizer["description"]);
  std::string text = tokenizer["kind"].is_string() ? plain(tokenizer["kind"], 30) : "of unknown kind";
  if (tokenizer["pre"].is_string()) text += ", pre-tokenizer " + plain(tokenizer["pre"], 30);
  return fmt::format("{}; does not work here: {}", text, printable(tokenizer["why_not"]));
}

std::string summary_text(const Json& found, bool colour) {
  const Json& architecture = found["architecture"];
  const Json& shape = found["shape"];
  std::vector<Fact> facts;
  const auto add = [&](const char* name, std::string value) { facts.push_back({name, std::move(value)}); };
  add("architecture", architecture["name"].is_string() ? plain(architecture["name"]) : "unknown");
  add("runs here",
      architecture["runs_here"] ? std::string("yes") : "no: " + printable(architecture["why_not"]));
  if (!shape.is_null()) {
    add("layers", number_or(shape["layers"]));
    add("width",
        fmt::format("{}, feed-forward {}", number_or(shape["width"]), number_or(shape["feed_forward"])));
    add("heads", heads_text(shape));
    add("context", number_or(shape["context"]) + " tokens");
    add("vocabulary", number_or(shape["vocabulary"]) + " tokens");
  }
  add("tokenizer", tokenizer_text(found["tokenizer"]));

  const Json& format = found["format"];
  std::string kind = format["name"];
  if (format.contains("version")) kind += fmt::format(" version {}", format["version"].get<int>());
  if (format.contains("files") && format["files"].size() > 1)
    kind += fmt::format(" in {} files", format["files"].size());
  std::string path;
  for (const char c : found["path"].get<std::string>())
    path += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return fmt::format("{}\n{}, {} ({} bytes)\n\n{}", inked(path, Ink::bold, colour), kind,
                     size_text(found["bytes"].get<double>()), grouped(found["bytes"].get<long long>()),
                     facts_text(facts));
}

std::vector<Cell> heading(std::initializer_list<const char*> words) {
  std::vector<Cell> row;
  for (const char* word : words) row.push_back({word, Ink::dim});
  return row;
}

std::string types_text(const Json& types, bool colour) {
  Table table({Align::left, Align::right, Align::right, Align::right, Align::right});
  table.add(heading({"type", "tensors", "elements", "size", "share"}));
  long long tensors = 0, elements = 0;
  double bytes = 0;
  for (const Json& type : types) {
    tensors += type["tensors"].get<long long>();
    elements += type["elements"].get<long long>();
    bytes += type["bytes"].get<double>();
    table.add({{plain(type["type"])},
               {grouped(type["tensors"].get<long long>())},
               {grouped(type["elements"].get<long long>())},
               {size_text(type["bytes"].get<double>())},
               {fmt::format("{:.1f} %", 100 * type["share"].get<double>())}});
  }
  if (types.size() > 1)
    table.add({{"all"}, {grouped(tensors)}, {grouped(elements)}, {size_text(bytes)}, {"100.0 %"}});
  return indented(table.text(colour));
}

// "blk.7.attn_q.weight" and its like in the other layers are one line: whole numbers between dots become *.
std::string pattern_of(const std::string& name) {
  std::string out;
  std::size_t from = 0;
  while (from <= name.size()) {
    const std::size_t dot = std::min(name.find('.', from), name.size());
    const std::string part = name.substr(from, dot - from);
    const bool number =
        !part.empty() && std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
    out += (from > 0 ? "." : "") + (number ? std::string("*") : part);
    from = dot + 1;
  }
  return out;
}

struct TensorLine {
  std::string name, type, shape;
  long long tensors = 0;
  double bytes = 0;
};

std::vector<TensorLine> tensor_lines(const Json& tensors, bool all) {
  std::vector<TensorLine> lines;
  std::map<std::string, std::size_t> place;
  for (const Json& tensor : tensors) {
    TensorLine line{tensor["name"], tensor["type"], shape_text(tensor["shape"])};
    if (!all) line.name = pattern_of(line.name);
    const std::string key = line.name + '\0' + line.type + '\0' + line.shape;
    const auto [found, fresh] = place.try_emplace(key, lines.size());
    if (fresh || all) lines.push_back(line);
    TensorLine& one = fresh || all ? lines.back() : lines[found->second];
    one.tensors += 1;
    one.bytes += tensor["bytes"].get<double>();
  }
  return lines;
}

std::string tensors_text(const Json& tensors, bool all, bool colour) {
  const std::vector<TensorLine> lines = tensor_lines(tensors, all);
  Table table({Align::left, Align::right, Align::left, Align::left, Align::right});
  table.add(heading({"tensor", all ? "" : "tensors", "type", "shape", "size"}));
  std::size_t others = 9 + 8, types = 4, shapes = 5;
  for (const TensorLine& line : lines) {
    types = std::max(types, line.type.size());
    shapes = std::max(shapes, line.shape.size());
  }
  others += types + shapes + 4 * kGap + kIndent;
  const std::size_t room = others < kScreenWidth - 20 ? kScreenWidth - others : 20;
  for (const TensorLine& line : lines)
    table.add({{all ? escaped(line.name) : plain(line.name, room)},
               {all ? "" : grouped(line.tensors)},
               {plain(line.type)},
               {line.shape},
               {size_text(line.bytes)}});
  return indented(table.text(colour));
}

std::string short_number_text(const Json& value, const std::string& type) {
  // As many digits as a float has: 1e-05, not the double nearest to it.
  if (type == "float32" && value.is_number_float()) return fmt::format("{}", value.get<float>());
  return value.dump(-1, ' ', true, Json::error_handler_t::replace);
}

// `type` is that of a value, or of an array's elements; empty where the file has no types.
std::string short_value(const Json& value, const std::string& type, std::size_t width) {
  if (value.is_string()) {
    const std::string text = value;
    if (text.size() + 2 <= width) return cut(in_quotes(text), width);
    const std::string size = fmt::format(" ({} bytes)", grouped(static_cast<long long>(text.size())));
    return cut(in_quotes(text), width - size.size()) + size;
  }
  if (!value.is_array()) return cut(short_number_text(value, type), width);
  constexpr std::size_t kShown = 3;
  std::string list;
  for (std::size_t i = 0; i < std::min(value.size(), kShown); ++i) {
    if (i > 0) list += ", ";
    list += short_value(value[i], type, 40);
  }
  if (value.size() <= kShown && list.size() + 2 <= width) return fmt::format("[{}]", list);
  const auto count = grouped(static_cast<long long>(value.size()));
  return cut(fmt::format("{} {}: {}, ...", count, type.empty() ? "values" : type, list), width);
}

std::string metadata_text(const Json& metadata, bool colour) {
  constexpr std::size_t kKeyWidth = 38;
  Table table({Align::left, Align::left});
  std::size_t widest = 0;
  for (const Json& entry : metadata) widest = std::max(widest, plain(entry["key"], kKeyWidth).size());
  for (const Json& entry : metadata)
    table.add({{plain(entry["key"], kKeyWidth)},
               {short_value(entry["value"], entry.value("element", entry.value("type", std::string())),
                            kScreenWidth - kIndent - kGap - widest)}});
  return indented(table.text(colour));
}

std::string check_text(const Json& check, bool colour) {
  const auto tensors = grouped(check["tensors"].get<long long>());
  const Json& bad = check["bad"];
  std::string rest;
  if (const auto left = check["not_checked"].get<long long>(); left > 0)
    rest = fmt::format("; {} of other types were not looked at", grouped(left));
  if (bad.empty())
    return inked(fmt::format("check: every weight of {} tensors is finite{}", tensors, rest), Ink::green,
                 colour) +
           "\n";
  std::string out = inked(fmt::format("check: {} of {} tensors have weights that are not finite{}",
                                      bad.size(), tensors, rest),
                          Ink::red, colour) +
                    "\n";
  Table table({Align::left, Align::right, Align::right, Align::right});
  table.add(heading({"tensor", "NaN", "infinite", "first at"}));
  for (const Json& one : bad)
    table.add({{plain(one["name"], 36)},
               {grouped(one["nan"].get<long long>())},
               {grouped(one["infinite"].get<long long>())},
               {grouped(one["first"].get<long long>())}});
  return out + indented(table.text(colour));
}

}  // namespace

std::string inspect_report(const Json& found, bool all_tensors, bool colour) {
  std::vector<std::string> blocks = {summary_text(found, colour)};
  if (const Json& tensors = found["tensors"]; !tensors.empty()) {
    blocks.push_back(types_text(found["types"], colour));
    blocks.push_back(tensors_text(tensors, all_tensors, colour));
  }
  if (!found["metadata"].empty()) blocks.push_back(metadata_text(found["metadata"], colour));
  if (found.contains("check"))
    blocks.push_back(fmt::format("SHA-256 {}\n", found["sha256"].get<std::string>()) +
                     check_text(found["check"], colour));
  return fmt::format("{}", fmt::join(blocks, "\n"));
}

}  // namespace sharpmax::cli
