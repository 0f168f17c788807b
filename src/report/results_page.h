// Saved results of any kind that has a page, as that page.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace sharpmax::report {

// By the schema of the results: see retrieval_page() and audit_page(). Throws Error{bad_argument} where there
// is no page for it.
std::string results_page(const nlohmann::ordered_json& results);

}  // namespace sharpmax::report
