#include "cli/audit_page.h"

#include "base/atomic_file.h"
#include "base/text_file.h"
#include "report/audit_page.h"
#include "sharpmax/error.h"

namespace sharpmax::cli {

void check_audit_page(const std::string& html) {
  if (html.empty()) return;
  if (html == "-") throw Error(ErrorCode::bad_argument, "--html is '-'; a page needs a file");
  report::require_audit_page();
  AtomicFile probe(html);
}

void write_audit_page(const std::string& html, const Json& results) {
  write_text(html, report::audit_page(results));
}

}  // namespace sharpmax::cli
