#include "report/report_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/in_quotes.h"
#include "playground/code.h"
#include "report/kind/kinds.h"
#include "report/svg/figures.h"
#include "report/view/written.h"
#include "sharpmax/error.h"
#include "storage/files.h"

namespace sharpmax::report {
namespace {

constexpr std::size_t kSetAside = 20'000;   // for names and numbers that every page has
constexpr std::size_t kLeastRoom = 200'000;  // of one result, however many there are: a thousand heads with their statistics

// Letters of base64 cannot end the element that holds them. Bytes that are not UTF-8 become U+FFFD.
std::string embedded(const Json& data) {
  return base64_of(gzip_of(data.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace)));
}

}  // namespace

std::string results_page(std::span<const Json> results) {
  const PageTemplate page = page_template();
  const std::string code = base64_of(playground::code());
  const std::size_t taken = page.before.size() + page.between.size() + code.size() + page.after.size() + kSetAside;
  const std::size_t shares = results.size() + (results.size() > 1 ? 1 : 0);  // those compared are a view too
  const std::size_t left = taken < kPageBytes ? (kPageBytes - taken) / std::max<std::size_t>(1, shares) : 0;
  const std::size_t room = std::max(left, kLeastRoom);
  const auto within_room = [&](View view) {
    leave_out_beyond(view, room);
    return to_json(view);
  };
  std::vector<View> views;
  for (const Json& one : results) views.push_back(view_of(one));
  Json names = Json::array(), shown = Json::array();
  for (const Named& named : names_of(views, {results.begin(), results.end()})) names.push_back(named.name);
  for (View& view : views) shown.push_back(within_room(std::move(view)));
  std::string html(page.before);
  html += embedded({{"names", std::move(names)},
                    {"results", std::move(shown)},
                    {"compared", results.size() > 1 ? within_room(compared_view(results)) : Json()}});
  html += page.between;
  html += code;
  html += page.after;
  return html;
}

bool is_page(std::string_view beginning) noexcept {
  return beginning.find("<meta name=\"generator\" content=\"sharpmax\">") != std::string_view::npos;
}

void require_page() { page_template(); }

