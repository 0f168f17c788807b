// make_report_page < results.json > page.html: the report without a run, for the tests of the page. A list of
// results makes one page of all.
#include <exception>
#include <iostream>
#include <vector>

#include "report/report_files.h"

int main() try {
  sharpmax::report::require_page();
  const auto read = nlohmann::ordered_json::parse(std::cin);
  const auto results = read.is_array() ? read.get<std::vector<nlohmann::ordered_json>>() : std::vector{read};
  std::cout << sharpmax::report::results_page(results);
  std::cout.flush();
  return std::cout ? 0 : 3;
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 2;
}
