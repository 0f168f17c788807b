#include "report/audit_page.h"

#include "report/audit_page_data.h"
#include "report/html_page.h"
#include "report/page_template.h"

namespace sharpmax::report {

void require_audit_page() { page_template(); }

std::string audit_page(const nlohmann::ordered_json& results) { return html_page(audit_page_data(results)); }

}  // namespace sharpmax::report
