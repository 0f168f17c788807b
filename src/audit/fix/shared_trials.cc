#include "audit/fix/shared_trials.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "job/saved_results.h"
#include "machine/blas.h"
#include "storage/files.h"

namespace sharpmax::audit {

SharedTrials::Costs::Costs(const FixPlan& plan) : candidates(plan.rules.size() + 1), budget(plan.search_budget) {
  for (const Part part : {Part::tuning, Part::held_out})
    for (std::size_t share = 0; share < plan.material.shares(part); ++share)
      (part == Part::tuning ? tuning : held_out).push_back(static_cast<double>(plan.material.cost(part, share)));
}

// Of the trials of the search only the one that is chosen has a held-out part, so its name needs no place.
Piece SharedTrials::Costs::piece(const TrialShare& share) const {
  const bool is_tuning = share.part == Part::tuning;
  const std::string trial = share.place < candidates || is_tuning ? fmt::format("trial-{}", share.place) : "chosen";
  const std::string name = fmt::format("{}-{}-{}", trial, is_tuning ? "tuning" : "held-out", share.share);
  return {.name = name, .cost = (is_tuning ? tuning : held_out)[share.share], .file = piece_file(name + ".json")};
}

PiecesByKind SharedTrials::Costs::all() const {
  std::vector<Piece> of_candidates, of_search;
  for (std::size_t place = 0; place < candidates; ++place)
    for (const Part part : {Part::tuning, Part::held_out})
      for (std::size_t share = 0; share < (part == Part::tuning ? tuning : held_out).size(); ++share)
        of_candidates.push_back(piece({place, part, share}));
  PiecesByKind kinds = {{"parts of candidates", std::move(of_candidates)}};
  if (budget == 0) return kinds;
  for (std::size_t place = candidates; place < candidates + static_cast<std::size_t>(budget); ++place)
    for (std::size_t share = 0; share < tuning.size(); ++share) of_search.push_back(piece({place, Part::tuning, share}));
  for (std::size_t share = 0; share < held_out.size(); ++share)
    of_search.push_back(piece({candidates, Part::held_out, share}));
  kinds.emplace_back("parts of the search, at most,", std::move(of_search));
  return kinds;
}

SharedTrials::SharedTrials(const FixPlan& plan, const SharedFields& fields, const Json& measured, const SharedWish& wish,
                           Listener& listener)
    : costs_(plan),
      job_({.verb = "fix", .fields = fields, .measured = measured, .pieces = costs_.all(), .blas = blas_description()}, wish,
           listener) {}

std::vector<Outcome> SharedTrials::measure(const std::vector<TrialShare>& shares, const MeasureShare& here) {
  std::vector<Piece> pieces;
  for (const TrialShare& share : shares) pieces.push_back(costs_.piece(share));
  job_.carry_out(pieces, [&](std::size_t piece) {
    write_text(job_.path_of(pieces[piece]), outcome_json(here(shares[piece])).dump() + "\n");
  });
  std::vector<Outcome> outcomes;
  for (const Piece& piece : pieces) {
    const std::filesystem::path file = job_.path_of(piece);
    try {
      outcomes.push_back(outcome_in(parse_json(read_text(file), file.string())));
    } catch (const Json::exception& error) {
      throw Error(ErrorCode::bad_file, fmt::format("{}: not the outcome of a trial: {}; delete it to measure it again",
                                                   file.string(), error.what()));
    }
  }
  return outcomes;
}

}  // namespace sharpmax::audit
