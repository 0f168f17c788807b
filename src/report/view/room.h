// The one rule that decides what a page keeps.
//
// A page has at most kPageBytes (report/results_page.h), and each result an equal share of what the page itself
// leaves of it. If a view takes more, it leaves out what it can spare, in this order: items and columns of tables with the
// greatest `spare` first, then the last rows of its longest tables, then its largest pictures. Everything left out is named.
#pragma once

#include <cstddef>

#include "report/view/view.h"

namespace sharpmax::report {

// Bytes that data take in a page, where they are compressed and written as letters.
std::size_t bytes_in_page(const nlohmann::ordered_json& data);

void leave_out_beyond(View& view, std::size_t room);

}  // namespace sharpmax::report
