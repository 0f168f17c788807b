// Requests of the jobs on heads: their settings, their checks and the files of a call.
#pragma once

#include "job/call_files.h"
#include "retrieval/task/task.h"
#include "sharpmax/fit.h"
#include "sharpmax/retrieval.h"

namespace sharpmax::retrieval {

// The preset with everything that was given in its place. Throws RequestError.
RunSettings settings_of(const RetrievalRequest& request);

// Files that a request reads, and those that it writes in its directory.
CallFiles files_of(const RetrievalRequest& request);
CallFiles files_of(const FitRequest& request, bool overwrite);

// Refuses fields that do not go together.
void check_together(const RetrievalRequest& request);

inline constexpr const char* kFitCsvHeader = "n,set,entropy,beta,loss,best_loss,mended";

}  // namespace sharpmax::retrieval
