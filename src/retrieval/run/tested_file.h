// One head at one size, as measured: a small JSON file, so that a run that was killed need not test again.
#pragma once

#include <filesystem>
#include <span>

#include "retrieval/testing/evaluation.h"

namespace sharpmax::retrieval {

void save_tested(const std::filesystem::path& path, const Head& head, const Evaluation& evaluation);

// Throws Error{bad_file} if the file is damaged, or of another head, size or list of normalizers.
Evaluation load_tested(const std::filesystem::path& path, const Head& head, const EvaluationRequest& request);

}  // namespace sharpmax::retrieval
