// Verbs: jobs with the files that they write and the text that they show, as the command line and Python ask for them.
//
// A verb lists its fields once, in each_field(): the command line makes its options from the list (door.h), Python its
// keywords (python/src/jobs.cc). check() refuses what cannot succeed before any work is done; run() does the work.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "job/call_files.h"
#include "job/field_values.h"
#include "job/saved_results.h"
#include "report/report_files.h"
#include "sharpmax/analysis.h"
#include "sharpmax/bound.h"
#include "sharpmax/fit.h"
#include "sharpmax/fix.h"
#include "sharpmax/generate.h"
#include "sharpmax/inspect.h"
#include "sharpmax/perplexity.h"
#include "sharpmax/probe.h"
#include "sharpmax/report.h"
#include "sharpmax/retrieval.h"
#include "sharpmax/tokenize.h"
#include "sharpmax/train.h"

namespace sharpmax::cli {

// Names of the fields that a caller gave.
using Given = std::set<std::string, std::less<>>;

struct Caller {
  Listener& listener;
  Given given;
  std::string command;         // that was typed; empty: made from the fields
  bool reads_results = false;  // they go on, not only their text
  bool streams_text = false;   // generated text was heard as it came
};

// What a verb found. Files are written already.
struct Outcome {
  Json results;
  std::function<std::string(bool colour)> text;  // for people
  bool ok = true;                                // no check failed
  bool interrupted = false;                      // results are those of the time before
  std::string csv = {};
  std::string (*written)(const Json& results) = results_text;  // as --json has them
};

// Results of a job that saves none itself: a verb writes them when it is done.
struct Tables {
  std::string json, csv;
  std::string_view lines;  // meaning of csv

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    visit(common({"json", "FILE", "Results", "File for the results as JSON; - is standard output", {},
                  Field::Kind::output}),
          self.json);
    visit({"csv", "FILE", "Results", self.lines, {}, Field::Kind::output}, self.csv);
  }
};

// Before a job: adds tables to the files of a call.
void declare_tables(CallFiles& call, const Tables& tables, std::string_view schema, std::string_view csv_header);
// After it.
void deliver_tables(const Tables& tables, const Outcome& outcome);

// The text for people of results that have a view, and what follows it.
std::function<std::string(bool colour)> shown_text(Json results, std::string next, Rows rows = Rows::first);

// The text of a request as a word of a command; "-" if it has no file.
inline std::string text_word(const TextRequest& text) { return text.text.empty() ? "-" : quoted_word(text.text); }

// Before a job: throws if its page, figures or tables could not be written, or would replace one of its files.
void check_pictures(CallFiles call, const ReportFiles& files);

// Asks how far a run has come, in place of working on it.
inline Field status_field() {
  return {"status", "", "Run", "Show how far the run in the directory is and who works on it, and do nothing else"};
}
Outcome status_outcome(const RunStatus& status);

struct RetrieveVerb {
  static constexpr const char* kName = "retrieve";
  static const char* const kSummary;
  static const char* const kFooter;
  static constexpr bool kSweeps = true;  // several processes share its run
  RetrievalRequest request;
  bool status = false;
  Tables tables{.lines = "File for one line per head, size and normalizer; - is standard output"};
  ReportFiles pictures;

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    RetrievalRequest::each_field(self.request, visit);
    visit(status_field(), self.status);
    Tables::each_field(self.tables, visit);
    ReportFiles::each_field(self.pictures, visit);
  }
  void check(const Given& given) const;
  Outcome run(const Caller& caller);
};

struct FitVerb {
  static constexpr const char* kName = "fit";
  static const char* const kSummary;
  static const char* const kFooter;
  FitRequest request;
  Tables tables{.lines = "File for one line per fitted set; - is standard output"};
  ReportFiles pictures;
  bool overwrite = false;

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    FitRequest::each_field(self.request, visit);
    Tables::each_field(self.tables, visit);
    ReportFiles::each_field(self.pictures, visit);
    visit({"overwrite", "", "Results", "Replace existing files of another kind; an input is never replaced"},
          self.overwrite);
  }
  void check(const Given& given) const;
  Outcome run(const Caller& caller);
};

struct InspectVerb {
  static constexpr const char* kName = "inspect";
  static const char* const kSummary;
  static const char* const kFooter;
  InspectRequest request;
  bool tensors = false;
  ResultFile file;
  ReportFiles pictures;

  ModelRequest& model() { return request.model; }

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    InspectRequest::each_field(self.request, visit);
    visit(common({"tensors", "", "", "Show every tensor (default: one line for those that differ in the layer alone)"}),
          self.tensors);
    ResultFile::each_field(self.file, visit);
    ReportFiles::each_field(self.pictures, visit);
  }
  void check(const Given& given) const;
  Outcome run(const Caller& caller);
};

struct TokenizeVerb {
  static constexpr const char* kName = "tokenize";
  static const char* const kSummary;
  static const char* const kFooter;
  TokenizeRequest request;
  bool all = false;
  ResultFile file;

