#include <string>
#include <utility>

#include "report/data/fields.h"
#include "report/data/page_data.h"

namespace sharpmax::report {
namespace {

using Json = nlohmann::ordered_json;

Json range_of(const Json& range) { return Fields(range).numbers({"low", "high"}).take(); }

// How far a range may reach, as one line of a table.
Json line_of(const std::string& normalizer, const Json& range) {
  Json line{{"normalizer", normalizer}, {"n", range.at("n")}};
  const Json share = range_of(range.at("share")), weight = range_of(range.at("weight"));
  line["high"] = share.at("high");
  line["untied_low"] = range.at("untied_low");
  line["low"] = share.at("low");
  line["ceiling"] = range.at("ceiling");
  line["weight_high"] = weight.at("high");
  line["weight_low"] = weight.at("low");
  for (const char* name : {"found_by", "sums_to_one", "moves_with_level"}) line[name] = range.at(name);
  return line;
}

Json softmax_of(const Json& results) {
  Json kept = Json::array();
  for (const Json& at : results.at("softmax")) {
    Json line = Fields(at).numbers({"n"}).take();
    line["published"] = range_of(at.at("published"));
    line["tight"] = range_of(at.at("tight"));
    kept.push_back(std::move(line));
  }
  return kept;
}

}  // namespace

Json bound_data(const Json& results, std::size_t room) {
  static const std::vector<KeptColumn> kColumns = {
      {"normalizer", KeptColumn::text, true},   {"n", KeptColumn::size, true},      {"high", KeptColumn::number, true},
      {"untied_low", KeptColumn::number, true}, {"low", KeptColumn::number},        {"found_by", KeptColumn::text},
      {"moves_with_level", KeptColumn::truth},  {"sums_to_one", KeptColumn::truth}, {"ceiling", KeptColumn::number},
      {"weight_high", KeptColumn::number},      {"weight_low", KeptColumn::number},
  };
  Json data = Fields(results).origin().numbers({"spread", "beta", "peak"}).take();
  data["scores"] =
      Json::array({results.at("scores").at(0).get<double>(), results.at("scores").at(1).get<double>()});
  data["softmax"] = softmax_of(results);
  data["softmax_lost"] =
      Fields(results.at("softmax_lost")).numbers({"peak", "log10_n", "log10_n_published"}).take();
  Json lines = Json::array(), normalizers = Json::array(), left_out = Json::array();
  for (const Json& entry : results.at("normalizers")) {
    Json kept = Fields(entry).texts({"normalizer"}).take();
    if (entry.contains("refused")) kept["refused"] = entry.at("refused").get<std::string>();
    if (entry.contains("loss"))
      kept["loss"] = Fields(entry.at("loss")).numbers({"lost", "regained", "sure"}).take();
    for (const Json& range : entry.at("ranges"))
      lines.push_back(line_of(entry.at("normalizer").get<std::string>(), range));
    normalizers.push_back(std::move(kept));
  }
  data["normalizers"] = std::move(normalizers);
  const std::size_t taken = size_of(data);
  data["table"] = table_within(lines, kColumns, room > taken ? room - taken : 0, "rows", left_out);
  data["left_out"] = std::move(left_out);
  return data;
}

namespace {

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
  static const std::vector<KeptColumn> kColumns = {
      {"layer", KeptColumn::number, true},
      {"head", KeptColumn::number, true},
      {"spread", KeptColumn::number, true},
      {"log10_length", KeptColumn::number, true},
      {"useful", KeptColumn::truth, true},
      {"norm_spread", KeptColumn::number},
      {"vocabulary_spread", KeptColumn::number},
      {"norm_reached", KeptColumn::number},
      {"window", KeptColumn::number},
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

nlohmann::ordered_json attack_data(const nlohmann::ordered_json& results, std::size_t room) {
  static const std::vector<KeptColumn> kColumns = {
      {"bound", KeptColumn::text, true},   {"claimed", KeptColumn::truth, true}, {"reached", KeptColumn::number, true},
      {"verdict", KeptColumn::text, true}, {"source", KeptColumn::text},
  };
  auto data = Fields(results).origin().numbers({"seed", "starts", "spread", "n"}).take();
  auto left_out = nlohmann::ordered_json::array();
  data["table"] = table_within(results.at("attacks"), kColumns, room, "bounds", left_out);
  data["left_out"] = std::move(left_out);
  return data;
}

}  // namespace sharpmax::report
