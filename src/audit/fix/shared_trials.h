// Trials of `fix` in pieces that processes share: a piece is one chunk, or the questions of one length, of a trial's part.
//
// Pieces of all candidates may be measured in any order. The search over heads is a sequence of trials, each of which
// depends on the one before, so processes share the pieces of one trial at a time.
#pragma once

#include <vector>

#include "audit/fix/fix_run.h"
#include "sweep/shared_job.h"

namespace sharpmax::audit {

class SharedTrials {
 public:
  // fields, measured: as SharedContent has them.
  SharedTrials(const FixPlan& plan, const SharedFields& fields, const Json& measured, const SharedWish& wish,
               Listener& listener);

  // As FixPlan::measure.
  std::vector<Outcome> measure(const std::vector<TrialShare>& shares, const MeasureShare& here);

  SharedJob& job() noexcept { return job_; }

 private:
  // Names and costs of the pieces of a plan, without its material.
  struct Costs {
    explicit Costs(const FixPlan& plan);
    Piece piece(const TrialShare& share) const;
    PiecesByKind all() const;

    std::size_t candidates;  // doing nothing is one of them
    std::int64_t budget;
    std::vector<double> tuning, held_out;  // of each share
  };

  Costs costs_;
  SharedJob job_;
};

}  // namespace sharpmax::audit
