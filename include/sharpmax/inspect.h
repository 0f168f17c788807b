// inspect(): what is in a model file, whether it runs here, and whether its weights are numbers.
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
};
// By the names that nearly all architectures share; what the file does not say is empty.
struct Shape {
  std::optional<std::int64_t> layers, width, query_heads, kv_heads, head_width, feed_forward, context, vocabulary;
};
struct Tokenizer {
  std::optional<std::string> kind, pre;
  std::optional<std::int64_t> tokens;
  std::optional<bool> chat_template;  // GGUF only
  std::optional<std::string> description, why_not;
};
struct Type {
  std::string type;
  std::int64_t tensors = 0, elements = 0;
  std::uint64_t bytes = 0;
  double share = 0;  // of all bytes
};
struct Tensor {
  std::string name, type;
  std::vector<std::int64_t> shape;
  std::int64_t elements = 0;
  std::uint64_t bytes = 0, offset = 0;
  bool ours = true;  // of a type that is read here
};
struct BadTensor {
  std::string name;
  std::int64_t nan = 0, infinite = 0, elements = 0;
  std::int64_t first = 0;  // element that is not finite, counted through the tensor
};
struct Check {
  std::int64_t tensors = 0, not_checked = 0;
  std::vector<BadTensor> bad;
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
};

InspectResult inspect(const InspectRequest& request, Listener& listener = nobody());

Json to_json(const InspectResult& result);       // schema sharpmax.inspect/1
InspectResult inspect_result(const Json& json);  // throws Error{bad_file}

}  // namespace sharpmax
