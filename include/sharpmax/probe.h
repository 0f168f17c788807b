// probe_model(): questions of known answer at several lengths: how often a model is right, and which heads look at the right
// item.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sharpmax/audit.h"
#include "sharpmax/sweep.h"

namespace sharpmax {

// The questions.
struct ProbeQuestions {
  std::string probe;
  std::int64_t questions = 40;
  bool chat = false;
  std::uint64_t question_seed = 0;

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    constexpr std::string_view kGroup = "Probe";
    visit(common({"probe", "KIND", kGroup, "Question of known answer: max (of a sequence) or lookup (of a key)",
                  one_of({"max", "lookup"})}),
          self.probe);
    visit(common({"questions", "N", kGroup, "Number of questions at each length", range(1, 1 << 20)}), self.questions);
    visit({"chat", "", kGroup, "Ask in the model's chat template"}, self.chat);
    visit({"question_seed", "N", kGroup, "Seed of the questions (default 0)"}, self.question_seed);
  }
};

struct ProbeRequest {
  ModelRequest model;
  std::vector<std::int64_t> lengths;  // empty: 128, 256, ... to 2048 or the context
  ProbeQuestions questions;
  Saving saving;
  Sharing sharing;
  std::string command;  // for the results; empty: made from the fields

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    ModelRequest::each_field(self.model, visit);
    each_choice(self, visit);
    Saving::each_field(self.saving, visit);
    Sharing::each_field(self.sharing, visit);
  }
  // What the answers depend on beside the model.
  template <class Self, class Visit>
  static void each_choice(Self& self, const Visit& visit) {
    visit({"lengths", "N,N...", "Probe",
           "Lengths of the prompts in tokens (default: 128, 256, ... to the context, at most 2048)",
           range(kLeastLength, 1 << 30)},
          self.lengths);
    ProbeQuestions::each_field(self.questions, visit);
  }
};

// Answers at one length. Vectors are [layer, head], means over questions.
struct ProbedLength {
  std::int64_t length = 0;  // asked for
  double tokens = 0;        // mean length of the prompts
  std::int64_t questions = 0, right = 0;
  double low = 0, high = 0;           // Wilson's 95 % interval of the share that is right, as if questions were independent
  std::vector<double> asking_weight;  // of the prompt's last token on the tokens of the right item
  std::vector<double> asking_first;   // how often that token's heaviest key is among them
  // The same weight of the right answer's tokens but the last, read after the prompt: the rows that produce the rest of the
  // answer. For an answer of one token it is asking_weight.
  std::vector<double> answering_weight;
  std::vector<KindSigns> answering_signs;  // over the same rows: on a task a head may be of another kind than on prose
  std::vector<std::string> wrong;          // a few of the wrong answers

  double share() const { return static_cast<double>(right) / static_cast<double>(questions); }
};

// A head and its weight on the right item.
struct ItemHead {
  HeadPlace place;
  double asking_weight = 0, asking_first = 0, answering_weight = 0;
  HeadKind kind = HeadKind::mixed;  // while answering
};
// The heads with most answering_weight, heaviest first. heads: of a layer.
std::vector<ItemHead> best_heads(const ProbedLength& at, std::int64_t heads, std::size_t count);
// Number of heads of a kind while answering.
std::int64_t heads_of(const ProbedLength& at, HeadKind kind);

// What the answers depend on: a probe is resumed only under the same.
struct ProbeSettings {
  ModelSettings model;
  ProbeQuestions questions;
  std::vector<std::int64_t> lengths;  // ascending

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    ProbeRequest::each_choice(self, visit);
  }
  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("model", self.model);
    visit.fields(self);
  }
};

struct ProbeResult {
  Provenance provenance;
  ProbeSettings settings;
  std::vector<ProbedLength> lengths;  // those that are done, in the order of the settings

  bool complete() const { return lengths.size() == settings.lengths.size(); }
};

// Throws Error, and Interrupted if the listener does; finished lengths are then in `saving.json`.
ProbeResult probe_model(const ProbeRequest& request, Listener& listener = nobody());

// How far the probe in `sharing.directory` is. Throws RequestError if there is none.
RunStatus status_of(const ProbeRequest& request);

Json to_json(const ProbeResult& result);
ProbeResult probe_result(const Json& json);  // throws Error{bad_file}

}  // namespace sharpmax
