#include "report/data/fields.h"
#include "report/data/page_data.h"

namespace sharpmax::report {

nlohmann::ordered_json attack_data(const nlohmann::ordered_json& results, std::size_t room) {
  static const std::vector<Column> kColumns = {
      {"bound", Column::text, true},   {"claimed", Column::truth, true}, {"reached", Column::number, true},
      {"verdict", Column::text, true}, {"source", Column::text},
  };
  auto data = Fields(results).origin().numbers({"seed", "starts", "spread", "n"}).take();
  auto left_out = nlohmann::ordered_json::array();
  data["table"] = table_within(results.at("attacks"), kColumns, room, "bounds", left_out);
  data["left_out"] = std::move(left_out);
  return data;
}

}  // namespace sharpmax::report
