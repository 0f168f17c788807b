// The heads of a run, one thread each.
#pragma once

#include <vector>

#include "retrieval/run/run.h"
#include "retrieval/run/run_directory.h"

namespace sharpmax::retrieval {

// Goes on from the checkpoints that are there. Heads come arm by arm, seed by seed, saved and not yet tested.
std::vector<TestedHead> train_all(const RunSettings& settings, const RunDirectory& directory,
                                  const RunOptions& options);

}  // namespace sharpmax::retrieval
