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
  static const std::vector<Column> kColumns = {
      {"normalizer", Column::text, true},   {"n", Column::size, true},      {"high", Column::number, true},
      {"untied_low", Column::number, true}, {"low", Column::number},        {"found_by", Column::text},
      {"moves_with_level", Column::truth},  {"sums_to_one", Column::truth}, {"ceiling", Column::number},
      {"weight_high", Column::number},      {"weight_low", Column::number},
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

}  // namespace sharpmax::report
