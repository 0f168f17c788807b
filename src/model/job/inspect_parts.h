// Parts of inspect() that have a file of their own.
#pragma once

#include "model/file/model_file.h"
#include "sharpmax/inspect.h"

namespace sharpmax::model {

// The format's own metadata, whole.
Json metadata_json(const ModelFile& file);
// Weights that are NaN or infinite, by tensor.
InspectResult::Check check_weights(const ModelFile& file, int threads, Listener& listener);

}  // namespace sharpmax::model
