// train(): trains small transformers on a task that grows, under any normalizer, and tests the same weights
// under others at sizes far beyond those of the training. The result says where each collapses, and why.
//
// A run is kept in a directory as it proceeds; a run that was interrupted or killed goes on with `resume` to
// the same results. docs/reference/train.md explains the tasks and what was found.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sharpmax/job.h"
#include "sharpmax/sweep.h"
#include "sharpmax/train_settings.h"

namespace sharpmax {

inline constexpr const char* kTrainSchema = "sharpmax.train/1";
// Stands for the table of normalizers that was chosen for a model, among the names of normalizers in results.
inline constexpr const char* kPerHead = "per-head";

struct TrainRequest {
  train::TaskSettings task;
  std::string preset = "quick";
  std::vector<std::string> arms;  // an element may name several, separated by commas
  std::optional<std::int64_t> seeds;
  std::optional<int> threads;
  std::string directory;
  bool resume = false;
  bool join = false;
  bool overwrite = false;
  double checkpoint_seconds = 10.0;
  train::DecoderChanges decoder;
  train::OptimizerChanges optimizer;
  train::TestSettings test;
  std::string command;  // for the results; empty: made from the fields

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    constexpr std::string_view kGroup = "Run";
    train::TaskSettings::each_field(self.task, visit);
    visit(common({"preset", "NAME", kGroup,
                  "Preset: quick (two arms, one seed) or thorough (all arms, three seeds)",
                  one_of({"quick", "thorough"})}),
          self.preset);
    visit(common({"arms", "NAMES", kGroup,
                  "Arms (ways of training), of softmax, ssmax, entmax15, asentmax, adaptive, late-target, "
                  "tuned-adaptive "
                  "(default: the preset's)"}),
          self.arms);
    visit(common({"seeds", "N", kGroup, "Number of models per arm: seeds 0, 1, ...", range(1, 10'000)}),
          self.seeds);
    visit(common({"threads", "N", kGroup,
                  "Number of threads (default: one per core); results do not depend on it", range(1, 4096)}),
          self.threads);
    visit(common({"directory",
                  "DIR",
                  kGroup,
                  "Directory of the run (default ./train-TASK)",
                  {},
                  Field::Kind::output}),
          self.directory);
    visit(common({"resume", "", kGroup, "Go on with the run in the directory"}), self.resume);
    visit(Field{"join", "", kGroup, "Work on the run in the directory together with other processes"}, self.join);
    visit(Field{"overwrite", "", kGroup,
                "Begin again in a directory that holds a run; replace existing files of another kind. An "
                "input is "
                "never "
                "replaced"},
          self.overwrite);
    visit(Field{"checkpoint_seconds", "X", kGroup, "Seconds between checkpoints", range(0, 86'400)},
          self.checkpoint_seconds);
    train::DecoderSettings::each_field(self.decoder, visit);
    train::OptimizerSettings::each_field(self.optimizer, visit);
    train::TestSettings::each_field(self.test, visit);
  }
};

// One trained transformer.
struct TrainedModel {
  std::string arm;
  std::uint64_t seed = 0;
  std::string file;  // within the directory
  std::int64_t parameters = 0;
  std::int64_t steps = 0;                                   // fine-tuning included
  std::int64_t tokens = 0;                                  // places read in training
  double loss = 0;                                          // the last of loss_curve; NaN without one
  std::vector<std::pair<std::int64_t, double>> loss_curve;  // (steps done, mean loss since the one before)
  std::vector<std::string> normalizers;                     // one per layer, with what it learned

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("arm", self.arm);
    visit("seed", self.seed);
    visit("file", self.file);
    visit("parameters", self.parameters);
    visit("steps", self.steps);
    visit("tokens", self.tokens);
    visit("loss", self.loss);
    visit("loss_curve", self.loss_curve);
    visit("normalizers", self.normalizers);
  }
};

// The normalizer that was chosen for one head that sees everything; `head` counts these alone.
struct ChosenHead {
  std::int64_t layer = 0, head = 0;
  std::string normalizer;

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("layer", self.layer);
    visit("head", self.head);
    visit("normalizer", self.normalizer);
  }
};

// Normalizers chosen head by head for one model, by the loss on sequences of sizes up to 4 times the trained one.
struct ChosenTable {
  std::string arm;
  std::uint64_t seed = 0;
  std::vector<std::int64_t> sizes;           // of those sequences
  std::int64_t answers = 0, trials = 0;      // answers per trial, of all sizes together; tables that were tried
  double loss_own = 0, accuracy_own = 0;     // there, under the normalizer of the training
  double loss = 0, accuracy = 0;             // there, under this table
  std::vector<ChosenHead> heads;

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("arm", self.arm);
    visit("seed", self.seed);
    visit("sizes", self.sizes);
    visit("answers", self.answers);
    visit("trials", self.trials);
    visit("loss_own", self.loss_own);
    visit("accuracy_own", self.accuracy_own);
    visit("loss", self.loss);
    visit("accuracy", self.accuracy);
    visit("heads", self.heads);
  }
};

// One head that sees everything, at the asked places. Means over questions.
struct HeadMeasurement {
  std::int64_t layer = 0, head = 0;  // as in ChosenHead
  double entropy = 0;       // nats
  double peak_weight = 0;   // largest weight
  double right_weight = 0;  // on the place of the answer; NaN if no question has one
  std::optional<std::int64_t> fixed;  // wrong answers that hard attention in this head alone makes right; own normalizer only

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("layer", self.layer);
    visit("head", self.head);
    visit("entropy", self.entropy);
    visit("peak_weight", self.peak_weight);
    visit("right_weight", self.right_weight);
    visit.optional("fixed", self.fixed);
  }
};

// One model under one normalizer at one size. The four counts split the answers by hard attention on the same
// weights (right, wrong) and this normalizer (right, wrong). Of the answers that both get wrong, `binding` are those for
// which hard attention looks at the right place in some head: what stands there was bound or read wrongly. The others are
// ranking: no head has its largest score there.
struct TrainMeasurement {
  std::string arm;
  std::uint64_t seed = 0;
  std::string subtask;     // of a mixture; empty otherwise
  std::string normalizer;  // as the test names it; kPerHead: the table of this model
  bool own = false;        // the normalizer of the training, with what it learned
  std::int64_t n = 0, sequences = 0, answers = 0, right = 0;
  double accuracy = 0, accuracy_low = 0, accuracy_high = 0;  // with 95 % interval over answers
  double exact = 0;                                          // share of sequences without a wrong answer
  std::int64_t hard_right_rule_right = 0;
  std::int64_t hard_right_rule_wrong = 0;  // dispersion
  std::int64_t hard_wrong_rule_right = 0;  // averaging helps
  std::int64_t hard_wrong_rule_wrong = 0;  // ranking, and
  std::int64_t binding = 0;                // of them: binding
  std::vector<HeadMeasurement> heads;

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("arm", self.arm);
    visit("seed", self.seed);
    visit("subtask", self.subtask);
    visit("normalizer", self.normalizer);
    visit("own", self.own);
    visit("n", self.n);
    visit("sequences", self.sequences);
    visit("answers", self.answers);
    visit("right", self.right);
    visit("accuracy", self.accuracy);
    visit("accuracy_low", self.accuracy_low);
    visit("accuracy_high", self.accuracy_high);
    visit("exact", self.exact);
    visit("hard_right_rule_right", self.hard_right_rule_right);
    visit("hard_right_rule_wrong", self.hard_right_rule_wrong);
    visit("hard_wrong_rule_right", self.hard_wrong_rule_right);
    visit("hard_wrong_rule_wrong", self.hard_wrong_rule_wrong);
    visit("binding", self.binding);
    visit("heads", self.heads);
  }
};

