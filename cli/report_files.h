// The page and the figures of a command's results, told on the console.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/console.h"
#include "report/report_files.h"

namespace sharpmax::cli {

using sharpmax::ReportFiles;

void add_report_files(CLI::App& words, ReportFiles& files, const char* group = "Results");
void write_report_files(const ReportFiles& files, const Json& results);

}  // namespace sharpmax::cli
