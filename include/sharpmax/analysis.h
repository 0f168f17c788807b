// analyze_model(): the five analyses of paper B (arXiv 2508.17821) on every head of a model, and which of its findings hold.
//
// A row sees n keys with weights a_i and vectors x_i; y_i = a_i x_i, and s is the sum of y over the N keys selected. The
// distance of the selection from the keys left out has two readings: "sum", the sum over those keys of |s - y_i|, and
// "norm", |sum over those keys of y_i - s|. Both are measured. Every number of the result has six digits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sharpmax/audit.h"

namespace sharpmax {

// Choices of an analysis.
struct AnalysisChoices {
  std::string analysis;
  std::string vectors = "values", distance = "sum";
  std::int64_t chunks = 1, length_top = 5;
  std::vector<std::int64_t> tops;
  std::int64_t critical_most = 100;
  std::vector<std::int64_t> critical_lengths;
  double level = 0.01;
  std::int64_t subsets = 25;
  int draws = 1;
  std::uint64_t seed = 1;

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    constexpr std::string_view kGroup = "Analyses of arXiv 2508.17821";
    const Domain count = range(1, 1 << 20);
    visit(common({"analysis", "LIST", kGroup,
                  "Analyses, with commas: distance-length, distance-top, critical-top, separability, gradient; or all"}),
          self.analysis);
    visit({"vectors", "values|hidden", kGroup, "Vectors that are weighted: values, or hidden states before the layer",
           one_of({"values", "hidden"})},
          self.vectors);
    visit({"distance", "sum|norm", kGroup,
           "Distance that is judged: the distances of the keys left out, summed, or the distance of their sum",
           one_of({"sum", "norm"})},
          self.distance);
    visit({"chunks", "N", kGroup, "Parts of the text to read, L tokens each", count}, self.chunks);
    visit({"length_top", "N", kGroup, "Keys selected in distance-length", count}, self.length_top);
    visit({"tops", "N,N...", kGroup, "Keys selected in distance-top (default 1,5,10,20,100)", count}, self.tops);
    visit({"critical_most", "N", kGroup, "Largest number of keys that critical-top tries", count}, self.critical_most);
    visit({"critical_lengths", "N,N...", kGroup, "Lengths of critical-top (default 64, 128, ... to L)", range(2, 1 << 20)},
          self.critical_lengths);
    visit({"level", "P", kGroup, "Level of the Kolmogorov-Smirnov test of critical-top", range(1e-9, 0.5)}, self.level);
    visit({"subsets", "N", kGroup, "Subsets of 144 heads, the paper's number, on which critical-top is repeated",
           range(1, 10000)},
          self.subsets);
    visit({"draws", "N", kGroup, "Random selections of keys for every row", range(1, 10000)}, self.draws);
    visit({"seed", "N", kGroup, "Seed of everything that is drawn"}, self.seed);
  }
};

struct AnalysisRequest {
  ModelRequest model;  // its block is not used: the rows of a layer are analyzed together
  TextRequest text;
  std::vector<std::int64_t> lengths;  // of distance-length; the largest is L
  AnalysisChoices choices;
  Saving saving;  // an analysis cannot be resumed
  std::string command;  // for the results; empty: made from the fields

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    ModelRequest::each_field(self.model, visit);
    each_choice(self, visit);
    Saving::each_field(self.saving, visit);
  }
  // What the results depend on beside the model.
  template <class Self, class Visit>
  static void each_choice(Self& self, const Visit& visit) {
    TextRequest::each_field(self.text, visit);
    visit({"lengths", "N,N...", "Analyses of arXiv 2508.17821",
           "Lengths of distance-length, the largest is L (default 32, 64, ... 1024)", range(kLeastLength, 1 << 30)},
          self.lengths);
    AnalysisChoices::each_field(self.choices, visit);
  }
};

// Over the heads that have a value; not-a-number if none has.
struct HeadSpread {
  double mean = 0, lower_quartile = 0, median = 0, upper_quartile = 0, highest = 0;

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("mean", self.mean);
    visit("lower_quartile", self.lower_quartile);
    visit("median", self.median);
    visit("upper_quartile", self.upper_quartile);
    visit("highest", self.highest);
  }
};

