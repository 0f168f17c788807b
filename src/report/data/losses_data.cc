#include "report/data/page_data.h"

namespace sharpmax::report {

nlohmann::ordered_json losses_data(const nlohmann::ordered_json& results, std::size_t) { return results; }

}  // namespace sharpmax::report
