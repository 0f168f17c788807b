#include "report/kind/kinds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>

#include "base/in_quotes.h"
#include "sharpmax/error.h"

namespace sharpmax::report {

View inspect_view(const Json& results);  // inspect.cc
View fit_view(const Json& results);      // fit.cc
View train_view(const Json& results);    // train.cc

namespace {

constexpr Kind kKinds[] = {
    {"sharpmax.retrieval/1", retrieval_view, compare_retrievals},
    {"sharpmax.audit/1", audit_view, compare_audits},
    {"sharpmax.attend.demo/1", demo_view, nullptr},
    {"sharpmax.bound.spread/1", bound_view, compare_bounds},
    {"sharpmax.bound.model/1", bound_model_view, compare_certificates},
    {"sharpmax.fix/1", fix_view, compare_fixes},
    {"sharpmax.perplexity/1", perplexity_view, compare_losses},
    {"sharpmax.inspect/1", inspect_view, nullptr},
    {"sharpmax.fit/1", fit_view, nullptr},
    {"sharpmax.train/1", train_view, nullptr},
};

// Whether there is nothing to show of it.
bool is_empty(const Chart& chart) { return !is_drawable(chart); }
bool is_empty(const Bars& bars) { return bars.bars.empty(); }
bool is_empty(const HeatMaps& maps) { return maps.lines.empty(); }
bool is_empty(const Table& table) { return table.rows.empty(); }
bool is_empty(const Choice& choice) { return choice.options.empty(); }
bool is_empty(const auto&) { return false; }

std::string known() {
  std::vector<std::string_view> schemas;
  for (const Kind& kind : kKinds) schemas.push_back(kind.schema);
  return fmt::format("{}", fmt::join(schemas, ", "));
}

}  // namespace

const Kind& kind_of(const Json& results) {
  const auto found = results.is_object() ? results.find("schema") : results.end();
  const bool named = found != results.end() && found->is_string();
  const std::string schema = named ? found->get<std::string>() : "";
  for (const Kind& kind : kKinds)
    if (schema == kind.schema) return kind;
  throw Error(ErrorCode::bad_argument,
              fmt::format("report: the results have {}; there is a page for {}",
                          named ? "schema " + in_quotes(schema) : "no schema", known()));
}

View view_of(const Json& results) {
  const Kind& kind = kind_of(results);
  View view = made_of(kind, [&] { return kind.view(results); });
  leave_out_empty(view);
  return view;
}

void leave_out_empty(View& view) {
  for (Section& section : view.sections)
    std::erase_if(section.items, [](const Item& item) { return std::visit([](const auto& value) { return is_empty(value); }, item.value); });
  std::erase_if(view.sections, [](const Section& section) { return section.items.empty(); });
}

void not_of_schema(const char* schema, const nlohmann::json::exception& problem) {
  // Without the library's own number for it in front.
  std::string_view words = problem.what();
  if (const std::size_t end = words.find("] "); end != words.npos) words.remove_prefix(end + 2);
  throw Error(ErrorCode::bad_argument,
              fmt::format("report: the results are not of schema {}: {}", schema, in_quotes(words)));
}

}  // namespace sharpmax::report