// One reading of the distance at one L and N.
struct DistancePoint {
  std::int64_t length = 0, top = 0;
  HeadSpread chosen;        // the N keys with most weight are selected
  HeadSpread drawn;         // N keys at random are: the mean of some draws
  HeadSpread drawn_bound;   // closed form, at least the expectation of `drawn`
  HeadSpread chosen_bound;  // at least `chosen`, by theorem 1.1

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("length", self.length);
    visit("top", self.top);
    visit("chosen", self.chosen);
    visit("drawn", self.drawn);
    visit("drawn_bound", self.drawn_bound);
    visit("chosen_bound", self.chosen_bound);
  }
};

// The same in both readings of the distance.
template <class T>
struct BothReadings {
  T sum, norm;

  const T& of(std::string_view distance) const { return distance == "norm" ? norm : sum; }

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("sum", self.sum);
    visit("norm", self.norm);
  }
};

// One head: means over rows, one for each L or N.
struct HeadDistances {
  std::vector<double> chosen, drawn, drawn_bound;

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("chosen", self.chosen);
    visit("drawn", self.drawn);
    visit("drawn_bound", self.drawn_bound);
  }
};
struct HeadByTop {
  HeadPlace place;
  BothReadings<HeadDistances> distances;

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("layer", self.place.layer);
    visit("head", self.place.head);
    BothReadings<HeadDistances>::each_member(self.distances, visit);
  }
};
struct HeadByLength : HeadByTop {
  double exponent = 0, r2 = 0;  // of a power law in L

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    HeadByTop::each_member(self, visit);
    visit("exponent", self.exponent);
    visit("r2", self.r2);
  }
};

struct DistanceLength {
  std::int64_t top = 0;  // N
  std::vector<std::int64_t> lengths;
  BothReadings<std::vector<DistancePoint>> points;
  std::vector<HeadByLength> heads;

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("top", self.top);
    visit("lengths", self.lengths);
    visit("points", self.points);
    visit("heads", self.heads);
  }
};

struct DistanceTop {
  std::int64_t length = 0;  // L
  std::vector<std::int64_t> tops;
  BothReadings<std::vector<DistancePoint>> points;     // over the rows that leave a key out at this N
  std::int64_t same_rows_from = 0;                     // the first row that leaves a key out at every N
  BothReadings<std::vector<DistancePoint>> same_rows;  // over the rows from there on
  std::vector<HeadByTop> heads;

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("length", self.length);
    visit("tops", self.tops);
    visit("points", self.points);
    visit("same_rows_from", self.same_rows_from);
    visit("same_rows", self.same_rows);
    visit("heads", self.heads);
  }
};

// Critical N of subsets of the heads, so that models with different numbers of heads compare. None: not found.
struct SubsetTops {
  std::int64_t heads = 0;  // of a subset
  std::vector<std::optional<std::int64_t>> tops;
  std::optional<std::int64_t> median, lowest, highest;

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("heads", self.heads);
    visit("tops", self.tops);
    visit("median", self.median);
    visit("lowest", self.lowest);
    visit("highest", self.highest);
  }
};

// The N from which on the test does not distinguish the keys with most weight from keys at random.
struct CriticalPoint {
  std::int64_t length = 0;               // L
  std::optional<std::int64_t> critical;  // the first N with p >= level
  std::int64_t largest_tried = 0;
  std::optional<SubsetTops> subsets;  // none: the model has too few heads
  std::vector<std::int64_t> tops;     // N that were tried
  std::vector<double> statistic, p;   // of each

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("length", self.length);
    visit("critical", self.critical);
    visit("largest_tried", self.largest_tried);
    visit("subsets", self.subsets);
    visit("tops", self.tops);
    visit("statistic", self.statistic);
    visit("p", self.p);
  }
};
struct CriticalCurves {
  std::vector<CriticalPoint> against_drawn, against_drawn_bound;

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("against_drawn", self.against_drawn);
    visit("against_drawn_bound", self.against_drawn_bound);
  }
};
struct CriticalTops {
  double level = 0;
  std::string test;
  BothReadings<CriticalCurves> curves;
  std::vector<std::int64_t> tops;
  std::vector<HeadByTop> heads;

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("level", self.level);
    visit("test", self.test);
    BothReadings<CriticalCurves>::each_member(self.curves, visit);
    visit("tops", self.tops);
    visit("heads", self.heads);
  }
};

