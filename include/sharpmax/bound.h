// bound(), bound_model(): how sharp attention can be at all. These are bounds for every input, not measurements.
//
// bound() takes the largest spread of a row's scores as given. bound_model() derives one per head from the weights of a
// model. docs/design/theory.md has the formulas.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sharpmax/model.h"
#include "sharpmax/sweep.h"

namespace sharpmax {

inline constexpr const char* kBoundSchema = "sharpmax.bound.spread/1";
inline constexpr const char* kModelBoundSchema = "sharpmax.bound.model/1";

// File for results that are written once, at the end.
struct ResultFile {
  std::string json;
  bool overwrite = false;

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    visit(common({"json", "FILE", "Results",
                  "File for the results as JSON; - is standard output", {}, Field::Kind::output}),
          self.json);
    visit({"overwrite", "", "Results", "Replace existing files of another kind; an input is never replaced"}, self.overwrite);
  }
};

struct BoundRequest {
  std::optional<double> spread;
  std::vector<double> n = {16384};
  std::vector<std::string> normalizer;  // empty, or "all": every member of the family
  std::optional<double> peak;
  double beta = 1.0;
  std::optional<double> level;
  ResultFile file;
  std::string command;  // for the results; empty: made from the fields

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    each_choice(self, visit);
    visit(common({"n", "N,N...", "Bounds", "Numbers of keys, whole, up to 1e300"}), self.n);
    visit(common({"normalizer", "TEXT", "Bounds", "Normalizer to bound; repeatable (default: all)", {},
                  Field::Kind::normalizer}),
          self.normalizer);
    ResultFile::each_field(self.file, visit);
  }
  // What all bounds depend on.
  template <class Self, class Visit>
  static void each_choice(Self& self, const Visit& visit) {
    visit(common({"spread", "X", "Bounds", "Largest difference between two scores of a row"}), self.spread);
    visit(common({"peak", "W", "Bounds",
                  "Peak weight; adds the n at which it is lost, and up to which it is certain"}), self.peak);
    visit({"beta", "X", "Bounds", "Factor of every score: 1 / temperature"}, self.beta);
    visit({"level", "X", "Bounds",
           "Lowest score, for normalizers that change when all scores move together (default: minus half the spread)"},
          self.level);
  }
};

struct BoundRange {
  double low = 0, high = 0;  // NaN if no row has any weight

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("low", self.low);
    visit("high", self.high);
  }
};

// Every weight of softmax over n keys: exp(-+spread) / n as paper A has it, and the tight form.
struct SoftmaxBound {
  double n = 0;
  BoundRange published, tight;

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("n", self.n);
    visit("published", self.published);
    visit("tight", self.tight);
  }
};

// From 10^log10_n keys on, no key has the weight `peak` under softmax.
struct SoftmaxLoss {
  double peak = 0.5;
  double log10_n = 0, log10_n_published = 0;

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("peak", self.peak);
    visit("log10_n", self.log10_n);
    visit("log10_n_published", self.log10_n_published);
  }
};

// The largest weight of a row of n keys under one normalizer: what the worst and the best row give it.
struct PeakBound {
  double n = 0;
  BoundRange share;       // of the largest weight in the sum of all
  double untied_low = 0;  // share.low over rows with one first place
  double ceiling = 0;     // no row's share is above this; share.high unless that was found by search
  BoundRange weight;      // as it is used
  std::string found_by;   // "closed form" or "search": share.high is then the best row that was found
  bool sums_to_one = true;
  bool moves_with_level = false;  // changes when all scores move together

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("n", self.n);
    visit("share", self.share);
    visit("untied_low", self.untied_low);
    visit("ceiling", self.ceiling);
    visit("weight", self.weight);
    visit("found_by", self.found_by);
    visit("sums_to_one", self.sums_to_one);
    visit("moves_with_level", self.moves_with_level);
  }
};

// Numbers of keys at which a peak weight is lost; each is empty if there is none.
struct PeakLossBound {
  std::optional<double> lost;      // the least n at which no row can have the peak
  std::optional<double> regained;  // the least n above it at which some row can have it again
  std::optional<double> sure;      // the largest n up to which every row with one first place has it

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("lost", self.lost);
    visit("regained", self.regained);
    visit("sure", self.sure);
  }
};

struct NormalizerBounds {
  std::string normalizer;
  std::optional<std::string> refused;  // why there are no bounds for it
  std::vector<PeakBound> ranges;       // by n
  std::optional<PeakLossBound> loss;   // if a peak was asked for

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("normalizer", self.normalizer);
    visit.optional("refused", self.refused);
    visit("ranges", self.ranges);
    visit.optional("loss", self.loss);
  }
};

