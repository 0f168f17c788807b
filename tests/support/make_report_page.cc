// make_report_page < results.json > page.html: the report without a run, for the tests of the page.
#include <exception>
#include <iostream>

#include "report/retrieval_page.h"

int main() try {
  sharpmax::report::require_retrieval_page();
  std::cout << sharpmax::report::retrieval_page(nlohmann::ordered_json::parse(std::cin));
  std::cout.flush();
  return std::cout ? 0 : 3;
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 2;
}
