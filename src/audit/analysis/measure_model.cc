#include "audit/analysis/measure_model.h"

#include <fmt/format.h>

#include "audit/analysis/block_analysis.h"
#include "base/threads.h"
#include "sharpmax/error.h"

namespace sharpmax::audit {
namespace {

class Analyst : public model::AttentionObserver {
 public:
  Analyst(HeadMeasurements& found, std::int64_t heads_of_layer, const BlockJob& job,
          const AnalysisProgress& progress)
      : found_(found), heads_of_layer_(heads_of_layer), job_(job), progress_(progress) {}

  void start(std::int64_t chunk) { job_.chunk = chunk; }

  const RowStatistics* wanted(const model::AttentionBlock&) override { return nullptr; }
  void seen(const model::AttentionBlock& block) override {
    found_.plain_softmax &= *block.normalizer == AnyNormalizer(Softmax{});
    const std::int64_t first = block.layer * heads_of_layer_ + block.first_head;
    analyze_block(block, job_,
                  std::span(found_.heads)
                      .subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(block.heads)));
    const auto all = static_cast<std::int64_t>(found_.heads.size());
    if (progress_)
      progress_(static_cast<double>(job_.chunk * all + first + block.heads) /
                static_cast<double>(all * found_.settings.chunks));
  }

 private:
  HeadMeasurements& found_;
  std::int64_t heads_of_layer_;
  BlockJob job_;
  const AnalysisProgress& progress_;
};

}  // namespace

HeadMeasurements measure_heads(model::Session& session, const AnalyzedText& text,
                               const AnalysisSettings& settings, int threads,
                               const AnalysisProgress& progress, const std::function<void()>& pause) {
  HeadMeasurements found;
  const std::int64_t before = text.begin ? 1 : 0;
  found.settings = fitted(settings, {static_cast<std::int64_t>(text.tokens.size()), before}, found.notes);
  found.plan = plan_of(found.settings);
  const std::int64_t length = found.settings.length;
  if (session.block() < length || session.capacity() < length)
    throw Error(ErrorCode::bad_argument,
                fmt::format("analysis: the session takes {} tokens at once and {} at all; it must take {}",
                            session.block(), session.capacity(), length));
  const model::Configuration& c = session.model().configuration();
  for (std::int64_t layer = 0; layer < c.layers; ++layer)
    for (std::int64_t head = 0; head < c.heads; ++head)
      found.heads.emplace_back(HeadPlace{layer, head}, found.plan);
  Analyst analyst(found, c.heads, {&found.plan, found.settings.vectors, 0, threads_for(threads), pause},
                  progress);
  const model::Watching watching(session, analyst);
  for (std::int64_t chunk = 0; chunk < found.settings.chunks; ++chunk) {
    session.rewind(0);
    analyst.start(chunk);
    std::vector<model::Token> tokens;
    if (text.begin) tokens.push_back(*text.begin);
    const auto first = text.tokens.begin() + chunk * (length - before);
    tokens.insert(tokens.end(), first, first + (length - before));
    session.feed(tokens);
  }
  return found;
}

}  // namespace sharpmax::audit
