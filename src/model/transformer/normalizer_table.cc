#include "model/transformer/normalizer_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/in_quotes.h"
#include "normalizer/definition.h"
#include "normalizer/of_head.h"
#include "sharpmax/error.h"

namespace sharpmax::model {

NormalizerTable::NormalizerTable(std::int64_t layers, std::int64_t heads, const AnyNormalizer& normalizer)
    : layers_(layers), heads_(heads) {
  check_heads(normalizer, heads, "model");
  for (std::int64_t i = 0; i < layers * heads; ++i) cells_.push_back(normalizer_of_head(normalizer, i % heads));
}

void NormalizerTable::set(std::int64_t layer, std::int64_t head, const AnyNormalizer& normalizer) {
  if (layer < 0 || layer >= layers_ || head < 0 || head >= heads_)
    throw Error(ErrorCode::bad_argument,
                fmt::format("there is no head {} in layer {}; the model has layers 0 to {} of "
                            "heads 0 to {}",
                            head, layer, layers_ - 1, heads_ - 1));
  check_heads(normalizer, 1, fmt::format("layer {}, head {}", layer, head));
  cells_[index(layer, head)] = normalizer;
}

void NormalizerTable::set_layer(std::int64_t layer, const AnyNormalizer& normalizer) {
  if (layer < 0 || layer >= layers_)
    throw Error(ErrorCode::bad_argument,
                fmt::format("there is no layer {}; the model has layers 0 to {}", layer, layers_ - 1));
  check_heads(normalizer, heads_, fmt::format("layer {}", layer));
  for (std::int64_t head = 0; head < heads_; ++head) set(layer, head, normalizer_of_head(normalizer, head));
}

namespace {

// Whether one call can serve both: they differ in numbers alone, which may be given head by head.
bool go_together(const AnyNormalizer& a, const AnyNormalizer& b) {
  if (a == b) return true;
  if (a.name() != b.name()) return false;
  const auto& specs = a.definition().parameters;
  for (std::size_t i = 0; i < specs.size(); ++i)
    if (specs[i].kind != ParameterKind::number && !(a.parameters()[i] == b.parameters()[i])) return false;
  return true;
}

}  // namespace

AnyNormalizer normalizer_of_heads(const NormalizerTable& table, std::int64_t layer, std::int64_t first, std::int64_t end) {
  const AnyNormalizer& one = table.at(layer, first);
  const auto& specs = one.definition().parameters;
  std::vector<std::vector<double>> values(specs.size());
  bool same = true;
  for (std::int64_t head = first; head < end; ++head) {
    same &= table.at(layer, head) == one;
    for (std::size_t i = 0; i < specs.size(); ++i) values[i].push_back(table.at(layer, head).parameters()[i].of_head(0));
  }
  if (same) return one;
  std::vector<AnyNormalizer::NamedParameter> named;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const bool by_head = specs[i].kind == ParameterKind::number && !(table.at(layer, first).parameters()[i].values().empty());
    named.emplace_back(specs[i].name, by_head ? Parameter(values[i]) : one.parameters()[i]);
  }
  return AnyNormalizer(one.definition().name, named);
}

std::vector<HeadRun> head_runs(const NormalizerTable& table, std::int64_t layer, std::int64_t kv_heads) {
  const std::int64_t heads = table.heads(), group = heads / kv_heads;
  std::vector<HeadRun> runs;
  for (std::int64_t head = 0; head < heads;) {
    const AnyNormalizer& normalizer = table.at(layer, head);
    std::int64_t end = head + 1;
    while (end < heads && go_together(table.at(layer, end), normalizer)) ++end;
    // Whole groups from the start of one, or the rest of the group that the head is in.
    const std::int64_t in_group = head % group;
    if (in_group != 0 || end - head < group) {
      end = std::min(end, head - in_group + group);
    } else {
      end = head + (end - head) / group * group;
    }
    const std::int64_t kv_first = head / group;
    runs.push_back({head, end - head, kv_first, (end - 1) / group - kv_first + 1, normalizer_of_heads(table, layer, head, end)});
    head = end;
  }
  return runs;
}

namespace {

using Json = nlohmann::json;

constexpr const char* kSchema = "sharpmax.normalizers/1";
constexpr const char* kOwn = "own";

class Reader {
 public:
  Reader(std::string_view name, const NormalizerTable& own)
      : name_(name), own_(own), layers_(own.layers()), heads_(own.heads()) {}

  NormalizerTable read(const Json& root) {
    only(root, "the file", {"schema", "model", "default", "layers", "heads"});
    if (!root.contains("schema") || root["schema"] != kSchema)
      refuse(fmt::format("\"schema\" must be \"{}\"", kSchema));
    if (root.contains("model")) check_model(root["model"]);
    NormalizerTable table = own_;
    if (root.contains("default") && root["default"] != kOwn)
      table = NormalizerTable(layers_, heads_, normalizer(root["default"], "default"));
    for_each(root, "layers", {"layer", "normalizer"}, [&](const Json& entry, const std::string& where) {
      const std::int64_t layer = number(entry, "layer", where);
      once(layer, -1, where);
      set(where, [&] {
        if (entry.value("normalizer", Json()) != kOwn)
          return table.set_layer(layer, normalizer(entry.value("normalizer", Json()), where));
        for (std::int64_t head = 0; head < heads_; ++head) keep(table, layer, head);
      });
    });
    for_each(
        root, "heads", {"layer", "head", "normalizer"}, [&](const Json& entry, const std::string& where) {
          const std::int64_t layer = number(entry, "layer", where), head = number(entry, "head", where);
          once(layer, head, where);
          set(where, [&] {
            if (entry.value("normalizer", Json()) == kOwn) return keep(table, layer, head);
            table.set(layer, head, normalizer(entry.value("normalizer", Json()), where));
          });
        });
    return table;
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorCode::bad_file, fmt::format("{}: {}", name_, what));
  }

