#include "cli/report_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <span>

#include "base/in_quotes.h"
#include "report/results_page.h"
#include "sharpmax/error.h"
#include "storage/files.h"

namespace sharpmax::cli {
namespace {

void make_directory(const std::filesystem::path& path) {
  std::error_code problem;
  std::filesystem::create_directories(path, problem);
  if (problem)
    throw Error(ErrorCode::io, fmt::format("--figures: the directory {} could not be made: {}",
                                           in_quotes(path.string()), problem.message()));
}

struct Folder {
  std::filesystem::path path;
  std::vector<report::Figure> figures;
};

// Figures of one result are in the directory itself. Of several each has its own in it, beside those that
// they make together.
std::vector<Folder> drawn(const std::filesystem::path& directory, std::span<const Json> results) {
  if (results.size() == 1) return {{directory, report::figures_of(results[0])}};
  std::vector<Folder> folders{{directory, report::figures_of(results)}};
  for (std::size_t i = 0; i < results.size(); ++i)
    folders.push_back({directory / std::to_string(i + 1), report::figures_of(results[i])});
  return folders;
}

// As a file of them would be read: what is no number is null there, and bytes that are no text are U+FFFD. So
// a page made at once is that which `sharpmax report` makes later, to the byte.
std::vector<Json> as_saved(std::span<const Json> results) {
  std::vector<Json> saved;
  for (const Json& one : results)
    saved.push_back(Json::parse(one.dump(-1, ' ', false, Json::error_handler_t::replace)));
  return saved;
}

void write_figures(const std::vector<Folder>& folders) {
  std::size_t written = 0;
  for (const Folder& folder : folders) {
    make_directory(folder.path);
    for (const report::Figure& figure : folder.figures)
      write_text(folder.path / (figure.name + ".svg"), figure.svg);
    written += folder.figures.size();
  }
  if (written == 0) narrate("--figures: these results hold nothing to draw");
}

void write_page(const std::string& path, std::span<const Json> results) {
  const std::string page = report::results_page(results);
  write_text(path, page);
  if (page.size() > report::kPageBytes)
    narrate(fmt::format("the page has {:.1f} MB: what {} results hold at the least is more than fits into one",
                        1e-6 * static_cast<double>(page.size()), results.size()));
}

// All is made before anything is written: results that are not what they say leave no half of it behind.
void write(const ReportFiles& files, std::span<const Json> given) {
  if (!files.wanted()) return;
  const std::vector<Json> results = as_saved(given);
  std::vector<Folder> folders;
  if (!files.figures.empty()) folders = drawn(files.figures, results);
  if (!files.page.empty()) write_page(files.page, results);
  if (!files.figures.empty()) write_figures(folders);
}

}  // namespace

void add_report_files(CLI::App& words, ReportFiles& files, const char* group) {
  words
      .add_option("-o,--report,--html", files.page,
                  "Write the report: one self-contained HTML page")
      ->option_text("FILE")
      ->group(group);
  words.add_option("--figures", files.figures, "Write the figures of the report, SVG, into this directory")
      ->option_text("DIR")
      ->group(group);
}

void declare_report_files(CallFiles& call, const ReportFiles& files, std::size_t results) {
  if (files.page == "-") throw Error(ErrorCode::bad_argument, "-o is '-'; a page needs a file");
  // A mistake for another option: a page would take the place of data.
  for (const char* ending : {".json", ".csv", ".npy", ".npz", ".svg"})
    if (files.page.ends_with(ending))
      throw Error(
          ErrorCode::bad_argument,
          fmt::format("-o is {}; it writes the report, a page, so a name such as report.html was wanted",
                      in_quotes(files.page)));
  call.writes("--report", files.page, page_kind());
  call.writes_figures("--figures", files.figures);
  for (std::size_t i = 0; results > 1 && !files.figures.empty() && i < results; ++i)
    call.writes_figures("--figures", (std::filesystem::path(files.figures) / std::to_string(i + 1)).string());
}

void check_report_files(const ReportFiles& files) {
  if (!files.page.empty()) {
    report::require_page();
    AtomicFile probe(files.page);
  }
  if (!files.figures.empty()) {
    make_directory(files.figures);
    AtomicFile probe(std::filesystem::path(files.figures) / "figure.svg");
  }
}

void write_report_files(const ReportFiles& files, const Json& results) {
  write(files, std::span(&results, 1));
}

void write_report_files(const ReportFiles& files, const std::vector<Json>& results) { write(files, results); }

}  // namespace sharpmax::cli
