// Results of any kind that has a page, as that page; and as figures.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/svg/figures.h"

namespace sharpmax::report {

// What a page takes at most, unless there are so many results that the least of each is more.
inline constexpr std::size_t kPageBytes = 700'000;

// One self-contained HTML file, of one result or of several that are compared. Strings in
// them may hold anything. Throws Error{bad_argument} where there is no page for one of them or it is not what
// its schema says, Error{unsupported} if the build has no page.
std::string results_page(std::span<const nlohmann::ordered_json> results);

// Whether a file that begins like this is a page of ours.
bool is_page(std::string_view beginning) noexcept;

// Throws Error{unsupported} if the build has no page: to be asked before a long run, not after it.
void require_page();
bool has_page() noexcept;

// Throws Error{bad_argument} as results_page() does.
void check_results(const nlohmann::ordered_json& results);
// Likewise.
std::vector<Figure> figures_of(const nlohmann::ordered_json& results);
// Those that several results make together.
std::vector<Figure> figures_of(std::span<const nlohmann::ordered_json> results);

}  // namespace sharpmax::report