bool has_page() noexcept {
  try {
    require_page();
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace sharpmax::report

namespace sharpmax {
namespace {

void make_directory(std::string_view field, const std::filesystem::path& path) {
  std::error_code problem;
  std::filesystem::create_directories(path, problem);
  if (problem)
    throw RequestError(ErrorCode::io, fmt::format("{}: the directory {} could not be made: {}", named(field),
                                                  in_quotes(path.string()), problem.message()));
}

struct ToWrite {
  std::filesystem::path path;
  std::string text;
};

// files(view, directory): of one result in the directory itself. Of several each has its own in it, beside what they make
// together.
template <class Files>
std::vector<ToWrite> in_folders(const std::filesystem::path& directory, std::span<const Json> results, const Files& files) {
  if (results.size() == 1) return files(report::view_of(results[0]), directory);
  std::vector<ToWrite> all = files(report::compared_view(results), directory);
  for (std::size_t i = 0; i < results.size(); ++i)
    for (ToWrite& one : files(report::view_of(results[i]), directory / std::to_string(i + 1))) all.push_back(std::move(one));
  return all;
}

std::vector<ToWrite> figure_files(const report::View& view, const std::filesystem::path& directory) {
  std::vector<ToWrite> files;
  for (Figure& figure : report::figures_in(view)) files.push_back({directory / (figure.name + ".svg"), std::move(figure.svg)});
  return files;
}

constexpr std::string_view kAllTables = "tables.md", kTablesMark = "<!-- tables of sharpmax -->\n";

// chosen: the options that the items belong to.
void gather(std::vector<ReportTable>& tables, const std::vector<report::Item>& items, const std::string& chosen = "") {
  for (const report::Item& item : items) {
    if (const auto* choice = std::get_if<report::Choice>(&item.value))
      for (const report::Option& option : choice->options) gather(tables, option.items, chosen + ", " + option.name);
    const auto* table = std::get_if<report::Table>(&item.value);
    if (!table) continue;
    const std::string name = report::as_file_name((table->id.empty() ? table->title : table->id) + chosen);
    std::string free = name;
    const auto taken = [&](const ReportTable& one) { return one.name == free; };
    for (std::size_t k = 2; std::any_of(tables.begin(), tables.end(), taken); ++k) free = name + '-' + std::to_string(k);
    tables.push_back({std::move(free), table->title + chosen, report::as_csv(*table), report::as_markdown(*table)});
  }
}

std::vector<ReportTable> tables_in(const report::View& view) {
  std::vector<ReportTable> tables;
  for (const report::Section& section : view.sections) gather(tables, section.items);
  return tables;
}

std::vector<ToWrite> table_files(const report::View& view, const std::filesystem::path& directory) {
  std::string all(kTablesMark);
  all += "\n# " + report::in_markdown(view.title) + "\n";
  for (const report::Words& sentence : view.verdict) all += "\n" + report::in_markdown(sentence.text()) + "\n";
  std::vector<ToWrite> files;
  for (ReportTable& table : tables_in(view)) {
    all += "\n## " + report::in_markdown(table.title) + "\n\n" + table.markdown;
    files.push_back({directory / (table.name + ".csv"), std::move(table.csv)});
  }
  if (!files.empty()) files.push_back({directory / kAllTables, std::move(all)});
  return files;
}

// As a file of them would be read: a value that is not a number is null there, and bytes that are not text are U+FFFD. So
// a page made at once is that which `sharpmax report` makes later, to the byte.
std::vector<Json> as_saved(std::span<const Json> results) {
  std::vector<Json> saved;
  for (const Json& one : results)
    saved.push_back(Json::parse(one.dump(-1, ' ', false, Json::error_handler_t::replace)));
  return saved;
}

void write_all(std::string_view field, const std::vector<ToWrite>& files, std::string_view nothing, Listener& listener) {
  for (const ToWrite& file : files) {
    make_directory(field, file.path.parent_path());
    write_text(file.path, file.text);
  }
  if (files.empty()) listener.narrate(fmt::format("{}: these results hold {}", named(field), nothing));
}

void write_page(const std::string& path, std::span<const Json> results, Listener& listener) {
  const std::string page = report::results_page(results);
  write_text(path, page);
  if (page.size() > report::kPageBytes)
    listener.narrate(fmt::format("the page has {:.1f} MB: what {} results hold at the least is more than fits into one",
                        1e-6 * static_cast<double>(page.size()), results.size()));
}

// Every SVG file in the directory that has the name of a figure, as an output of the call.
void declare_figures(CallFiles& call, const std::filesystem::path& directory) {
  for (const std::filesystem::path& file : files_in(directory))
    if (file.extension() == ".svg" && report::is_figure_name(file.stem().string()))
      call.writes(named("figures"), file.string(), figure_kind());
}

// A table says nothing of where it is from: those beside a tables.md of ours are ours.
bool is_table(const std::filesystem::path& path) {
  const std::filesystem::path all = path.parent_path() / kAllTables;
  return std::filesystem::is_regular_file(all) && head_of(all).starts_with(kTablesMark);
}

void declare_tables(CallFiles& call, const std::filesystem::path& directory) {
  for (const std::filesystem::path& file : files_in(directory))
    if (file.extension() == ".csv" || file.filename() == kAllTables)
      call.writes(named("tables"), file.string(), {"a table of sharpmax", is_table});
}

}  // namespace

FileKind page_kind() {
  return {"a report page of sharpmax",
          [](const std::filesystem::path& path) { return report::is_page(head_of(path)); }};
}

FileKind figure_kind() {
  return {"a figure of sharpmax",
          [](const std::filesystem::path& path) { return report::is_figure(head_of(path)); }};
}

void declare_report_files(CallFiles& call, const ReportFiles& files, std::size_t results) {
  if (files.page == "-") throw RequestError(ErrorCode::bad_argument, named("report") + " is '-'; a page needs a file");
  // A mistake for another option: a page would take the place of data.
  for (const char* ending : {".json", ".csv", ".npy", ".npz", ".svg"})
    if (files.page.ends_with(ending))
      throw RequestError(ErrorCode::bad_argument,
                         fmt::format("{} is {}; it writes the report, a page, so it must have a name such as report.html",
                                     named("report"), in_quotes(files.page)));
  call.writes(named("report"), files.page, page_kind());
  const auto each_folder = [&](const std::string& directory, const auto& declare) {
    if (directory.empty()) return;
    declare(call, directory);
    for (std::size_t i = 0; results > 1 && i < results; ++i)
      declare(call, std::filesystem::path(directory) / std::to_string(i + 1));
  };
  each_folder(files.figures, declare_figures);
  each_folder(files.tables, declare_tables);
}

void check_report_files(const ReportFiles& files) {
  if (!files.page.empty()) {
    report::require_page();
    AtomicFile probe(files.page);
  }
  const auto check_folder = [](std::string_view field, const std::string& directory) {
    if (directory.empty()) return;
    make_directory(field, directory);
    AtomicFile probe(std::filesystem::path(directory) / "probe");
  };
  check_folder("figures", files.figures);
  check_folder("tables", files.tables);
}

// All is made before anything is written: results that are not what they say leave no half of it behind.
void write_report_files(const ReportFiles& files, std::span<const Json> given, Listener& listener) {
  if (!files.wanted()) return;
  const std::vector<Json> results = as_saved(given);
  std::vector<ToWrite> figures, tables;
  if (!files.figures.empty()) figures = in_folders(files.figures, results, figure_files);
  if (!files.tables.empty()) tables = in_folders(files.tables, results, table_files);
  if (!files.page.empty()) write_page(files.page, results, listener);
  if (!files.figures.empty()) write_all("figures", figures, "nothing to draw", listener);
  if (!files.tables.empty()) write_all("tables", tables, "no table", listener);
}

std::string report_page(std::span<const Json> results) { return report::results_page(as_saved(results)); }

namespace {

report::View view_of(std::span<const Json> results) {
  const std::vector<Json> saved = as_saved(results);
  return saved.size() == 1 ? report::view_of(saved[0]) : report::compared_view(saved);
}

}  // namespace

Json report_view(std::span<const Json> results) { return report::to_json(view_of(results)); }

std::string report_text(std::span<const Json> results, bool colour, Rows rows) {
  return report::as_text(view_of(results), {.colour = colour, .every_row = rows == Rows::all});
}

std::string head_text(const Json& audit, std::int64_t layer, std::int64_t head, bool colour) {
  const report::View view = view_of({&audit, 1});
  for (const report::Section& section : view.sections)
    for (const report::Item& item : section.items)
      if (const auto* heads = std::get_if<report::Heads>(&item.value))
        for (std::size_t i = 0; i < heads->heads.size(); ++i)
          if (heads->heads[i].layer == static_cast<double>(layer) && heads->heads[i].head == static_cast<double>(head))
            return report::as_text(*heads, i, {.colour = colour});
  throw Error(ErrorCode::bad_argument, fmt::format("report: the results have no head {}.{}", layer, head));
}

std::vector<Figure> report_figures(std::span<const Json> results) { return report::figures_in(view_of(results)); }
std::vector<ReportTable> report_tables(std::span<const Json> results) { return tables_in(view_of(results)); }

namespace {

Json results_in(const std::string& path) {
  Json results = Json::parse(read_text(path), nullptr, /*allow_exceptions=*/false);
  if (results.is_discarded())
    throw Error(ErrorCode::bad_file,
                fmt::format("report: {} is not JSON; it must be results that a command wrote", in_quotes(path)));
  return results;
}

// Told by its file: of several it is not plain which one is wrong.
void check_results(const std::string& path, const Json& results, const ReportFiles& files) {
  try {
    const report::View view = report::view_of(results);
    if (!files.figures.empty()) report::figures_in(view);
  } catch (const Error& error) {
    throw Error(ErrorCode::bad_file, fmt::format("{}: {}", in_quotes(path), error.what()));
  }
}

void check_request(const ReportRequest& request) {
  if (request.results.empty())
    throw RequestError(ErrorCode::bad_argument,
                       fmt::format("report: no results were given; {} must name a JSON file", operand("results")));
  if (!request.files.wanted())
    throw RequestError(ErrorCode::bad_argument,
                       fmt::format("report: nothing to write was given; {} must name a file for the page, or {} or {} a directory",
                                   named("report"), named("figures"), named("tables")));
  CallFiles call(request.overwrite);
  for (const std::string& path : request.results) call.reads(operand("results"), path);
  declare_report_files(call, request.files, request.results.size());
  call.check();
  check_report_files(request.files);
}

}  // namespace

void write_report(const ReportRequest& request, Listener& listener) {
  check_request(request);
  std::vector<Json> results;
  for (const std::string& path : request.results) {
    results.push_back(results_in(path));
    check_results(path, results.back(), request.files);
  }
  write_report_files(request.files, results, listener);
  if (!request.files.page.empty()) listener.narrate(fmt::format("report: {}", request.files.page));
  if (!request.files.figures.empty()) listener.narrate(fmt::format("figures: {}", request.files.figures));
  if (!request.files.tables.empty()) listener.narrate(fmt::format("tables: {}", request.files.tables));
}

}  // namespace sharpmax
