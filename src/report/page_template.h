// The page around its data: made by embed_page.cmake from page/, or no_page.cc if esbuild is not installed.
#pragma once

#include <string_view>

namespace sharpmax::report {

struct PageTemplate {
  std::string_view before;   // ends within the element that holds the data
  std::string_view between;  // ends within the element that holds the playground's code
  std::string_view after;
};

// Throws Error{unsupported} if the build has no page.
PageTemplate page_template();

}  // namespace sharpmax::report
