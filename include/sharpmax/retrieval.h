// retrieve(): trains one attention head to name the class of the largest of at most 16 items, tests it on many more under
// every normalizer, and reports why it fails or holds. The task is paper A's ("softmax is not enough").
//
// A run is kept in a directory as it proceeds; a run that was interrupted or killed goes on with `resume` to the same results.
// docs/reference/retrieval.md explains the task, docs/reference/retrieval-json.md the files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sharpmax/job.h"
#include "sharpmax/retrieval_settings.h"
#include "sharpmax/sweep.h"

namespace sharpmax {

inline constexpr const char* kRetrievalSchema = "sharpmax.retrieval/1";

struct RetrievalRequest {
  std::string preset = "quick";
  std::vector<std::string> arms;  // an element may name several, separated by commas
  std::optional<std::int64_t> seeds;
  std::vector<std::uint64_t> seed_list;
  std::optional<int> threads;
  std::string directory;
  bool resume = false;
  bool join = false;
  bool overwrite = false;
  double checkpoint_seconds = 10.0;
  std::string head;
  double patience = 600.0;
  retrieval::TrainingChanges training;
  retrieval::TestChanges test;
  std::string command;  // for the results; empty: made from the fields

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    constexpr std::string_view kGroup = "Run";
    visit(common({"preset", "NAME", kGroup,
                  "Preset: quick, paper or sharp", one_of({"quick", "paper", "sharp"})}), self.preset);
    visit(common({"arms", "NAMES", kGroup,
                  "Arms (ways of training), of paper, sharp, sharp-mlp, crowded-softmax (default: the preset's)"}),
          self.arms);
    visit(common({"seeds", "N", kGroup, "Number of heads per arm: seeds 0, 1, ...", range(1, 100'000)}), self.seeds);
    visit(Field{"seed_list", "N,N...", kGroup, "Seeds of the heads of each arm"}, self.seed_list);
    visit(common({"threads", "N", kGroup, "Number of threads (default: one per core); results do not depend on it",
                  range(1, 4096)}),
          self.threads);
    visit(common({"directory", "DIR", kGroup,
                  "Directory of the run (default ./retrieve-PRESET)", {}, Field::Kind::output}),
          self.directory);
    visit(common({"resume", "", kGroup, "Go on with the run in the directory"}), self.resume);
    visit(Field{"join", "", kGroup,
                "Work on the run in the directory together with other processes; its settings need not be given"},
          self.join);
    visit(Field{"overwrite", "", kGroup,
                "Begin again in a directory that holds a run; replace existing files of another kind. An input is never "
                "replaced"},
          self.overwrite);
    visit(Field{"checkpoint_seconds", "X", kGroup, "Seconds between checkpoints", range(0, 86'400)}, self.checkpoint_seconds);
    visit(common({"head", "FILE", kGroup,
                  "Head to test again, .safetensors; nothing is trained", {}, Field::Kind::input}),
          self.head);
    visit(Field{"patience", "X", kGroup,
                "Seconds after which a process that is silent ends the test of a head by several processes",
                range(1, 1'000'000)},
          self.patience);
    retrieval::TrainingSettings::each_field(self.training, [&](Field field, auto& value) {
      if (field.name == "normalizer") field.name = "train_normalizer";
      visit(field, value);
    });
    retrieval::TestSettings::each_field(self.test, visit);
  }
};

// One normalizer at one size, over all sets. Means and shares are over sets.
struct MeasuredNormalizer {
  std::int64_t n = 0;
  std::int64_t sets = 0;
  double accuracy = 0, accuracy_low = 0, accuracy_high = 0;  // with 95 % interval
  double entropy = 0;                                        // nats
  double peak_weight = 0;                                    // largest weight
  double right_weight = 0;                                   // on the right item
  double temperature = 0;                                    // beta; NaN if the normalizer has none
  double ranked_first = 0;                                   // share of sets whose top score is on the right item
  double hard_accuracy = 0;                                  // of hard attention over the same scores

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("n", self.n);
    visit("sets", self.sets);
    visit("accuracy", self.accuracy);
    visit("accuracy_low", self.accuracy_low);
    visit("accuracy_high", self.accuracy_high);
    visit("entropy", self.entropy);
    visit("peak_weight", self.peak_weight);
    visit("right_weight", self.right_weight);
    visit("temperature", self.temperature);
    visit("ranked_first", self.ranked_first);
    visit("hard_accuracy", self.hard_accuracy);
  }
};

// What no input at all can exceed, and what some input attains: largest minus least score.
struct CertifiedSpread {
  double certified = 0, attained = 0;

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("certified", self.certified);
    visit("attained", self.attained);
  }
};

// One trained head.
struct RetrievalHead {
  std::string arm;
  std::uint64_t seed = 0;
  std::optional<std::string> file;                          // within the directory; none for a head that was given
  double loss = 0;                                          // the last of loss_curve; NaN without one
  std::vector<std::pair<std::int64_t, double>> loss_curve;  // (steps done, mean loss since the one before)
  std::string normalizer;                                   // with what it learned
  CertifiedSpread spread;
  double half_lost_from_log10 = 0;  // log10 of the size from which no item can get half of the weight under softmax

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("arm", self.arm);
    visit("seed", self.seed);
    visit("file", self.file);
    visit("loss", self.loss);
    visit("loss_curve", self.loss_curve);
    visit("normalizer", self.normalizer);
    visit("spread", self.spread);
    visit("half_lost_from_log10", self.half_lost_from_log10);
  }
};

// One head under one normalizer at one size. Counts are of sets: hard attention (right, wrong) x this normalizer (right,
// wrong).
struct RetrievalMeasurement : MeasuredNormalizer {
  std::string arm;
  std::uint64_t seed = 0;
  std::string normalizer;
  double spread = 0;  // mean of largest minus least score
  std::int64_t hard_right_rule_right = 0;
  std::int64_t hard_right_rule_wrong = 0;  // dispersion
  std::int64_t hard_wrong_rule_right = 0;  // helpful averaging
  std::int64_t hard_wrong_rule_wrong = 0;
  double largest_peak_weight = 0;
  double weight_bound = 0;  // on largest_peak_weight, by the certificate; NaN if the normalizer has no such bound
  std::int64_t bound_violations = 0;

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("arm", self.arm);
    visit("seed", self.seed);
    visit("normalizer", self.normalizer);
    MeasuredNormalizer::each_member(self, visit);
    visit("spread", self.spread);
    visit("hard_right_rule_right", self.hard_right_rule_right);
    visit("hard_right_rule_wrong", self.hard_right_rule_wrong);
    visit("hard_wrong_rule_right", self.hard_wrong_rule_right);
    visit("hard_wrong_rule_wrong", self.hard_wrong_rule_wrong);
    visit("largest_peak_weight", self.largest_peak_weight);
    visit("weight_bound", self.weight_bound);
    visit("bound_violations", self.bound_violations);
  }
};

// Means over the seeds of an arm; the interval is over seeds, or over sets if there is one seed.
struct RetrievalSummary {
  std::string arm, normalizer;
  std::int64_t n = 0, seeds = 0;
  double accuracy = 0, accuracy_low = 0, accuracy_high = 0;
  double entropy = 0, peak_weight = 0, right_weight = 0, ranked_first = 0, hard_accuracy = 0;
  double hard_right_rule_wrong = 0, hard_wrong_rule_right = 0;  // shares

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("arm", self.arm);
    visit("normalizer", self.normalizer);
    visit("n", self.n);
    visit("seeds", self.seeds);
    visit("accuracy", self.accuracy);
    visit("accuracy_low", self.accuracy_low);
    visit("accuracy_high", self.accuracy_high);
    visit("entropy", self.entropy);
    visit("peak_weight", self.peak_weight);
    visit("right_weight", self.right_weight);
    visit("ranked_first", self.ranked_first);
    visit("hard_accuracy", self.hard_accuracy);
    visit("hard_right_rule_wrong", self.hard_right_rule_wrong);
    visit("hard_wrong_rule_right", self.hard_wrong_rule_right);
  }
};

// Paired t-test of two normalizers over the seeds of an arm: accuracy of `second` minus that of `first`.
struct RetrievalComparison {
  std::string arm;
  std::int64_t n = 0;
  std::string first, second;
  std::int64_t seeds = 0;
  double difference = 0, t = 0, p = 0;

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("arm", self.arm);
    visit("n", self.n);
    visit("first", self.first);
    visit("second", self.second);
    visit("seeds", self.seeds);
    visit("difference", self.difference);
    visit("t", self.t);
    visit("p", self.p);
  }
};

// An accuracy of paper A's table.
struct PublishedAccuracy {
  std::string normalizer;
  std::int64_t n = 0;
  double accuracy = 0;

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("normalizer", self.normalizer);
    visit("n", self.n);
    visit("accuracy", self.accuracy);
  }
};

