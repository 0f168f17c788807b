// Training steps of a small transformer behind a line protocol, so that bench/train/compare.py can run them in turn with the
// peers, which speak the same (peers/serve.py). One line a request, one line an answer:
//
//   write FILE K   parameters at the beginning, and what steps 0 to K - 1 read, .safetensors    ok
//   reset          begins again                                                                  ok
//   train K        K steps; drawing what they read is part of it                                 ok SECONDS FIRST_LOSS LAST_LOSS
//   gradient FILE  begins again; the gradient of the first step, before clipping, .safetensors   ok LOSS
//
// and `error MESSAGE` where it cannot.
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/line_protocol.h"
#include "sharpmax/error.h"
#include "sharpmax/machine.h"
#include "storage/safetensors.h"
#include "train/training/trainer.h"

namespace sharpmax::train {
namespace {

using bench::Words;

std::int64_t count_in(const std::string& word) {
  std::int64_t value = -1;
  const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (failure != std::errc() || end != word.data() + word.size() || value < 1)
    throw Error(ErrorCode::bad_argument, fmt::format("train_steps: '{}' is not a count", word));
  return value;
}

struct Options {
  TrainingPlan plan;
  int threads = 1;
};

// The model is the task's own; sequences have one size; the learning rate is constant to speak of.
Options parse(const Words& words) {
  Options options;
  std::map<std::string, std::string> given = {{"--task", "lookup"}, {"--normalizer", "softmax"}, {"--size", "16"},
                                              {"--batch", "32"},    {"--threads", "1"}};
  for (std::size_t i = 0; i < words.size(); i += 2) {
    if (!given.contains(words[i]) || i + 1 == words.size())
      throw Error(ErrorCode::bad_argument, fmt::format("train_steps: '{}' is not an option with a value", words[i]));
    given[words[i]] = words[i + 1];
  }
  const TaskKind& kind = task_kind(given["--task"]);
  const std::int64_t size = count_in(given["--size"]);
  TaskSettings task = kind.defaults;
  task.least_size = task.largest_size = size;
  options.plan = {.task = complete(kind, task),
                  .decoder = kind.decoder,
                  .optimizer = {.steps = 1'000'000'000,
                                .batch = count_in(given["--batch"]),
                                .warm_up = 0,
                                .learning_rate = 1e-3},
                  .arm = {.name = "timed", .normalizer = given["--normalizer"]},
                  .seed = 0};
  options.threads = static_cast<int>(count_in(given["--threads"]));
  return options;
}

class Contender {
 public:
  explicit Contender(Options options) : options_(std::move(options)) { reset(); }

  std::string answer(const Words& words) {
    const auto is = [&](std::string_view name, std::size_t arguments) {
      return words[0] == name && words.size() == arguments + 1;
    };
    if (is("train", 1)) return train(count_in(words[1]));
    if (is("gradient", 1)) return write_gradient(words[1]);
    if (is("write", 2))
      write_problem(words[1], count_in(words[2]));
    else if (is("reset", 0))
      reset();
    else
      throw Error(ErrorCode::bad_argument, fmt::format("train_steps: '{}' is not a request", words[0]));
    return "ok";
  }

 private:
  void reset() { trainer_ = std::make_unique<Trainer>(options_.plan, options_.threads); }

  std::string train(std::int64_t steps) {
    double first = 0.0, last = 0.0;
    const auto began = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < steps; ++i) {
      last = trainer_->step().loss;
      if (i == 0) first = last;
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    return fmt::format("ok {} {} {}", seconds, first, last);
  }

  std::string write_gradient(const std::string& file) {
    reset();
    const double loss = trainer_->step().loss;
    write_safetensors(file, views_of(trainer_->gradient()));
    reset();
    return fmt::format("ok {}", loss);
  }

  // Numbers that lie as the parameters do.
  std::vector<SafetensorView> views_of(const std::vector<float>& numbers) const {
    const auto task = task_kind(options_.plan.task.task).make(options_.plan.task);
    std::vector<SafetensorView> views;
    for (const Part& part : Layout(options_.plan.decoder, task->shape()).parts()) {
      std::vector<std::int64_t> shape = {part.columns};
      if (part.is_matrix()) shape.insert(shape.begin(), part.rows);
      views.push_back({part.name, SafetensorType::f32, shape, numbers.data() + part.offset});
    }
    return views;
  }

  void write_problem(const std::string& file, std::int64_t steps) {
    const auto task = task_kind(options_.plan.task.task).make(options_.plan.task);
    std::vector<SafetensorView> views = views_of(trainer_->state().parameters);
    std::vector<Batch> batches(static_cast<std::size_t>(steps));
    for (std::int64_t i = 0; i < steps; ++i) {
      Batch& batch = batches[static_cast<std::size_t>(i)];
      draw_batch(*task,
                 {.seed = options_.plan.seed,
                  .step = i,
                  .count = options_.plan.optimizer.batch,
                  .size = options_.plan.task.largest_size},
                 batch);
      views.push_back({fmt::format("tokens.{}", i),
                       SafetensorType::i32,
                       {batch.sequences, batch.length, batch.slots},
                       batch.tokens.data()});
      views.push_back({fmt::format("answers.{}", i), SafetensorType::i32, {batch.sequences, batch.asked()}, batch.answers.data()});
    }
    views.push_back({"places", SafetensorType::i64, {batches[0].asked()}, batches[0].places.data()});
    const DecoderSettings& d = options_.plan.decoder;
    write_safetensors(file, views,
                      {{"layers", std::to_string(d.layers)},
                       {"heads", std::to_string(d.heads)},
                       {"local_heads", std::to_string(d.local_heads)},
                       {"local_layers", std::to_string(d.local_layers)},
                       {"head_width", std::to_string(d.head_width)},
                       {"window", std::to_string(d.window)}});
  }

  Options options_;
  std::unique_ptr<Trainer> trainer_;
};

void serve(const Words& arguments) {
  Contender contender(parse(arguments));
  std::cout << "ready " << current_target() << std::endl;
  bench::answer_lines([&](const Words& words) { return contender.answer(words); });
}

}  // namespace
}  // namespace sharpmax::train

int main(int count, char** words) {
  return sharpmax::bench::run_contender(count, words, sharpmax::train::serve);
}