// Share of the N keys selected that can be told apart from those left out.
struct SeparabilityPoint {
  std::int64_t top = 0;
  HeadSpread share;
  HeadSpread bound;    // at most the share, by theorem 2; at or below 0 it says nothing
  HeadSpread counted;  // at most the share, from the same reaches by counting

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("top", self.top);
    visit("share", self.share);
    visit("bound", self.bound);
    visit("counted_bound", self.counted);
  }
};
struct HeadShares {
  HeadPlace place;
  std::vector<double> share;  // by N

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("layer", self.place.layer);
    visit("head", self.place.head);
    visit("share", self.share);
  }
};
struct SeparabilityCurve {
  std::int64_t length = 0;  // L
  std::vector<std::int64_t> tops;
  std::vector<SeparabilityPoint> points;
  std::vector<HeadShares> heads;

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("length", self.length);
    visit("tops", self.tops);
    visit("points", self.points);
    visit("heads", self.heads);
  }
};

// Change of the weights for a step of the scores in a random direction, divided by the step.
struct GradientPoint {
  double temperature = 0, step = 0;
  HeadSpread g;                // the paper's curve is the highest
  double bound = 0;            // no row of softmax exceeds it; not-a-number if a head has another normalizer
  double published_bound = 0;  // as the paper states it, which rows can exceed

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("step", self.step);
    visit("temperature", self.temperature);
    visit("g", self.g);
    visit("bound", self.bound);
    visit("published_bound", self.published_bound);
  }
};
struct HeadGradients {
  HeadPlace place;
  std::vector<std::vector<double>> g;  // [step, temperature]

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("layer", self.place.layer);
    visit("head", self.place.head);
    visit("g", self.g);
  }
};
struct GradientCurve {
  std::int64_t length = 0;  // L
  std::vector<double> temperatures, steps;
  std::vector<GradientPoint> points;  // by step, then temperature
  std::vector<HeadGradients> heads;

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("length", self.length);
    visit("temperatures", self.temperatures);
    visit("steps", self.steps);
    visit("points", self.points);
    visit("heads", self.heads);
  }
};

// A claim of the paper, judged by a fixed rule.
struct PaperFinding {
  std::string name;                                     // "linear-growth"
  std::string claim;                                    // as the paper has it
  std::string rule;                                     // when it is said to hold
  std::string found;                                    // what was measured, in a sentence
  std::optional<bool> holds;                            // none: what was measured does not decide
  std::vector<std::pair<std::string, double>> figures;  // that the rule depends on
};

struct AnalysisFindings {
  std::string vectors, distance;  // as the request has them
  std::int64_t length = 0, chunks = 0, heads = 0, draws = 0;
  std::uint64_t seed = 0;
  std::vector<std::string> notes;  // what the text did not allow
  std::vector<PaperFinding> findings;
  std::optional<DistanceLength> distance_length;
  std::optional<DistanceTop> distance_top;
  std::optional<CriticalTops> critical_top;
  std::optional<SeparabilityCurve> separability;
  std::optional<GradientCurve> gradient;
};

// What was analyzed, and how. `tokens` are those that the text has, and lists are those that were used.
struct AnalyzedModel {
  ModelSettings model;
  TextRequest text;
  std::vector<std::int64_t> lengths;
  AnalysisChoices choices;

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    AnalysisRequest::each_choice(self, visit);
  }
  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("model", self.model);
    visit.fields(self);
  }
};

struct AnalysisResult {
  Provenance provenance;
  AnalyzedModel settings;
  std::optional<double> seconds;             // none until it is complete
  std::optional<AnalysisFindings> analysis;  // likewise

  bool complete() const { return analysis.has_value(); }
};

// Throws Error, and Interrupted if the listener does; what was measured is then lost.
AnalysisResult analyze_model(const AnalysisRequest& request, Listener& listener = nobody());

Json to_json(const AnalysisResult& result);
AnalysisResult analysis_result(const Json& json);  // throws Error{bad_file}

}  // namespace sharpmax
