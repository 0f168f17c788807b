// A view as JSON, which the page and Python read, and as text: for a terminal, as CSV and as Markdown. Docs: docs/reference/report.md.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "report/view/view.h"

namespace sharpmax::report {

nlohmann::ordered_json to_json(const Chart& chart);
nlohmann::ordered_json to_json(const Table& table);
nlohmann::ordered_json to_json(const View& view);

// The one rule that decides what a page keeps.
//
// A page has at most kPageBytes (report/report_files.h), and each result an equal share of what the page itself
// leaves of it, or what the statistics of a thousand heads take, if that is more. If a view takes more, it leaves out what it
// can spare, in this order: items and columns of tables with the greatest `spare` first, then whatever is heaviest: the last
// rows of a table, or a picture. Everything left out is named.
void leave_out_beyond(View& view, std::size_t room);
// Bytes that data take in a page, where they are compressed and written as letters.
std::size_t bytes_in_page(const nlohmann::ordered_json& data);

inline constexpr std::size_t kScreenWidth = 80;

struct TextStyle {
  bool colour = false;               // bold headings by escape codes
  std::size_t width = kScreenWidth;  // columns of a table that do not fit go below the others
  bool every_row = false;            // of tables that show their first
};

// The verdict, then the sections and tables that are brief. Ends with a line feed.
std::string as_text(const View& view, const TextStyle& style = {});
std::string as_text(const Table& table, const TextStyle& style = {});

// One head: the sentence about it, its numbers at every length, and those of figures that have a caption.
std::string as_text(const Heads& heads, std::size_t head, const TextStyle& style = {});

// What a cell shows: its text, or its value by the format of its column.
std::string shown_in(const Cell& cell, const Column& column);

// RFC 4180 with every digit of the numbers; text that a spreadsheet would take for a formula gets an apostrophe in front.
std::string as_csv(const Table& table);
std::string as_markdown(const Table& table);
// Text of a result within Markdown: no character of it is markup.
std::string in_markdown(std::string_view text);

// Words refilled into lines of at most `width` characters, every one but the first indented.
std::string refilled(std::string_view text, std::size_t width = kScreenWidth, std::size_t indent = 0);

}  // namespace sharpmax::report