 private:
  void only(const Json& value, const std::string& where,
            std::initializer_list<std::string_view> known) const {
    if (!value.is_object()) refuse(fmt::format("{} must be an object", where));
    for (const auto& [key, unused] : value.items())
      if (std::find(known.begin(), known.end(), key) == known.end())
        refuse(fmt::format("{} has {}; only {} mean something there", where, in_quotes(key),
                           fmt::join(known, ", ")));
  }

  std::int64_t number(const Json& entry, const char* key, const std::string& where) const {
    if (!entry.contains(key) || !entry[key].is_number_integer())
      refuse(fmt::format("{}: \"{}\" must be a whole number", where, key));
    return entry[key].get<std::int64_t>();
  }

  AnyNormalizer normalizer(const Json& value, const std::string& where) const {
    if (!value.is_string()) refuse(fmt::format("{}: the normalizer must be text such as \"softmax\"", where));
    try {
      return AnyNormalizer::parse(value.get<std::string>());
    } catch (const Error& error) {
      refuse(fmt::format("{}: {}", where, error.what()));
    }
  }

  void check_model(const Json& model) const {
    only(model, "\"model\"", {"layers", "heads"});
    const std::int64_t layers = number(model, "layers", "\"model\""),
                       heads = number(model, "heads", "\"model\"");
    if (layers != layers_ || heads != heads_)
      refuse(fmt::format("the table is for {} layers of {} heads; this model has {} of {}", layers, heads,
                         layers_, heads_));
  }

  template <class Body>
  void for_each(const Json& root, const char* key, std::initializer_list<std::string_view> known,
                const Body& body) {
    if (!root.contains(key)) return;
    if (!root[key].is_array()) refuse(fmt::format("\"{}\" must be a list", key));
    for (std::size_t i = 0; i < root[key].size(); ++i) {
      const std::string where = fmt::format("{}[{}]", key, i);
      only(root[key][i], where, known);
      body(root[key][i], where);
    }
  }

  void once(std::int64_t layer, std::int64_t head, const std::string& where) {
    if (!seen_.emplace(layer, head).second) refuse(fmt::format("{} is named twice", where));
  }

  template <class Body>
  void set(const std::string& where, const Body& body) const {
    try {
      body();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::bad_file) throw;
      refuse(fmt::format("{}: {}", where, error.what()));
    }
  }

  // set() first: it refuses a head that does not exist.
  void keep(NormalizerTable& table, std::int64_t layer, std::int64_t head) const {
    table.set(layer, head, Softmax{});
    table.set(layer, head, own_.at(layer, head));
  }

  std::string name_;
  const NormalizerTable& own_;
  std::int64_t layers_, heads_;
  std::set<std::pair<std::int64_t, std::int64_t>> seen_;
};

}  // namespace

NormalizerTable parse_normalizer_table(std::string_view text, std::string_view name, std::int64_t layers,
                                       std::int64_t heads) {
  return parse_normalizer_table(text, name, NormalizerTable(layers, heads, Softmax{}));
}

nlohmann::ordered_json own_table_json(const NormalizerTable& own) {
  return {{"schema", kSchema}, {"model", {{"layers", own.layers()}, {"heads", own.heads()}}}, {"default", kOwn}};
}

NormalizerTable parse_normalizer_table(std::string_view text, std::string_view name, const NormalizerTable& own) {
  Reader reader(name, own);
  try {
    return reader.read(Json::parse(text));
  } catch (const Json::parse_error& error) {
    reader.refuse(fmt::format("not JSON at byte {}", error.byte));
  }
}

nlohmann::ordered_json to_json(const NormalizerTable& table) {
  std::map<std::string, std::int64_t> counts;
  for (std::int64_t layer = 0; layer < table.layers(); ++layer)
    for (std::int64_t head = 0; head < table.heads(); ++head) ++counts[table.at(layer, head).text()];
  const auto most = std::max_element(counts.begin(), counts.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  const AnyNormalizer common = counts.empty() ? AnyNormalizer(Softmax{}) : AnyNormalizer::parse(most->first);
  nlohmann::ordered_json root{{"schema", kSchema},
                              {"model", {{"layers", table.layers()}, {"heads", table.heads()}}},
                              {"default", common.text()},
                              {"heads", nlohmann::ordered_json::array()}};
  for (std::int64_t layer = 0; layer < table.layers(); ++layer)
    for (std::int64_t head = 0; head < table.heads(); ++head)
      if (!(table.at(layer, head) == common))
        root["heads"].push_back(
            {{"layer", layer}, {"head", head}, {"normalizer", table.at(layer, head).text()}});
  return root;
}

}  // namespace sharpmax::model
