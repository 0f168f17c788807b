// Runs that several processes share: their progress, and the processes at work.
//
// retrieve() and train_models() keep a run in a directory, in pieces; so do perplexity(), audit_model(), probe_model(),
// fix() and bound_model() if they are given a directory. With `join` any number of processes work on the same run;
// docs/how-to/many-machines.md shows how to start them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sharpmax/job.h"

namespace sharpmax {

inline constexpr const char* kRunStatusSchema = "sharpmax.run-status/1";

// Directory in which a job on a model is kept in pieces, for any number of processes.
struct Sharing {
  std::string directory;
  bool join = false;

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    visit({"directory", "DIR", "Run", "Directory that keeps the job in pieces, which any number of processes may share", {},
           Field::Kind::output},
          self.directory);
    visit({"join", "", "Run",
           "Work on the job in the directory together with other processes; its settings need not be given"},
          self.join);
  }
};

// Pieces of one kind: heads or models to train, tests, excerpts to read.
struct PieceCount {
  std::string kind;                               // "heads", "tests", "excerpts"
  std::int64_t total = 0, done = 0, at_work = 0;  // the rest is left

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("kind", self.kind);
    visit("total", self.total);
    visit("done", self.done);
    visit("at_work", self.at_work);
  }
};

// Piece that a process works on now. An empty host: the process could not write its name.
struct PieceAtWork {
  std::string piece, host;
  std::int64_t process = 0;
  std::string since;  // UTC, 2026-01-31T23:59:59Z

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("piece", self.piece);
    visit("host", self.host);
    visit("process", self.process);
    visit("since", self.since);
  }
};

struct RunStatus {
  Provenance provenance;
  std::string directory;
  bool finished = false;  // the results are written
  std::vector<PieceCount> pieces;
  std::vector<PieceAtWork> at_work;

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("directory", self.directory);
    visit("finished", self.finished);
    visit("pieces", self.pieces);
    visit("at_work", self.at_work);
  }
};

Json to_json(const RunStatus& status);     // schema sharpmax.run-status/1
RunStatus run_status(const Json& json);    // throws Error{bad_file}
std::string text_of(const RunStatus& status);  // for people

}  // namespace sharpmax
