// The results of max retrieval as one HTML file that asks for nothing but itself.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace sharpmax::report {

// results: what `sharpmax retrieve --json` writes, schema sharpmax.retrieval/1. Strings in it may hold
// anything. Throws Error{bad_argument} if it is not that, Error{unsupported} if the build had no uPlot.
std::string retrieval_page(const nlohmann::ordered_json& results);

// Throws Error{unsupported} if the build had no uPlot: to be asked before a long run, not after it.
void require_retrieval_page();
bool has_retrieval_page() noexcept;

}  // namespace sharpmax::report
