#include "model/tokenizer/text_stream.h"

#include <utility>

#include "model/tokenizer/utf8.h"

namespace sharpmax::model {

std::string TextStream::push(Token token) {
  waiting_ += tokenizer_.bytes_of(token);
  std::string ready = waiting_.substr(0, waiting_.size() - unfinished_bytes(waiting_));
  waiting_.erase(0, ready.size());
  return ready;
}

std::string TextStream::flush() { return std::exchange(waiting_, {}); }

}  // namespace sharpmax::model
