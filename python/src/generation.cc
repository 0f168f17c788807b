#include <algorithm>

#include "model.h"
#include "sharpmax/error.h"

namespace sharpmax::python {

Generation::Generation(HeldModel& model, Tokens prompt, const SessionWish& wish,
                       const model::Sampling& sampling, std::int64_t most)
    : model_(model),
      prompt_(std::move(prompt)),
      most_(most),
      sampler_(sampling),
      stream_(model.model().tokenizer()) {
  const auto length = static_cast<std::int64_t>(prompt_.size());
  model.check_length(length);
  if (most < 1) throw Error(ErrorCode::bad_argument, "max_tokens must be at least 1");
  // A context that could be counted past is cut by the model's own.
  session_ = model.open_session(wish, std::min(model.context(), length + std::min(most, model.context())));
  session_->check(prompt_);
}

// As model::generate() goes on, one token at a time.
void Generation::advance() {
  if (tokens_.empty()) {
    session_->rewind(0);  // a call that was interrupted begins again
    logits_ = session_->feed_for_last(prompt_);
  } else if (session_->position() == session_->capacity()) {
    ending_ = "context_full";
    return;
  } else {
    logits_ = session_->feed_for_last({&tokens_.back(), 1});
  }
  const model::Tokenizer& tokenizer = model_.model().tokenizer();
  const auto known = std::min(static_cast<std::size_t>(tokenizer.size()), logits_.size());
  const model::Token token = sampler_.pick(logits_.first(known));
  const std::vector<model::Token>& stops = tokenizer.ends().stops;
  if (std::find(stops.begin(), stops.end(), token) != stops.end()) {
    ending_ = "stop_token";
    return;
  }
  tokens_.push_back(token);
  ready_ = stream_.push(token);
  if (static_cast<std::int64_t>(tokens_.size()) == most_) ending_ = "tokens";
}

nb::object Generation::next() {
  const Turn turn(model_.turns());
  ready_.clear();
  if (*ending_ != '\0') {
    if (flushed_) return nb::none();
    flushed_ = true;
    ready_ = stream_.flush();
  } else {
    const nb::gil_scoped_release without_interpreter;
    advance();
  }
  return nb::bytes(ready_.data(), ready_.size());
}

}  // namespace sharpmax::python
