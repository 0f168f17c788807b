// The page and the figures of results as files: checked before a job, written after it.
#pragma once

#include <cstddef>
#include <span>

#include "job/call_files.h"
#include "sharpmax/report.h"

namespace sharpmax {

FileKind page_kind();    // a report page of ours
FileKind figure_kind();  // an SVG file of ours

// The page and the figures of so many results as outputs of a call. Throws Error{bad_argument} for a page
// whose name is that of another kind of file.
void declare_report_files(CallFiles& call, const ReportFiles& files, std::size_t results = 1);

// Before a job, after CallFiles::check(): throws Error if what is asked for could not be written after it.
// Leaves no file behind.
void check_report_files(const ReportFiles& files);

// Nothing if nothing is asked for. Figures of several results are in a directory for each.
void write_report_files(const ReportFiles& files, std::span<const Json> results, Listener& listener);

}  // namespace sharpmax
