// A view as JSON: what the page and Python read. Docs: docs/report.md.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>

#include "report/view/view.h"

namespace sharpmax::report {

nlohmann::ordered_json to_json(const Chart& chart);
nlohmann::ordered_json to_json(const Table& table);
nlohmann::ordered_json to_json(const View& view);

// The one rule that decides what a page keeps.
//
// A page has at most kPageBytes (report/results_page.h), and each result an equal share of what the page itself
// leaves of it, or what the statistics of a thousand heads take, if that is more. If a view takes more, it leaves out what it
// can spare, in this order: items and columns of tables with the greatest `spare` first, then whatever is heaviest: the last
// rows of a table, or a picture. Everything left out is named.
void leave_out_beyond(View& view, std::size_t room);
// Bytes that data take in a page, where they are compressed and written as letters.
std::size_t bytes_in_page(const nlohmann::ordered_json& data);

}  // namespace sharpmax::report