// Means over the seeds of an arm; the interval is over seeds, or over answers if there is one seed.
struct TrainSummary {
  std::string arm, subtask, normalizer;
  bool own = false;
  std::int64_t n = 0, seeds = 0, answers = 0;  // answers of all seeds
  double accuracy = 0, accuracy_low = 0, accuracy_high = 0;
  double dispersion = 0, ranking = 0, binding = 0, averaging = 0;  // shares of answers: see TrainMeasurement
  double right_weight =
      0;  // of the head that puts most weight on the right place; NaN if no question has one

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("arm", self.arm);
    visit("subtask", self.subtask);
    visit("normalizer", self.normalizer);
    visit("own", self.own);
    visit("n", self.n);
    visit("seeds", self.seeds);
    visit("answers", self.answers);
    visit("accuracy", self.accuracy);
    visit("accuracy_low", self.accuracy_low);
    visit("accuracy_high", self.accuracy_high);
    visit("dispersion", self.dispersion);
    visit("ranking", self.ranking);
    visit("binding", self.binding);
    visit("averaging", self.averaging);
    visit("right_weight", self.right_weight);
  }
};

// One task of a mixture.
struct TrainSubtask {
  std::string name;
  double chance = 0;  // accuracy of a guess

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("name", self.name);
    visit("chance", self.chance);
  }
};

struct TrainResult {
  Provenance provenance;
  double training_seconds = 0, testing_seconds = 0;  // of this call
  train::RunSettings settings;
  double chance = 0;                 // accuracy of a guess; of a mixture the mean
  std::vector<TrainSubtask> subtasks;  // of a mixture; empty otherwise
  std::vector<TrainedModel> models;  // arm by arm, seed by seed
  std::vector<ChosenTable> tables;   // in the same order; empty unless per_head was asked for
  std::vector<TrainMeasurement> results;
  std::vector<TrainSummary> summary;
};

// The directory of a request's run.
std::string directory_of(const TrainRequest& request);

// How far the run in the directory of a request has come. Throws Error.
RunStatus status_of(const TrainRequest& request);

// Throws Error, and Interrupted if the listener does; checkpoints and finished tests are then in the
// directory. Processes that a launcher started (srun, mpirun, torchrun) join each other. The directory gets results.json too. A training whose loss diverges ends in Error{unsupported},
// which says at which step; the last good state is kept as a checkpoint.
TrainResult train_models(const TrainRequest& request, Listener& listener = nobody());

Json to_json(const TrainResult& result);     // schema sharpmax.train/1
TrainResult train_result(const Json& json);  // throws Error{bad_file}

}  // namespace sharpmax
