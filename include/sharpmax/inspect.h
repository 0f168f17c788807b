// inspect(): contents of a model file, whether it runs here, and whether its weights are numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sharpmax/model.h"

namespace sharpmax {

inline constexpr const char* kInspectSchema = "sharpmax.inspect/1";

struct InspectRequest {
  ModelRequest model;  // its path and threads count here
  bool check = false;

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    ModelRequest::each_source(self.model, visit);
    visit(common({"check", "", "", "Look at every weight; exit 1 if one is NaN or infinite"}), self.check);
    ModelRequest::each_thread(self.model, visit);
  }
};

// Parts of an InspectResult.
namespace inspected {

struct Architecture {
  std::optional<std::string> name;
  bool runs_here = false;
  std::optional<std::string> why_not;
  std::optional<std::string> trained_with;  // normalizer, if it is not softmax: "sink"

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("name", self.name);
    visit("runs_here", self.runs_here);
    visit("why_not", self.why_not);
    visit.optional("trained_with", self.trained_with);
  }
};
// By the names that nearly all architectures share; what the file does not say is empty.
struct Shape {
  std::optional<std::int64_t> layers, width, query_heads, kv_heads, head_width, feed_forward, context, vocabulary;
  std::optional<std::int64_t> experts, experts_used, layers_with_window, window;  // only of models that have them

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("layers", self.layers);
    visit("width", self.width);
    visit("query_heads", self.query_heads);
    visit("kv_heads", self.kv_heads);
    visit("head_width", self.head_width);
    visit("feed_forward", self.feed_forward);
    visit("context", self.context);
    visit("vocabulary", self.vocabulary);
    visit.optional("experts", self.experts);
    visit.optional("experts_used", self.experts_used);
    visit.optional("layers_with_window", self.layers_with_window);
    visit.optional("window", self.window);
  }
};
struct Tokenizer {
  std::optional<std::string> kind, pre;
  std::optional<std::int64_t> tokens;
  std::optional<bool> chat_template;  // GGUF only
  std::optional<std::string> description, why_not;

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("kind", self.kind);
    visit("pre", self.pre);
    visit("tokens", self.tokens);
    visit.optional("chat_template", self.chat_template);
    visit("why_not", self.why_not);
    visit("description", self.description);
  }
};
struct Type {
  std::string type;
  std::int64_t tensors = 0, elements = 0;
  std::uint64_t bytes = 0;
  double share = 0;  // of all bytes

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("type", self.type);
    visit("tensors", self.tensors);
    visit("elements", self.elements);
    visit("bytes", self.bytes);
    visit("share", self.share);
  }
};
struct Tensor {
  std::string name, type;
  std::vector<std::int64_t> shape;
  std::int64_t elements = 0;
  std::uint64_t bytes = 0, offset = 0;
  bool ours = true;  // of a type that is read here

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("name", self.name);
    visit("type", self.type);
    visit("shape", self.shape);
    visit("elements", self.elements);
    visit("bytes", self.bytes);
    visit("offset", self.offset);
    visit("ours", self.ours);
  }
};
struct BadTensor {
  std::string name;
  std::int64_t nan = 0, infinite = 0, elements = 0;
  std::int64_t first = 0;  // element that is not finite, counted through the tensor

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("name", self.name);
    visit("nan", self.nan);
    visit("infinite", self.infinite);
    visit("elements", self.elements);
    visit("first", self.first);
  }
};
struct Check {
  std::int64_t tensors = 0, not_checked = 0;
  std::vector<BadTensor> bad;

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("tensors", self.tensors);
    visit("not_checked", self.not_checked);
    visit("bad", self.bad);
  }
};

}  // namespace inspected

struct InspectResult {
  using Architecture = inspected::Architecture;
  using Shape = inspected::Shape;
  using Tokenizer = inspected::Tokenizer;
  using Type = inspected::Type;
  using Tensor = inspected::Tensor;
  using BadTensor = inspected::BadTensor;
  using Check = inspected::Check;

  std::string sharpmax;  // version
  std::string path;
  std::string format;  // as JSON: {"name": "GGUF", "version": …} or {"name": "safetensors", "files": …}
  std::uint64_t bytes = 0;
  Architecture architecture;
  std::optional<Shape> shape;
  std::optional<Tokenizer> tokenizer;
  std::vector<Type> types;  // the largest first
  std::vector<Tensor> tensors;
  std::optional<std::string> sha256;  // with Check
  std::optional<Check> check;
  std::string metadata;  // the format's own, whole, as a JSON list

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("sharpmax", self.sharpmax);
    visit("path", self.path);
    visit.json_text("format", self.format);
    visit("bytes", self.bytes);
    visit("architecture", self.architecture);
    visit("shape", self.shape);
    visit("tokenizer", self.tokenizer);
    visit("types", self.types);
    visit("tensors", self.tensors);
    visit.optional("sha256", self.sha256);
    visit.optional("check", self.check);
    visit.json_text("metadata", self.metadata);
  }
};

InspectResult inspect(const InspectRequest& request, Listener& listener = nobody());

Json to_json(const InspectResult& result);       // schema sharpmax.inspect/1
InspectResult inspect_result(const Json& json);  // throws Error{bad_file}

}  // namespace sharpmax
