// Training and testing heads behind a line protocol, so that bench/retrieval/compare.py can run them in turn
// with the peers, which have the same protocol (peers/serve.py). One line per request, one line per answer:
//
//   train K              K steps in all, shared evenly by the heads    ok SECONDS FIRST_LOSS LAST_LOSS
//   test N SETS          the first head under its normalizer           ok SECONDS RIGHT ENTROPY PEAK
//   RIGHT_WEIGHT dump FILE            parameters and Adam's first moments, .npz     ok load FILE such a file
//   into every head, step 0           ok write_batches K FILE what the first head sees in its steps 0..K-1 ok
//   write_sets N SETS FILE   what test N SETS sees                     ok
//   logits N SETS FILE   answers to those, by the folded head          ok
//
// and `error MESSAGE` where it cannot. Several heads train side by side, a thread each.
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <exception>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "arrays.h"
#include "base/threads.h"
#include "bench/line_protocol.h"
#include "retrieval/testing/evaluation.h"
#include "retrieval/training/training.h"
#include "sharpmax/error.h"
#include "sharpmax/machine.h"

namespace sharpmax::retrieval {
namespace {

using bench::Words;

struct Options {
  TrainingSettings training;
  std::uint64_t seed = 0;
  std::int64_t heads = 1;
  int threads = 1;
};

std::int64_t integer(const std::string& word) {
  std::int64_t value = -1;
  const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (failure != std::errc() || end != word.data() + word.size() || value < 0)
    throw Error(ErrorCode::bad_argument, fmt::format("retrieval_steps: '{}' is not a count", word));
  return value;
}

Options parse(const Words& words) {
  Options options;
  TrainingSettings& training = options.training;
  const std::map<std::string, std::function<void(const std::string&)>> known = {
      {"--seed", [&](const std::string& v) { options.seed = static_cast<std::uint64_t>(integer(v)); }},
      {"--heads", [&](const std::string& v) { options.heads = integer(v); }},
      {"--threads", [&](const std::string& v) { options.threads = static_cast<int>(integer(v)); }},
      {"--width", [&](const std::string& v) { training.width = integer(v); }},
      {"--encoder", [&](const std::string& v) { read_field({"encoder", "WORD", "", ""}, v, training.encoder); }},
      {"--precision", [&](const std::string& v) { read_field({"precision", "WORD", "", ""}, v, training.precision); }},
      {"--normalizer", [&](const std::string& v) { training.normalizer = AnyNormalizer::parse(v); }},
  };
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const auto option = known.find(words[i]);
    if (option == known.end() || i + 1 == words.size())
      throw Error(ErrorCode::bad_argument,
                  fmt::format("retrieval_steps: '{}' is not an option with a value", words[i]));
    option->second(words[i + 1]);
  }
  validate(training);
  return options;
}

double seconds_of(const std::function<void()>& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

class Contender {
 public:
  explicit Contender(Options options) : options_(std::move(options)) {
    start([&](std::uint64_t seed) { return Trainer(options_.training, seed); });
  }

  std::string answer(const Words& words) {
    const auto is = [&](std::string_view name, std::size_t arguments) {
      return words[0] == name && words.size() == arguments + 1;
    };
    if (is("train", 1)) return train(integer(words[1]));
    if (is("test", 2)) return test(integer(words[1]), integer(words[2]));
    if (is("dump", 1)) {
      write_state(words[1], trainers_[0].head(), trainers_[0].state());
    } else if (is("load", 1)) {
      const TrainingState state = read_state(words[1], trainers_[0].head());
      trainers_.clear();
      start([&](std::uint64_t seed) { return Trainer(options_.training, seed, state); });
    } else if (is("write_batches", 2)) {
      write_batches(words[2], options_.training, options_.seed, integer(words[1]));
    } else if (is("write_sets", 3)) {
      write_sets(words[3], trainers_[0].head(), integer(words[1]), integer(words[2]));
    } else if (is("logits", 3)) {
      write_logits(words[3], trainers_[0].head(), integer(words[1]), integer(words[2]));
    } else {
      throw Error(ErrorCode::bad_argument, fmt::format("retrieval_steps: '{}' is not a request", words[0]));
    }
    return "ok";
  }

 private:
  void start(const std::function<Trainer(std::uint64_t seed)>& trainer) {
    for (std::int64_t i = 0; i < options_.heads; ++i)
      trainers_.push_back(trainer(options_.seed + static_cast<std::uint64_t>(i)));
  }

  std::string train(std::int64_t steps) {
    const auto heads = static_cast<std::int64_t>(trainers_.size());
    if (steps == 0 || steps % heads != 0)
      throw Error(ErrorCode::bad_argument,
                  fmt::format("retrieval_steps: {} steps for {} heads; expected a multiple", steps, heads));
    std::vector<double> losses;  // of the first head
    const double seconds = seconds_of([&] {
      parallel_for(static_cast<int>(heads), heads, [&](std::int64_t head, int) {
        for (std::int64_t i = 0; i < steps / heads; ++i) {
          const double loss = trainers_[static_cast<std::size_t>(head)].step().loss;
          if (head == 0) losses.push_back(loss);
        }
      });
    });
    return fmt::format("ok {} {} {}", seconds, losses.front(), losses.back());
  }

  std::string test(std::int64_t n, std::int64_t sets) {
    const Head head = trainers_[0].head();
    const std::vector<AnyNormalizer> normalizers = {head.normalizer()};
    Evaluation found;
    const double seconds = seconds_of([&] {
      found =
          evaluate(head, {.n = n, .sets = sets, .normalizers = normalizers}, {.threads = options_.threads});
    });
    const Measurement& m = found.measurements.at(0);
    return fmt::format("ok {} {} {} {} {}", seconds, m.right, m.entropy, m.peak_weight, m.right_weight);
  }

  Options options_;
  std::vector<Trainer> trainers_;
};

// Its ready line names the instruction set, as the peers' name their version.
void serve(const Words& arguments) {
  Contender contender(parse(arguments));
  std::cout << "ready " << current_target() << std::endl;
  bench::answer_lines([&](const Words& words) { return contender.answer(words); });
}

}  // namespace
}  // namespace sharpmax::retrieval

int main(int count, char** words) {
  return sharpmax::bench::run_contender(count, words, sharpmax::retrieval::serve);
}
