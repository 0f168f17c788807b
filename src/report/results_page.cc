#include "report/results_page.h"

#include <fmt/format.h>

#include "base/in_quotes.h"
#include "report/audit_page.h"
#include "report/retrieval_page.h"
#include "sharpmax/error.h"

namespace sharpmax::report {

std::string results_page(const nlohmann::ordered_json& results) {
  const auto found = results.is_object() ? results.find("schema") : results.end();
  const bool named = found != results.end() && found->is_string();
  const std::string schema = named ? found->get<std::string>() : "";
  if (schema == "sharpmax.retrieval/1") return retrieval_page(results);
  if (schema == "sharpmax.audit/1") return audit_page(results);
  throw Error(
      ErrorCode::bad_argument,
      fmt::format(
          "report: the results have {}; there is a page for sharpmax.retrieval/1 and sharpmax.audit/1",
          named ? "schema " + in_quotes(schema) : "no schema"));
}

}  // namespace sharpmax::report
