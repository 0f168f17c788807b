// The kinds of results that have a view: a kind is one line in kinds.cc and a file that makes its view.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "report/kind/reading.h"
#include "report/view/view.h"

namespace sharpmax::report {

// A result beside others of its kind.
struct Compared {
  const Json* results = nullptr;
  Named named;
};

// Every one takes the results as --json of the command writes them. Strings may hold anything. They throw what at(), get()
// and Error{bad_argument} throw where the results are not what they say.
View retrieval_view(const Json& results);
View audit_view(const Json& results);
View demo_view(const Json& results);
View bound_view(const Json& results);
View bound_model_view(const Json& results);
View fix_view(const Json& results);
View perplexity_view(const Json& results);

// Adds to the view of a comparison what at least two results of the kind show together: a sentence, sections.
void compare_retrievals(View& view, std::span<const Compared> compared);
void compare_audits(View& view, std::span<const Compared> compared);
void compare_bounds(View& view, std::span<const Compared> compared);
void compare_certificates(View& view, std::span<const Compared> compared);
void compare_fixes(View& view, std::span<const Compared> compared);
void compare_losses(View& view, std::span<const Compared> compared);

struct Kind {
  const char* schema;
  View (*view)(const Json& results);
  void (*compare)(View& view, std::span<const Compared> compared);
};

// By the schema that the results name. Throws Error{bad_argument} where there is no such kind.
const Kind& kind_of(const Json& results);

// These throw Error{bad_argument} where the results are not of a kind or not what their schema says.
// Items and sections that have nothing to show are not in them, so a maker of a view need not ask.
View view_of(const Json& results);
View compared_view(std::span<const Json> results);

// Losses by position are drawn alike in several kinds.
inline constexpr const char* kTokensBefore = "tokens before, up to";
// Linear, round all values and intervals of the curves, which is not from 0: losses differ by little.
Axis loss_axis(const std::vector<Curve>& curves, std::string label = "loss, nats per token");

// Sets, or answers, by what hard attention and the normalizer made of them: both right, one of them, none.
struct Outcomes {
  double all = 0.0, of[5] = {};

  void add(const Json& row, const char* all_of_it);
};
// A bar for each size, with the legend.
void add_outcomes(Bars& bars, const std::map<double, Outcomes>& by_size);

// Sections of the view of `sharpmax train`: train_models.cc.
Section training_section(const Json& results);
Section tables_section(const Json& results);

void leave_out_empty(View& view);

[[noreturn]] void not_of_schema(const char* schema, const nlohmann::json::exception& problem);

// make(), with what the JSON library throws of a field as Error{bad_argument} that names the schema.
template <class Make>
auto made_of(const Kind& kind, const Make& make) {
  try {
    return make();
  } catch (const nlohmann::json::exception& problem) {
    not_of_schema(kind.schema, problem);
  }
}

}  // namespace sharpmax::report