struct BoundResult {
  Provenance provenance;
  double spread = 0, beta = 1;
  std::optional<double> peak, level;
  std::pair<double, double> scores;  // lowest and highest, times beta
  std::vector<SoftmaxBound> softmax;  // by n
  SoftmaxLoss softmax_lost;
  std::vector<NormalizerBounds> normalizers;

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    BoundRequest::each_choice(self, visit);
  }
  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit.fields(self);
    visit("scores", self.scores);
    visit("softmax", self.softmax);
    visit("softmax_lost", self.softmax_lost);
    visit("normalizers", self.normalizers);
  }
};

// Throws Error.
BoundResult bound(const BoundRequest& request, Listener& listener = nobody());

Json to_json(const BoundResult& result);     // schema sharpmax.bound.spread/1
BoundResult bound_result(const Json& json);  // throws Error{bad_file}

struct ModelBoundRequest {
  ModelRequest model;  // of it: the model, its positions, threads
  double peak = 0.5;
  double beta = 1.0;
  ResultFile file;
  Sharing sharing;
  bool resume = false;
  std::string command;  // for the results; empty: made from the fields

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    each_model_field(self, visit);
    each_choice(self, visit);
    ResultFile::each_field(self.file, visit);
  }
  // What the bounds of a model depend on beside its positions.
  template <class Self, class Visit>
  static void each_choice(Self& self, const Visit& visit) {
    visit(common({"peak", "W", "Bounds", "Peak weight that is to be lost, above 0 and below 1"}), self.peak);
    visit({"beta", "X", "Bounds", "Factor of every score: 1 / temperature"}, self.beta);
  }
  // Those that a BoundRequest does not have.
  template <class Self, class Visit>
  static void each_model_field(Self& self, const Visit& visit) {
    ModelRequest::each_source(self.model, visit);
    ModelRequest::each_rope(self.model, visit);
    ModelRequest::each_thread(self.model, visit);
    Sharing::each_field(self.sharing, visit);
    visit({"resume", "", "Run", "Go on with the job in the directory"}, self.resume);
  }
};

struct AttainedToken {
  std::int64_t token = 0;
  std::string text;
  std::optional<std::int64_t> offset;  // tokens before the query, of a key

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("token", self.token);
    visit("text", self.text);
    visit.optional("offset", self.offset);
  }
};

// A row of layer 0 that some text has: its query, and the keys of its highest and lowest score.
struct AttainedRow {
  std::int64_t length = 0;
  double spread = 0;
  double peak = 0;  // largest weight that a text of this length was found to give
  AttainedToken query, high, low;

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("length", self.length);
    visit("spread", self.spread);
    visit("peak", self.peak);
    visit("query", self.query);
    visit("high", self.high);
    visit("low", self.low);
  }
};

struct HeadBound {
  std::int64_t layer = 0, head = 0;
  std::optional<std::int64_t> window;       // keys that a query sees at most
  double norm_spread = 0;                   // certified over all inputs of the size that the norm leaves
  double norm_reached = 0;                  // by some such inputs, which no text need have
  std::optional<double> vocabulary_spread;  // layer 0, rotary positions: certified over all pairs of tokens
  double spread = 0;                        // the smaller: no row of this head spreads further
  double log10_length = 0;                  // from 10^this tokens on, no key has the weight `peak`
  bool useful = false;                      // the length lies within the horizon and the window
  std::optional<AttainedRow> attained;

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("layer", self.layer);
    visit("head", self.head);
    visit("window", self.window);
    visit("norm_spread", self.norm_spread);
    visit("norm_reached", self.norm_reached);
    visit("vocabulary_spread", self.vocabulary_spread);
    visit("spread", self.spread);
    visit("log10_length", self.log10_length);
    visit("useful", self.useful);
    visit("attained", self.attained);
  }
};

struct ModelBoundResult {
  Provenance provenance;
  ModelSettings model;  // cache and normalizers are not part of it
  double peak = 0.5, beta = 1;
  double horizon = 0;  // tokens up to which a length is useful: a million, or the trained context if that is longer
  double seconds = 0;
  std::string verdict;           // in two sentences
  std::vector<HeadBound> heads;  // by layer and head

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    ModelBoundRequest::each_choice(self, visit);
    ModelRequest::each_rope(self.model, visit);
  }
};

// Throws Error, and Interrupted if the listener does.
ModelBoundResult bound_model(const ModelBoundRequest& request, Listener& listener = nobody());

// How far the job in `sharing.directory` is. Throws RequestError if there is none.
RunStatus status_of(const ModelBoundRequest& request);

Json to_json(const ModelBoundResult& result);           // schema sharpmax.bound.model/1
ModelBoundResult model_bound_result(const Json& json);  // throws Error{bad_file}

}  // namespace sharpmax
