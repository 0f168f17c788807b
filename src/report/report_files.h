// Results of any kind that has a page, as that page, as figures and as tables; and these as files, checked before a job and written
// after it.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "job/call_files.h"
#include "sharpmax/report.h"

namespace sharpmax::report {

// What a page takes at most, unless there are so many results that the least of each is more.
inline constexpr std::size_t kPageBytes = 700'000;

// One self-contained HTML file, of one result or of several that are compared. Strings in
// them may hold anything. Throws Error{bad_argument} where there is no page for one of them or it is not what
// its schema says, Error{unsupported} if the build has no page.
std::string results_page(std::span<const nlohmann::ordered_json> results);

// Whether a file that begins like this is a page of ours.
bool is_page(std::string_view beginning) noexcept;

// Throws Error{unsupported} if the build has no page: to be asked before a long run, not after it.
void require_page();
bool has_page() noexcept;

// The page around its data: made by embed_page.cmake from page/, or no_page.cc if esbuild is not installed.
struct PageTemplate {
  std::string_view before;   // ends within the element that holds the data
  std::string_view between;  // ends within the element that holds the playground's code
  std::string_view after;
};

// Throws Error{unsupported} if the build has no page.
PageTemplate page_template();

}  // namespace sharpmax::report

namespace sharpmax {

FileKind page_kind();    // a report page of ours
FileKind figure_kind();  // an SVG file of ours

// Page, figures and tables of so many results as outputs of a call. Throws Error{bad_argument} for a page
// whose name is that of another kind of file.
void declare_report_files(CallFiles& call, const ReportFiles& files, std::size_t results = 1);

// Before a job, after CallFiles::check(): throws Error if what is asked for could not be written after it.
// Leaves no file behind.
void check_report_files(const ReportFiles& files);

// Nothing if nothing is asked for. Figures and tables of several results are in a directory for each.
void write_report_files(const ReportFiles& files, std::span<const Json> results, Listener& listener);

}  // namespace sharpmax
