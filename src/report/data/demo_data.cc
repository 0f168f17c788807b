#include "report/data/fields.h"
#include "report/data/page_data.h"

namespace sharpmax::report {

nlohmann::ordered_json demo_data(const nlohmann::ordered_json& results, std::size_t room) {
  static const std::vector<KeptColumn> kColumns = {
      {"normalizer", KeptColumn::text, true},
      {"n", KeptColumn::size, true},
      {"needle_share", KeptColumn::number, true},
      {"entropy", KeptColumn::number, true},
      {"peak_key", KeptColumn::number},
      {"needle_key", KeptColumn::number},
      {"support", KeptColumn::number},
      {"effective_support", KeptColumn::number},
      {"temperature", KeptColumn::number},
      {"peak_weight", KeptColumn::number},
      {"needle_weight", KeptColumn::number},
      {"mass", KeptColumn::number},
      {"threshold", KeptColumn::number},
  };
  auto data = Fields(results).origin().numbers({"gap", "seed", "features"}).take();
  auto left_out = nlohmann::ordered_json::array();
  data["table"] = table_within(results.at("rows"), kColumns, room, "rows", left_out);
  data["left_out"] = std::move(left_out);
  return data;
}

}  // namespace sharpmax::report
