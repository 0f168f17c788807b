#include "report/data/fields.h"
#include "report/data/page_data.h"

namespace sharpmax::report {

nlohmann::ordered_json demo_data(const nlohmann::ordered_json& results, std::size_t room) {
  static const std::vector<Column> kColumns = {
      {"normalizer", Column::text, true},
      {"n", Column::size, true},
      {"needle_share", Column::number, true},
      {"entropy", Column::number, true},
      {"peak_key", Column::number},
      {"needle_key", Column::number},
      {"support", Column::number},
      {"effective_support", Column::number},
      {"temperature", Column::number},
      {"peak_weight", Column::number},
      {"needle_weight", Column::number},
      {"mass", Column::number},
      {"threshold", Column::number},
  };
  auto data = Fields(results).origin().numbers({"gap", "seed", "features"}).take();
  auto left_out = nlohmann::ordered_json::array();
  data["table"] = table_within(results.at("rows"), kColumns, room, "rows", left_out);
  data["left_out"] = std::move(left_out);
  return data;
}

}  // namespace sharpmax::report
