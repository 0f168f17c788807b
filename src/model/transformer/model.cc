#include "model/transformer/model.h"

namespace sharpmax::model {

Model::Model(const std::filesystem::path& path)
    : file_(std::make_unique<const ModelFile>(open_model_file(path))),
      configuration_(read_configuration(*file_)),
      weights_(find_weights(*file_, configuration_)) {}

const Tokenizer& Model::tokenizer() const {
  if (!tokenizer_) tokenizer_ = make_tokenizer(*file_);
  return *tokenizer_;
}

}  // namespace sharpmax::model
