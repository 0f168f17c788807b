// Reports: results of jobs as one self-contained HTML page, as SVG figures, and as tables.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "sharpmax/job.h"

namespace sharpmax {

// Where the page, the figures and the tables of results are written; empty: nowhere.
struct ReportFiles {
  std::string page;
  std::string figures;  // a directory
  std::string tables;   // likewise

  bool wanted() const { return !page.empty() || !figures.empty() || !tables.empty(); }

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    visit(common({"report", "FILE", "Results",
                  "File for the report: one self-contained HTML page", {}, Field::Kind::output}),
          self.page);
    visit(common({"figures", "DIR", "Results",
                  "Directory for the figures of the report, SVG", {}, Field::Kind::output}),
          self.figures);
    visit(Field{"tables", "DIR", "Results",
                "Directory for the tables of the report: each as CSV, all in tables.md", {}, Field::Kind::output},
          self.tables);
  }
};

struct ReportRequest {
  Texts results;  // files of JSON that jobs wrote
  ReportFiles files;
  bool overwrite = false;

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    visit({"results", "FILE...", "", "JSON files that --json of other commands wrote", {}, Field::Kind::input,
           /*operand=*/true},
          self.results);
    ReportFiles::each_field(self.files, visit);
    visit({"overwrite", "", "Results", "Replace existing files of another kind; an input is never replaced"}, self.overwrite);
  }
};

// Reads saved results and writes their page, figures and tables; several results share one page and are compared if they are of one
// kind. Throws Error.
void write_report(const ReportRequest& request, Listener& listener = nobody());

// The page of results in memory, as to_json() of a job gives them. Throws Error{bad_argument} for results that have no page or
// are not what their schema says, Error{unsupported} if the library was built without the page.
std::string report_page(std::span<const Json> results);

struct Figure {
  std::string name;  // of a file, without its ending
  std::string svg;   // a whole document
};
std::vector<Figure> report_figures(std::span<const Json> results);

struct ReportTable {
  std::string name;      // of a file, without its ending
  std::string title;
  std::string csv;       // RFC 4180, every digit
  std::string markdown;  // as the page shows it
};
std::vector<ReportTable> report_tables(std::span<const Json> results);

// What is shown of results, as JSON: title, verdict, charts and tables, of which the page is made; several are compared.
Json report_view(std::span<const Json> results);
// The same as text for a terminal, 80 columns wide. rows: all of tables that otherwise show their first few.
enum class Rows { first, all };
std::string report_text(std::span<const Json> results, bool colour = false, Rows rows = Rows::first);
// The text of one head of an audit by length. Throws Error{bad_argument} if the results have no such head.
std::string head_text(const Json& audit, std::int64_t layer, std::int64_t head, bool colour = false);

}  // namespace sharpmax
