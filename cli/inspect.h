// `sharpmax inspect`: what is in a model file. Everything shown is made of one JSON.
#pragma once

#include <string>

#include "cli/console.h"
#include "model/file/model_file.h"

namespace sharpmax::cli {

inline constexpr const char* kInspectSchema = "sharpmax.inspect/1";

struct InspectOptions {
  std::string path;
  bool tensors = false;  // all of them, not one line for those that differ in the layer alone
  bool check = false;
  std::string json;
  bool overwrite = false;
  int threads = 0;
};

// Format, architecture, shape, tokenizer, types, tensors, metadata.
Json inspect_json(const model::ModelFile& file);
// The format's own metadata, whole.
Json metadata_json(const model::ModelFile& file);
// Weights that are NaN or infinite, by tensor: {"tensors": checked, "bad": [...]}.
Json check_json(const model::ModelFile& file, int threads);

std::string inspect_report(const Json& found, bool all_tensors, bool colour);

}  // namespace sharpmax::cli
