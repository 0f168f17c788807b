// Results in files: how they begin, and how an earlier run is resumed from them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "sharpmax/job.h"

namespace sharpmax {

// Hands the results in `file` to `read`, which may throw JSON's exceptions. Error{bad_file} where they are
// not of this schema, were measured under other settings, or cannot be read.
void resume_from(const std::string& file, std::string_view schema, const Json& settings,
                 const std::function<void(const Json&)>& read);

// Where results come from: this version, now, and the command of a request, or `otherwise` if it has none.
Provenance provenance_of(const std::string& command, const std::string& otherwise);
// "schema", "sharpmax", "command", "created": what results begin with.
Json header_of(std::string_view schema, const Provenance& provenance);
Provenance provenance_in(const Json& results);

// As files have it: one space of indentation; a value that is not a number is null, and bytes that are not text are U+FFFD.
std::string results_text(const Json& results);

// The last sentence of an interrupted job, to which each door adds how to go on.
struct Interruption {
  bool can_go_on = false;  // the same request with `resume` does
  std::string sentence;    // "interrupted; finished chunks are saved"; names fields as a job does
};
// told: what the job said last about resuming, if anything; resuming: the request had `resume`.
Interruption interruption_of(const std::optional<Resumption>& told, bool resuming);

// JSON of files that a job wrote itself: read strictly, and compared.

// Text that must be one JSON value, no key twice. `where` opens every message.
Json parse_json(std::string_view text, std::string_view where);

// The first value that is not the same: "arms.0.training.steps is 100 there, 200 here". Empty: none.
std::string first_difference(const Json& there, const Json& here);

}  // namespace sharpmax
