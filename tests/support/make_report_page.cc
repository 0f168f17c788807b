// make_report_page < results.json > page.html: the report without a run, for the tests of the page.
#include <exception>
#include <iostream>

#include "report/audit_page.h"
#include "report/retrieval_page.h"

int main() try {
  sharpmax::report::require_retrieval_page();
  const auto results = nlohmann::ordered_json::parse(std::cin);
  const bool audit = results.value("schema", "").starts_with("sharpmax.audit/");
  std::cout << (audit ? sharpmax::report::audit_page(results) : sharpmax::report::retrieval_page(results));
  std::cout.flush();
  return std::cout ? 0 : 3;
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 2;
}
