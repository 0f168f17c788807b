// Models that jobs read: GGUF and safetensors files, and how they are to run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "sharpmax/job.h"

namespace sharpmax {

namespace model {
class Model;
}

// Which model, under which normalizers, on how much of the machine.
struct ModelRequest {
  std::string model;
  std::string normalizer;
  std::string normalizers;  // path, or the JSON itself, which begins with '{'
  std::optional<std::int64_t> context;
  std::string rope_scaling;
  std::optional<double> rope_base;
  std::string cache = "float32";
  std::string products = "float";
  std::int64_t block = 512;
  std::optional<int> threads;
  std::shared_ptr<const model::Model> opened;  // of a Model, instead of opening `model`; its positions are its own

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    each_source(self, visit);
    each_normalizer(self, visit);
    visit({"context", "N", "Positions", "Tokens that fit (default: those that the model was trained on)", range(1, 1 << 30)},
          self.context);
    each_rope(self, visit);
    each_cache(self, visit);
    visit({"products", "TYPE", "Machine",
           "Activations that meet quantized weights in blocks of tokens: float, or int16, which is faster and errs by 1e-5",
           one_of({"float", "int16"})},
          self.products);
    visit({"block", "N", "Machine", "Tokens of a prompt that go through a layer together", range(1, 1 << 20)}, self.block);
    each_thread(self, visit);
  }
  template <class Self, class Visit>
  static void each_normalizer(Self& self, const Visit& visit) {
    visit(common({"normalizer", "NAME", "Attention",
                  "Normalizer of every head (default: the model's own, mostly softmax); `sharpmax attend --list` has them", {},
                  Field::Kind::normalizer}),
          self.normalizer);
    visit(common({"normalizers", "FILE", "Attention",
                  "Table of normalizers by layer and head, schema sharpmax.normalizers/1", {},
                  Field::Kind::table}),
          self.normalizers);
  }
  template <class Self, class Visit>
  static void each_cache(Self& self, const Visit& visit) {
    visit({"cache", "TYPE", "Machine", "Type of keys and values: float32, or float16, which takes half the memory",
           one_of({"float32", "float16"})},
          self.cache);
  }
  // The parts that jobs without a running model have too.
  template <class Self, class Visit>
  static void each_source(Self& self, const Visit& visit) {
    visit(common({"model", "MODEL", "", "Model: a .gguf file, a .safetensors file, or a folder with config.json", {},
                  Field::Kind::value, /*operand=*/true}),
          self.model);
  }
  template <class Self, class Visit>
  static void each_rope(Self& self, const Visit& visit) {
    visit({"rope_scaling", "HOW", "Positions", "Scaling of positions: none, linear:FACTOR, ntk:FACTOR or yarn:FACTOR"},
          self.rope_scaling);
    visit({"rope_base", "X", "Positions", "Base of the rotation's frequencies (default: the file's)"}, self.rope_base);
  }
  template <class Self, class Visit>
  static void each_thread(Self& self, const Visit& visit) {
    visit({"threads", "N", "Machine", "Number of threads (default: one per core); results do not depend on it",
           range(1, 4096)},
          self.threads);
  }
};

// An opened model: a handle that is cheap to copy, for several jobs on one model.
class Model {
 public:
  // Opens `request.model` with the positions that the request asks for, or takes what it has `opened`. Throws Error.
  explicit Model(const ModelRequest& request);

  const std::string& path() const noexcept { return path_; }
  std::int64_t layers() const noexcept;
  std::int64_t heads() const noexcept;  // query heads of a layer
  std::int64_t context() const noexcept;  // tokens that it was trained on
  std::int64_t vocabulary() const noexcept;
  const std::string& architecture() const noexcept;

  // A request for a job on this model.
  ModelRequest request() const;
  const model::Model& internals() const noexcept { return *model_; }

 private:
  std::string path_;
  std::shared_ptr<const model::Model> model_;
};

// The text that a model reads.
struct TextRequest {
  std::string text;                        // path
  std::optional<std::string> text_string;  // the text itself
  std::optional<std::int64_t> tokens;
  bool special = false;

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    visit(common({"text", "FILE", "Text",
                  "Text to read, UTF-8; - is standard input", {}, Field::Kind::input}), self.text);
    each_string(self, visit);
    visit(common({"tokens", "N", "Text",
                  "Tokens of the text to read (default: all)", range(2, 1LL << 40)}), self.tokens);
    visit({"special", "", "Text", "Read <|special|> words in the text as the tokens that they name"}, self.special);
  }
  template <class Self, class Visit>
  static void each_string(Self& self, const Visit& visit) {
    visit({"text_string", "TEXT", "Text", "The text itself, in place of a file", {}, Field::Kind::memory}, self.text_string);
  }
};

// Where a job saves its results as they come, and whether it goes on from there.
struct Saving {
  std::string json;
  bool resume = false;
  bool overwrite = false;

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    visit(common({"json", "FILE", "Results",
                  "File for the results as JSON, saved as they come; - is standard output", {},
                  Field::Kind::output}),
          self.json);
    visit(common({"resume", "", "Results", "Go on from the results that were saved"}), self.resume);
    visit({"overwrite", "", "Results",
           "Replace existing files of another kind; begin again in a directory that holds a run. An input is never replaced"},
          self.overwrite);
  }
};

// Order in which a long text goes through a model. Results do not depend on it.
struct ReadingOrder {
  bool by_layer = false;
  bool together = false;
  double patience = 600.0;
  double checkpoint_seconds = 30;

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    visit({"by_layer", "", "Machine",
           "Read the whole text in one layer before the next: less memory, keys and values of one layer at a time"},
          self.by_layer);
    visit({"together", "", "Machine",
           "Let the processes of mpirun read every text together, layer by layer, each some blocks of its tokens"},
          self.together);
    visit({"patience", "X", "Machine", "Seconds after which a silent process ends a job that several do together",
           range(1, 1'000'000)},
          self.patience);
    visit({"checkpoint_seconds", "X", "Machine", "Seconds between saved states of a text that is read layer by layer",
           range(0, 86'400)},
          self.checkpoint_seconds);
  }
};

// The model of a result and how it ran.
struct ModelSettings {
  std::string file, sha256, architecture;
  std::int64_t layers = 0, heads = 0, kv_heads = 0, head_width = 0, width = 0, vocabulary = 0, trained_context = 0;
  std::string cache;
  std::optional<std::string> products;      // if not float: "int16"
  std::optional<std::string> trained_with;  // if not softmax: "sink", with a value of its own in every head
  std::optional<std::string> normalizer;   // of every head, or
  std::optional<std::string> normalizers;  // a table by layer and head, as JSON
  std::string rope_scaling;                // empty: the file's
  std::optional<double> rope_base;

  // What the file holds.
  template <class Self, class Visit>
  static void each_fact(Self& self, const Visit& visit) {
    visit("file", self.file);
    visit("sha256", self.sha256);
    visit("architecture", self.architecture);
    visit("layers", self.layers);
    visit("heads", self.heads);
    visit("kv_heads", self.kv_heads);
    visit("head_width", self.head_width);
    visit("width", self.width);
    visit("vocabulary", self.vocabulary);
    visit("trained_context", self.trained_context);
  }
  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    each_fact(self, visit);
    visit.optional("products", self.products);
    visit.optional("trained_with", self.trained_with);
    visit.fields(self);
  }
  // How it ran.
  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    ModelRequest::each_normalizer(self, visit);
    ModelRequest::each_rope(self, visit);
    ModelRequest::each_cache(self, visit);
  }
};

}  // namespace sharpmax
