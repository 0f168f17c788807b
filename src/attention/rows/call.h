// Everything a kernel needs to weigh one row whose rule and maximum are known.
#pragma once

#include <cstddef>

#include "attention/rows/row.h"
#include "attention/rows/workspace.h"

namespace sharpmax {

struct RowCall {
  const RowTask& task;
  const RowWishes& wishes;
  const ScoreRow& row;
  const Rule& rule;
  float max;        // the largest score, finite
  float few_above;  // scores that few, or some, of the keys exceed: rows/scan-inl.h
  float some_above;
  float least;  // of the unmasked scores, where gaps or spread are wanted
  double keys;  // unmasked
  RowWorkspace& workspace;
  RowOutcome& out;

  std::size_t size() const noexcept { return row.chunks * row.lanes; }
};

// What became of a row.
enum class Weighed {
  done,
  poisoned,  // a score was NaN
  not_here,  // untouched: only the specification can do it
};

}  // namespace sharpmax