// Weights on the largest items of the first few sets, least of them first.
struct RetrievalHeatMap {
  std::string arm;
  std::uint64_t seed = 0;
  std::string normalizer;
  std::int64_t n = 0, sets = 0, items = 0;
  std::vector<std::vector<double>> weights;  // [set, item]; floats, in the shortest decimals

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("arm", self.arm);
    visit("seed", self.seed);
    visit("normalizer", self.normalizer);
    visit("n", self.n);
    visit("sets", self.sets);
    visit("items", self.items);
    visit("weights", self.weights);
  }
};

// The scores of one test set, n of them, by their quantiles: least first, evenly spaced.
struct ScoreRow {
  std::string arm;
  std::uint64_t seed = 0;
  std::int64_t n = 0;
  std::vector<double> quantiles;

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("arm", self.arm);
    visit("seed", self.seed);
    visit("n", self.n);
    visit("quantiles", self.quantiles);
  }
};

struct RetrievalResult {
  Provenance provenance;
  double training_seconds = 0, testing_seconds = 0;  // of this call
  retrieval::RunSettings settings;
  std::vector<RetrievalHead> heads;  // arm by arm, seed by seed
  std::vector<RetrievalMeasurement> results;
  std::vector<RetrievalSummary> summary;
  std::vector<RetrievalComparison> comparisons;  // "tests" in JSON
  std::vector<PublishedAccuracy> published;
  std::vector<RetrievalHeatMap> heat_maps;
  std::vector<ScoreRow> rows;  // one per arm

  bool bounds_hold() const;  // no measured row breaks the bound that was certified for its head
};

// The directory of a request's run.
std::string directory_of(const RetrievalRequest& request);

// How far the run in the directory of a request has come. Throws Error.
RunStatus status_of(const RetrievalRequest& request);

// Throws Error, and Interrupted if the listener does; checkpoints and finished tests are then in the directory. The directory
// gets results.json too. Processes that a launcher started (srun, mpirun, torchrun) join each other;
// those that test a head work on every set together, over MPI.
RetrievalResult retrieve(const RetrievalRequest& request, Listener& listener = nobody());

Json to_json(const RetrievalResult& result);         // schema sharpmax.retrieval/1
RetrievalResult retrieval_result(const Json& json);  // throws Error{bad_file}
std::string to_csv(const RetrievalResult& result);   // one line per entry of `results`, below the names of its columns

}  // namespace sharpmax
