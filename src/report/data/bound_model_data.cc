#include "report/data/page_data.h"

namespace sharpmax::report {

nlohmann::ordered_json bound_model_data(const nlohmann::ordered_json& results, std::size_t) { return results; }

}  // namespace sharpmax::report
