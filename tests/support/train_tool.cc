// train_tool TASK NORMALIZER FEED_FORWARD STEPS FOLDER: trains a tiny transformer and writes, for every step,
// what it read, its parameters before, the gradient and what the normalizer had learned, so that
// tests/peer/test_train_torch.py can do the same.
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>

#include "storage/safetensors.h"
#include "train/training/trainer.h"

namespace {

using namespace sharpmax;
using namespace sharpmax::train;

TrainingPlan plan_of(char** words) {
  TrainingPlan plan{.task = complete(task_kind(words[1]), {.keys = 48, .values = 5, .questions = 6}),
                    .decoder = {.layers = 2,
                                .width = 24,
                                .heads = 3,
                                .local_heads = 1,
                                .head_width = 8,
                                .hidden = 40,
                                .window = 4,
                                .feed_forward = words[3]},
                    .arm = {.name = "one", .normalizer = words[2]},
                    .seed = 7};
  plan.optimizer = {.steps = std::atoll(words[4]),
                    .batch = 8,
                    .warm_up = 2,
                    .learning_rate = 0.01,
                    .weight_decay = 0.1,
                    .clip = 0.5};
  return plan;
}

void write(const std::filesystem::path& file, const TrainingState& before, const Trainer& trainer,
           const Layout& layout) {
  const Batch& batch = trainer.batch();
  std::vector<SafetensorView> views;
  for (const Part& part : layout.parts()) {
    std::vector<std::int64_t> shape = {part.columns};
    if (part.is_matrix()) shape.insert(shape.begin(), part.rows);
    views.push_back({part.name, SafetensorType::f32, shape, before.parameters.data() + part.offset});
    views.push_back(
        {"gradient." + part.name, SafetensorType::f32, shape, trainer.gradient().data() + part.offset});
  }
  const std::int64_t sequences = batch.sequences, asked = batch.asked();
  views.push_back(
      {"tokens", SafetensorType::i32, {sequences, batch.length, batch.slots}, batch.tokens.data()});
  views.push_back({"answers", SafetensorType::i32, {sequences, asked, batch.parts}, batch.answers.data()});
  views.push_back({"places", SafetensorType::i64, {asked}, batch.places.data()});
  views.push_back(
      {"rule", SafetensorType::f64, {static_cast<std::int64_t>(before.rule.size())}, before.rule.data()});
  write_safetensors(file, views);
}

}  // namespace

int main(int count, char** words) {
  if (count != 6) {
    std::cerr << "usage: train_tool TASK NORMALIZER FEED_FORWARD STEPS FOLDER\n";
    return 2;
  }
  const TrainingPlan plan = plan_of(words);
  const Layout layout(plan.decoder, task_kind(plan.task.task).make(plan.task)->shape());
  Trainer trainer(plan, 1);
  while (!trainer.finished()) {
    const TrainingState before = trainer.state();
    const double loss = trainer.step().loss;
    write(std::filesystem::path(words[5]) / (std::to_string(before.step) + ".safetensors"), before, trainer,
          layout);
    std::cout << loss << "\n";
  }
  return 0;
}
