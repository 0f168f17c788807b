// Tasks that are lists of records: a user's own file, and CLRS-Text.
//
// A file has JSON lines, each with a size, a prompt and its answer, words between spaces.
//
//   {"size": 4, "prompt": "a 3 b 1 c 7 d 2 ? c", "answer": "7"}
//
// Every word is a token. An answer of several words is asked word by word. Prompts of one size are filled up at their
// beginning to the longest. Sizes of the training: one record in five is kept for the test.
//
// clrs:NAME is a task of CLRS-Text without traces, at the sizes and seeds of its paper. Numbers, names and marks are
// tokens.
#pragma once

#include <string_view>

#include "train/task/task.h"

namespace sharpmax::train {

// Whether a task's name is that of a file, or of CLRS-Text.
bool names_records(std::string_view task);
// Reads the file, unless it is the one read before. Throws Error{io, bad_file}; RequestError for a task that CLRS-Text
// has not.
const TaskKind& record_task_kind(std::string_view name);

}  // namespace sharpmax::train
