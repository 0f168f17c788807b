#include "report/retrieval_page.h"

#include "report/html_page.h"
#include "report/page_data.h"
#include "report/page_template.h"
#include "sharpmax/error.h"

namespace sharpmax::report {

void require_retrieval_page() { page_template(); }

bool has_retrieval_page() noexcept {
  try {
    require_retrieval_page();
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::string retrieval_page(const nlohmann::ordered_json& results) { return html_page(page_data(results)); }

}  // namespace sharpmax::report
