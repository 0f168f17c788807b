// `python -m sharpmax`, and the files that results write.
#include "engine.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <signal.h>

#include <array>
#include <nlohmann/json.hpp>

#include "cli/console.h"
#include "job/call_files.h"
#include "report/report_files.h"
#include "sharpmax/report.h"
#include "sharpmax/error.h"
#include "turns.h"

namespace sharpmax::python {
namespace {

std::vector<std::string> strings_of(const std::vector<nb::bytes>& words) {
  std::vector<std::string> strings;
  for (const nb::bytes& word : words) strings.emplace_back(word.c_str(), word.size());
  return strings;
}

// The handlers that program_main() replaces are the interpreter's own.
class KeptSignals {
 public:
  KeptSignals() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], nullptr, &kept_[i]);
  }
  ~KeptSignals() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &kept_[i], nullptr);
  }
  KeptSignals(const KeptSignals&) = delete;
  KeptSignals& operator=(const KeptSignals&) = delete;

 private:
  static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGPIPE, SIGXFSZ};
  std::array<struct sigaction, kSignals.size()> kept_{};
};

Turns& one_program_at_a_time() {
  static Turns turns("the command line");
  return turns;
}

int main_of(const std::vector<nb::bytes>& words) {
  std::vector<std::string> strings = strings_of(words);
  std::vector<char*> pointers;
  for (std::string& word : strings) pointers.push_back(word.data());
  const Turn turn(one_program_at_a_time());
  const KeptSignals kept;
  const nb::gil_scoped_release without_interpreter;
  return cli::program_main(static_cast<int>(pointers.size()), pointers.data());
}

Json parsed(const std::string& results) {
  try {
    return Json::parse(results);
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::bad_argument, std::string("not results: ") + error.what());
  }
}

// Check of a command's outputs, for a file that Python writes. kind: "page", or the schema of JSON.
void check_output(const std::string& argument, const nb::bytes& path, const std::string& kind, bool overwrite,
                  const nb::bytes& source) {
  CallFiles call(overwrite);
  call.reads("the file that it was loaded from", std::string(source.c_str(), source.size()));
  call.writes(argument, std::string(path.c_str(), path.size()),
              kind == "page" ? page_kind() : results_kind(kind));
  call.check();
}

// One result, or a list of several that are compared.
std::vector<Json> all_of(const std::string& results) {
  const Json read = parsed(results);
  if (read.is_array() && read.empty()) throw Error(ErrorCode::bad_argument, "no results were given; a page needs at least one");
  return read.is_array() ? read.get<std::vector<Json>>() : std::vector<Json>{read};
}

std::string report_page(const std::string& results) { return sharpmax::report_page(all_of(results)); }

std::string report_view(const std::string& results) {
  return sharpmax::report_view(all_of(results)).dump(-1, ' ', false, Json::error_handler_t::replace);
}

void translate(const std::exception_ptr& pending, void*) {
  try {
    std::rethrow_exception(pending);
  } catch (const std::bad_alloc&) {
    PyErr_SetString(PyExc_MemoryError, "not enough memory");
  }
}

}  // namespace

void bind_engine(nb::module_& m) {
  nb::register_exception_translator(translate);
  m.def("main", main_of, nb::arg("argv"));
  m.def("check_output", check_output, nb::arg("argument"), nb::arg("path"), nb::arg("kind"),
        nb::arg("overwrite"), nb::arg("source"));
  m.def("report_page", report_page, nb::arg("results"), nb::call_guard<nb::gil_scoped_release>());
  m.def("report_view", report_view, nb::arg("results"), nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace sharpmax::python
