// -o of `sharpmax audit`, whichever its job: what it measured as one page.
#pragma once

#include <string>

#include "cli/console.h"

namespace sharpmax::cli {

// Before a run: throws Error if a page could not be written to this file after it. Nothing is left behind, and
// nothing is checked where no page is wanted, html being empty.
void check_audit_page(const std::string& html);

// results: schema sharpmax.audit/1.
void write_audit_page(const std::string& html, const Json& results);

}  // namespace sharpmax::cli
