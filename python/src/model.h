// A model of src/model as Python has it: one call at a time, each with a session of its own.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/generation/generate.h"
#include "model/tokenizer/tokenizer.h"
#include "model/transformer/session.h"
#include "sharpmax/model.h"
#include "statistics.h"
#include "turns.h"

namespace sharpmax::python {

// How a call is to run the model.
struct SessionWish {
  std::string normalizer;   // of every head; empty: softmax
  std::string normalizers;  // a table, schema sharpmax.normalizers/1 as JSON; empty: none
  std::string cache = "float32";
  std::string products = "float";
  std::int64_t block = 0;  // tokens that go through a layer together; 0: as many as the session likes
  int threads = 0;
};

struct OpenWish {
  std::string path;
  std::optional<std::int64_t> context;
  std::string rope_scaling;
  std::optional<double> rope_base;
};

struct PromptWish {
  std::string text;
  bool special = false;  // "<|im_end|>" is that token
  bool chat = false;     // the text is a message
  std::optional<std::string> system;
};

using Tokens = std::vector<model::Token>;

class HeldModel {
 public:
  explicit HeldModel(const OpenWish& wish);

  nb::dict describe() const;
  Tokens tokenize(const nb::bytes& text, bool special, bool ends);
  nb::bytes detokenize(const Tokens& tokens);
  Tokens prompt_tokens(const PromptWish& wish);
  // Logits after every token, or after the last alone: out [tokens or 1, vocabulary], float32.
  void logits(const Tokens& tokens, const SessionWish& wish, nb::handle out);
  // -ln of the probability of tokens 1, 2, ... after those before: out [tokens - 1], float32.
  void losses(const Tokens& tokens, const SessionWish& wish, nb::handle out);
  // Arrays [layer, head, token, ...] by name, as attend() has them for [batch, head, query, ...].
  void statistics(const Tokens& tokens, const SessionWish& wish, const nb::dict& wanted,
                  std::vector<double> gaps);

  const ModelRequest& request() const noexcept { return request_; }  // of a job on this model
  const model::Model& model() const noexcept { return *request_.opened; }
  std::int64_t context() const noexcept { return context_; }
  Turns& turns() noexcept { return turns_; }
  // Error{bad_argument} unless the array begins with these dimensions.
  void check_out(const OutputArray& out, std::initializer_list<std::int64_t> shape) const;
  // Error{bad_argument} unless there are some, and no more than the context has room for.
  void check_length(std::int64_t tokens) const;
  std::unique_ptr<model::Session> open_session(const SessionWish& wish, std::int64_t tokens) const;

 private:
  ModelRequest request_;  // as it was opened, and the opened model
  std::int64_t context_;
  Turns turns_{"this model"};
};

// Text that comes piece by piece.
class Generation {
 public:
  Generation(HeldModel& model, Tokens prompt, const SessionWish& wish, const model::Sampling& sampling,
             std::int64_t most);

  // The next bytes, whole characters, perhaps none yet; None after the end.
  nb::object next();
  const Tokens& tokens() const noexcept { return tokens_; }
  const char* ending() const noexcept { return ending_; }

 private:
  void advance();  // without the interpreter's lock

  HeldModel& model_;
  Tokens prompt_, tokens_;
  std::int64_t most_;
  std::unique_ptr<model::Session> session_;
  model::Sampler sampler_;
  model::TextStream stream_;
  std::span<const float> logits_;
  std::string ready_;
  const char* ending_ = "";  // as `sharpmax run --json` has it
  bool flushed_ = false;
};

}  // namespace sharpmax::python
