// What `run` and `perplexity` have in common: which model, under which normalizers, on how much of the
// machine.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/command.h"
#include "cli/console.h"
#include "model/transformer/session.h"

namespace sharpmax::cli {

struct ModelOptions {
  std::string model;
  std::string normalizer;
  std::string normalizers;  // a file
  std::optional<std::int64_t> context;
  std::string cache = "float32";
  std::optional<std::int64_t> block;
  int threads = 0;
  std::string rope_scaling;
  std::optional<double> rope_base;
};

void add_model_options(CLI::App& words, ModelOptions& options);

// Opened, with the positions that were asked for.
model::Model open_model(const ModelOptions& options);

// Throws MemoryLimit where keys and values of so many tokens do not fit into memory. type: float32 or
// float16.
void check_memory(const model::Configuration& configuration, std::int64_t tokens, const std::string& type);

// A session with room for `tokens`; narrates where they are more than the model was trained on. Throws Limit
// where the cache does not fit into memory.
std::unique_ptr<model::Session> open_session(const model::Model& model, const ModelOptions& options,
                                             std::int64_t tokens);

// The context that was asked for, or the model's own; narrates where it is longer than what the model was
// trained on.
std::int64_t context_of(const model::Model& model, const ModelOptions& options);

// SHA-256 of the model as model/file/model_file.h has it; shows how far it is where that takes over a second.
std::string model_checksum(const model::ModelFile& file);

// What the results say of the model and of how it ran.
Json model_json(const model::Model& model, const ModelOptions& options);

}  // namespace sharpmax::cli
