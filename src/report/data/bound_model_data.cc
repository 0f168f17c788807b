#include <utility>

#include "report/data/fields.h"
#include "report/data/page_data.h"

namespace sharpmax::report {
namespace {

using Json = nlohmann::ordered_json;

Json token_of(const Json& token) { return Fields(token).numbers({"token"}).texts({"text"}).take(); }

// The sequence of tokens that was found to come nearest, of those heads for which one was looked for.
Json attained_of(const Json& head) {
  const Json& row = head.at("attained");
  if (row.is_null()) return nullptr;
  Json kept = Fields(row).numbers({"length", "spread", "peak"}).take();
  kept["layer"] = head.at("layer");
  kept["head"] = head.at("head");
  kept["query"] = token_of(row.at("query"));
  for (const char* name : {"high", "low"}) {
    kept[name] = token_of(row.at(name));
    kept[name].update(Fields(row.at(name)).numbers({"offset"}).take());
  }
  return kept;
}

Json attained_within(const Json& heads, std::size_t room, Json& left_out) {
  Json kept = Json::array();
  std::size_t taken = 0;
  bool all = true;
  for (const Json& head : heads) {
    Json row = attained_of(head);
    if (row.is_null()) continue;
    taken += size_of(row);
    all = all && taken <= room;
    if (all) kept.push_back(std::move(row));
  }
  if (!all) left_out.push_back("some of the tokens that were tried");
  return kept;
}

}  // namespace

Json bound_model_data(const Json& results, std::size_t room) {
  static const std::vector<Column> kColumns = {
      {"layer", Column::number, true},
      {"head", Column::number, true},
      {"spread", Column::number, true},
      {"log10_length", Column::number, true},
      {"useful", Column::truth, true},
      {"norm_spread", Column::number},
      {"vocabulary_spread", Column::number},
      {"norm_reached", Column::number},
      {"window", Column::number},
  };
  Json data = Fields(results)
                  .origin()
                  .texts({"verdict", "rope_scaling"})
                  .numbers({"peak", "beta", "rope_base", "horizon"})
                  .take();
  data["model"] = results.at("model");
  data["model"].update(Fields(results.at("model")).texts({"file"}).numbers({"trained_context"}).take());
  Json left_out = Json::array();
  const Json& heads = results.at("heads");
  data["table"] = table_within(heads, kColumns, room, "heads", left_out);
  const std::size_t taken = size_of(data);
  data["attained"] = attained_within(heads, room > taken ? room - taken : 0, left_out);
  data["left_out"] = std::move(left_out);
  return data;
}

}  // namespace sharpmax::report