  ModelRequest& model() { return request.model; }
  TextRequest& text() { return request.text; }

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    TokenizeRequest::each_field(self.request, visit);
    visit({"all", "", "Results", "Print every token (default: the first 40)"}, self.all);
    ResultFile::each_field(self.file, visit);
  }
  void check(const Given& given) const;
  Outcome run(const Caller& caller);
};

struct RunVerb {
  static constexpr const char* kName = "run";
  static const char* const kSummary;
  static const char* const kFooter;
  GenerateRequest request;
  ResultFile file;
  bool quiet = false;

  ModelRequest& model() { return request.model; }

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    GenerateRequest::each_field(self.request, visit);
    ResultFile::each_field(self.file, visit);
    visit(common({"quiet", "", "Results", "Leave out the line of times at the end"}), self.quiet);
  }
  void check(const Given& given) const;
  Outcome run(const Caller& caller);
};

// A job on a model and a text whose run several processes share.
template <class Request>
struct SharedOnText {
  static constexpr bool kSweeps = true;
  Request request;
  bool status = false;
  ReportFiles pictures;

  ModelRequest& model() { return request.model; }
  TextRequest& text() { return request.text; }

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    Request::each_field(self.request, visit);
    visit(status_field(), self.status);
    ReportFiles::each_field(self.pictures, visit);
  }
};

struct PerplexityVerb : SharedOnText<PerplexityRequest> {
  static constexpr const char* kName = "perplexity";
  static const char* const kSummary;
  static const char* const kFooter;
  void check(const Given& given) const;
  Outcome run(const Caller& caller);
};

// The three forms of an audit. Fields that forms have in common are in `audit`.
struct AuditVerb {
  static constexpr const char* kName = "audit";
  static const char* const kSummary;
  static const char* const kFooter;
  static constexpr bool kSweeps = true;
  AuditRequest audit;
  AnalysisChoices analysis;
  ProbeQuestions probe;
  bool all = false;
  std::string head;
  bool status = false;
  ReportFiles pictures;

  ModelRequest& model() { return audit.model; }
  TextRequest& text() { return audit.text; }

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    AuditRequest::each_field(self.audit, visit);
    visit({"all", "", "Results", "Print every head, not only the worst"}, self.all);
    visit(common({"head", "LAYER.HEAD", "Results", "Head to print at every length, counted from 0"}), self.head);
    visit(status_field(), self.status);
    ReportFiles::each_field(self.pictures, visit);
    AnalysisChoices::each_field(self.analysis, visit);
    ProbeQuestions::each_field(self.probe, visit);
  }
  void check(const Given& given) const;
  Outcome run(const Caller& caller);

 private:
  AnalysisRequest analysis_request() const;
  ProbeRequest probe_request() const;
  Outcome run_by_length(const Caller& caller);
};

// Bounds of a spread, or of a model. Fields that both have are in `spread`.
struct BoundVerb {
  static constexpr const char* kName = "bound";
  static const char* const kSummary;
  static const char* const kFooter;
  static constexpr bool kSweeps = true;
  BoundRequest spread;
  ModelBoundRequest of_model;
  bool all = false;
  bool status = false;
  ReportFiles pictures;

  ModelRequest& model() { return of_model.model; }

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    BoundRequest::each_field(self.spread, visit);
    ModelBoundRequest::each_model_field(self.of_model, visit);
    visit({"all", "", "Results", "Show every head of the model (default: the most certain, and one line per layer)"},
          self.all);
    visit(status_field(), self.status);
    ReportFiles::each_field(self.pictures, visit);
  }
  void check(const Given& given) const;
  Outcome run(const Caller& caller);

 private:
  ModelBoundRequest model_request() const;
  bool is_of_model() const;
};

struct FixVerb : SharedOnText<FixRequest> {
  static constexpr const char* kName = "fix";
  static const char* const kSummary;
  static const char* const kFooter;
  void check(const Given& given) const;
  Outcome run(const Caller& caller);
};

struct TrainVerb {
  static constexpr const char* kName = "train";
  static const char* const kSummary;
  static const char* const kFooter;
  static constexpr bool kSweeps = true;
  TrainRequest request;
  bool status = false;
  std::string json;
  ReportFiles pictures;

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    TrainRequest::each_field(self.request, visit);
    visit(status_field(), self.status);
    visit(common({"json", "FILE", "Results", "File for the results as JSON; - is standard output", {}, Field::Kind::output}),
          self.json);
    ReportFiles::each_field(self.pictures, visit);
  }
  void check(const Given& given) const;
  Outcome run(const Caller& caller);
};

struct ReportVerb {
  static constexpr const char* kName = "report";
  static const char* const kSummary;
  static const char* const kFooter;
  ReportRequest request;

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    ReportRequest::each_field(self.request, visit);
  }
  void check(const Given&) const {}
  Outcome run(const Caller& caller);
};

using Verbs = std::tuple<RetrieveVerb, FitVerb, InspectVerb, TokenizeVerb, RunVerb, PerplexityVerb, AuditVerb, BoundVerb, FixVerb,
                         TrainVerb, ReportVerb>;

// The verb with nothing given, for each in turn.
template <class Visit>
void each_verb(const Visit& visit) {
  std::apply([&](auto&&... verb) { (visit(verb), ...); }, Verbs{});
}

}  // namespace sharpmax::cli
