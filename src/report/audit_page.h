// An audit as one HTML file that asks for nothing but itself.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace sharpmax::report {

// results: what `sharpmax audit --json` writes, schema sharpmax.audit/1, with any of its sections. Strings in
// it may hold anything. Throws Error{bad_argument} if it is not that, Error{unsupported} if the build had no
// uPlot.
std::string audit_page(const nlohmann::ordered_json& results);

// Throws Error{unsupported} if the build had no uPlot: to be asked before a long run, not after it.
void require_audit_page();

}  // namespace sharpmax::report
