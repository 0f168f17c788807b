// Row functions compiled for every instruction set; the best the machine has is called.
#include "attention/rows/row.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention/rows/row_dispatch.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "attention/rows/backward-inl.h"
#include "attention/rows/resolve-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {

std::size_t VectorLanes() { return hn::Lanes(FloatTag()); }

void DispatchedResolveRow(const RowTask& task, const RowWishes& wishes, const ScoreRow& row,
                          RowWorkspace& workspace, RowOutcome& outcome) {
  ResolveRow(task, wishes, row, workspace, outcome);
}

void DispatchedBackwardRow(const RowTask& task, const ScoreRow& scores, const ScoreRow& d_weights,
                           RowWorkspace& workspace, std::span<double> d_parameters) {
  BackwardRow(task, scores, d_weights, workspace, d_parameters);
}

void DispatchedResolveRows(std::span<const RowTask> tasks, const RowWishes& wishes, std::span<const ScoreRow> rows,
                           RowWorkspace& workspace, RowOutcome& outcome, RowSink& sink) {
  ResolveRows(tasks, wishes, rows, workspace, outcome, [&](std::size_t i) { sink.take(i, outcome); });
}

void DispatchedBackwardRows(std::span<const RowTask> tasks, std::span<const ScoreRow> scores,
                            std::span<const ScoreRow> d_weights, RowWorkspace& workspace,
                            std::span<double> d_parameters) {
  const std::size_t parameters = scores.empty() ? 0 : d_parameters.size() / scores.size();
  for (std::size_t i = 0; i < scores.size(); ++i) {
    BackwardRow(tasks[i], scores[i], d_weights[i], workspace, d_parameters.subspan(i * parameters, parameters));
  }
}

void VectorExponential(std::span<float> values, double beta) {
  const FloatTag d;
  const Exponential exponential(beta);
  for (std::size_t i = 0; i < values.size(); i += hn::Lanes(d))
    hn::StoreU(exponential(hn::LoadU(d, values.data() + i)), d, values.data() + i);
}

void VectorLogarithm(std::span<float> values) {
  const FloatTag d;
  for (std::size_t i = 0; i < values.size(); i += hn::Lanes(d))
    hn::StoreU(logarithm(hn::LoadU(d, values.data() + i)), d, values.data() + i);
}

void VectorSoftCap(std::span<float> values, std::span<float> slopes, double cap) {
  const FloatTag d;
  const SoftCap soft_cap(cap);
  for (std::size_t i = 0; i < values.size(); i += hn::Lanes(d)) {
    Floats slope;
    hn::StoreU(soft_cap(hn::LoadU(d, values.data() + i), slope), d, values.data() + i);
    hn::StoreU(slope, d, slopes.data() + i);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sharpmax {

HWY_EXPORT(VectorLanes);
HWY_EXPORT(DispatchedResolveRow);
HWY_EXPORT(DispatchedBackwardRow);
HWY_EXPORT(DispatchedResolveRows);
HWY_EXPORT(DispatchedBackwardRows);
HWY_EXPORT(VectorExponential);
HWY_EXPORT(VectorLogarithm);
HWY_EXPORT(VectorSoftCap);

std::size_t vector_lanes() { return HWY_DYNAMIC_DISPATCH(VectorLanes)(); }

void resolve_row(const RowTask& task, const RowWishes& wishes, const ScoreRow& row, RowWorkspace& workspace,
                 RowOutcome& outcome) {
  HWY_DYNAMIC_DISPATCH(DispatchedResolveRow)(task, wishes, row, workspace, outcome);
}
void backward_row(const RowTask& task, const ScoreRow& scores, const ScoreRow& d_weights,
                  RowWorkspace& workspace, std::span<double> d_parameters) {
  HWY_DYNAMIC_DISPATCH(DispatchedBackwardRow)(task, scores, d_weights, workspace, d_parameters);
}
void resolve_rows(std::span<const RowTask> tasks, const RowWishes& wishes, std::span<const ScoreRow> rows,
                  RowWorkspace& workspace, RowOutcome& outcome, RowSink& sink) {
  HWY_DYNAMIC_DISPATCH(DispatchedResolveRows)(tasks, wishes, rows, workspace, outcome, sink);
}
void backward_rows(std::span<const RowTask> tasks, std::span<const ScoreRow> scores,
                   std::span<const ScoreRow> d_weights, RowWorkspace& workspace, std::span<double> d_parameters) {
  HWY_DYNAMIC_DISPATCH(DispatchedBackwardRows)(tasks, scores, d_weights, workspace, d_parameters);
}
void vector_exponential(std::span<float> values, double beta) {
  HWY_DYNAMIC_DISPATCH(VectorExponential)(values, beta);
}
void vector_logarithm(std::span<float> values) { HWY_DYNAMIC_DISPATCH(VectorLogarithm)(values); }
void vector_soft_cap(std::span<float> values, std::span<float> slopes, double cap) {
  HWY_DYNAMIC_DISPATCH(VectorSoftCap)(values, slopes, cap);
}

}  // namespace sharpmax
#endif  // HWY_ONCE
