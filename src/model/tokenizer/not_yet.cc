#include "model/tokenizer/tokenizer.h"
#include "sharpmax/error.h"

namespace sharpmax::model {

std::unique_ptr<const Tokenizer> make_tokenizer(const ModelFile& file) {
  throw Error(ErrorCode::unsupported, name_of(file) + ": tokenizers are not read yet");
}

}  // namespace sharpmax::model
