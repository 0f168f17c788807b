// -o and --figures of every command whose results have a page: what it measured, to look at.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/outputs.h"

namespace sharpmax::cli {

struct ReportFiles {
  std::string page;     // -o; empty: none
  std::string figures;  // a directory; empty: none

  bool wanted() const { return !page.empty() || !figures.empty(); }
};

void add_report_files(CLI::App& words, ReportFiles& files, const char* group = "Results");

// The page and the figures of so many results as outputs of a call. Throws Error{bad_argument} for a page
// whose name is that of another kind of file.
void declare_report_files(CallFiles& call, const ReportFiles& files, std::size_t results = 1);

// Before a run, after CallFiles::check(): throws Error if what is asked for could not be written after it.
// Leaves no file behind.
void check_report_files(const ReportFiles& files);

// results: of a schema that has a page. Nothing where nothing is asked for.
void write_report_files(const ReportFiles& files, const Json& results);
// Several results in one page; figures of several are in a directory for each.
void write_report_files(const ReportFiles& files, const std::vector<Json>& results);

}  // namespace sharpmax::cli
