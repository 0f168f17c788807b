// A model, ready to run: its file, what it is, its weights and its tokenizer.
#pragma once

#include <filesystem>
#include <memory>

#include "model/architecture/configuration.h"
#include "model/file/model_file.h"
#include "model/tokenizer/tokenizer.h"
#include "model/transformer/weights.h"

namespace sharpmax::model {

class Model {
 public:
  explicit Model(const std::filesystem::path& path);

  const std::string& name() const noexcept { return name_of(*file_); }
  const ModelFile& file() const noexcept { return *file_; }
  const Configuration& configuration() const noexcept { return configuration_; }
  const Weights& weights() const noexcept { return weights_; }
  // Made when first asked for: a model can run without one. Not to be called by two threads at once.
  const Tokenizer& tokenizer() const;

  void set_rope(const RopeScaling& scaling) { configuration_.rope.scaling = scaling; }
  void set_rope_base(double base) { configuration_.rope.base = base; }

 private:
  std::unique_ptr<const ModelFile> file_;
  Configuration configuration_;
  Weights weights_;
  mutable std::unique_ptr<const Tokenizer> tokenizer_;
};

}  // namespace sharpmax::model
