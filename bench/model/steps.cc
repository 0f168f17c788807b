// A model behind a line protocol, so that bench/model/compare.py can run it in turn with llama.cpp, which
// has the same protocol (llama_serve.py). One line per request, one line per answer:
//
//   tokens FILE       what all requests read: tokens as decimal numbers       ok COUNT
//   losses N FILE     of the first N tokens from an empty cache: for each but the last a line with the loss
//   of the
//                     next and the token that was thought likeliest           ok
//   prompt N          the first N tokens from an empty cache to the last's logits    ok
//   generate N M      after the first N tokens (read first, if the cache does not hold them), the M next one
//   by one,
//                     each to its logits; the cache then holds N again        ok
//   memory            peak of the process, and before the model was opened    ok BYTES BYTES
//
// and `error MESSAGE` where it cannot. The ready line names the instruction set and the seconds from before
// the file was opened.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <exception>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "bench/line_protocol.h"
#include "model/generation/generate.h"
#include "model/transformer/session.h"
#include "sharpmax/error.h"
#include "sharpmax/machine.h"

namespace sharpmax::model {
namespace {

using bench::Words;

struct Options {
  std::string model;
  SessionSettings session;
  std::string normalizer = "softmax";
};

std::int64_t integer(const std::string& word) {
  std::int64_t value = -1;
  const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (failure != std::errc() || end != word.data() + word.size() || value < 0)
    throw Error(ErrorCode::bad_argument, fmt::format("model_steps: '{}' is not a count", word));
  return value;
}

CacheType cache_type(const std::string& word) {
  if (word == "f32") return CacheType::float32;
  if (word == "f16") return CacheType::float16;
  throw Error(ErrorCode::bad_argument, fmt::format("model_steps: --cache is '{}'; expected f32 or f16", word));
}

Products products(const std::string& word) {
  if (word == "float") return Products::float32;
  if (word == "int16") return Products::int16;
  throw Error(ErrorCode::bad_argument, fmt::format("model_steps: --products is '{}'; expected float or int16", word));
}

Options parse(const Words& words) {
  Options options;
  const std::map<std::string, std::function<void(const std::string&)>> known = {
      {"--model", [&](const std::string& v) { options.model = v; }},
      {"--capacity", [&](const std::string& v) { options.session.capacity = integer(v); }},
      {"--threads", [&](const std::string& v) { options.session.threads = static_cast<int>(integer(v)); }},
      {"--cache", [&](const std::string& v) { options.session.cache = cache_type(v); }},
      {"--products", [&](const std::string& v) { options.session.products = products(v); }},
      {"--normalizer", [&](const std::string& v) { options.normalizer = v; }},
  };
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const auto option = known.find(words[i]);
    if (option == known.end() || i + 1 == words.size())
      throw Error(ErrorCode::bad_argument,
                  fmt::format("model_steps: '{}' is not an option with a value", words[i]));
    option->second(words[i + 1]);
  }
  return options;
}

// VmHWM of this process, in bytes.
std::int64_t peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return 1024 * std::stoll(line.substr(6));
  }
  throw Error(ErrorCode::unsupported, "model_steps: /proc/self/status has no VmHWM");
}

SessionSettings settings_for(const Options& options, const Model& model) {
  SessionSettings settings = options.session;
  const Configuration& c = model.configuration();
  settings.normalizers.emplace(c.layers, c.heads, AnyNormalizer::parse(options.normalizer));
  return settings;
}

class Contender {
 public:
  explicit Contender(const Options& options)
      : memory_before_(peak_memory()),
        model_(options.model),
        session_(model_, settings_for(options, model_)) {}

  std::string answer(const Words& words) {
    const auto is = [&](std::string_view name, std::size_t arguments) {
      return words[0] == name && words.size() == arguments + 1;
    };
    if (is("tokens", 1)) return read_tokens(words[1]);
    if (is("losses", 2)) {
      write_losses(integer(words[1]), words[2]);
    } else if (is("prompt", 1)) {
      session_.rewind(0);
      session_.feed_for_last(first(integer(words[1])));
    } else if (is("generate", 2)) {
      generate(integer(words[1]), integer(words[2]));
    } else if (is("memory", 0)) {
      return fmt::format("ok {} {}", peak_memory(), memory_before_);
    } else {
      throw Error(ErrorCode::bad_argument, fmt::format("model_steps: '{}' is not a request", words[0]));
    }
    return "ok";
  }

 private:
  std::string read_tokens(const std::string& path) {
    std::ifstream file(path);
    tokens_.assign(std::istream_iterator<Token>(file), {});
    if (tokens_.empty())
      throw Error(ErrorCode::bad_file, fmt::format("model_steps: no tokens in '{}'", path));
    return fmt::format("ok {}", tokens_.size());
  }

  std::span<const Token> first(std::int64_t count) const {
    if (count == 0 || count > static_cast<std::int64_t>(tokens_.size()))
      throw Error(ErrorCode::bad_argument,
                  fmt::format("model_steps: {} of {} tokens", count, tokens_.size()));
    return std::span(tokens_).first(static_cast<std::size_t>(count));
  }

  void write_losses(std::int64_t count, const std::string& path) {
    const std::span<const Token> tokens = first(count);
    std::ofstream file(path);
    session_.rewind(0);
    session_.feed_for_all(tokens, [&](std::int64_t position, std::span<const float> logits) {
      if (position + 1 >= count) return;
      const auto top = std::max_element(logits.begin(), logits.end()) - logits.begin();
      file << fmt::format("{} {}\n", loss_of(logits, tokens[static_cast<std::size_t>(position) + 1]), top);
    });
    if (!file.flush()) throw Error(ErrorCode::bad_file, fmt::format("model_steps: cannot write '{}'", path));
  }

  void generate(std::int64_t context, std::int64_t count) {
    const std::span<const Token> tokens = first(context + count);
    if (session_.position() != context) {
      session_.rewind(0);
      session_.feed(tokens.first(static_cast<std::size_t>(context)));
    }
    for (std::int64_t i = 0; i < count; ++i) {
      session_.feed_for_last(tokens.subspan(static_cast<std::size_t>(context + i), 1));
    }
    session_.rewind(context);
  }

  std::int64_t memory_before_;
  Model model_;
  Session session_;
  std::vector<Token> tokens_;
};

void serve(const Words& arguments) {
  const Options options = parse(arguments);
  const auto began = std::chrono::steady_clock::now();
  Contender contender(options);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
  std::cout << fmt::format("ready {} {}", current_target(), seconds.count()) << std::endl;
  bench::answer_lines([&](const Words& words) { return contender.answer(words); });
}

}  // namespace
}  // namespace sharpmax::model

int main(int count, char** words) {
  return sharpmax::bench::run_contender(count, words, sharpmax::model::serve);
}
