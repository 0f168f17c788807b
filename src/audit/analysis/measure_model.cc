#include "audit/analysis/measure_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "attention/oracle/elements.h"
#include "base/numbers.h"
#include "base/threads.h"
#include "machine/blas.h"
#include "normalizer/of_head.h"
#include "sharpmax/error.h"

namespace sharpmax::audit {
namespace {

// Rows whose scores and products come from one matrix product: enough for it to be fast, few enough that a
// task stays in the cache and two threads end at about the same time.
constexpr std::int64_t kPieceRows = 32;

double divisor(std::int64_t rows) { return rows > 0 ? static_cast<double>(rows) : kNaN; }

}  // namespace

RowSums::RowSums(const RowPlan& plan)
    : distances(plan.distances.tops.size()),
      distance_rows(plan.distances.tops.size()),
      separability(plan.separability_tops.size()),
      separability_rows(plan.separability_tops.size()),
      gradient(plan.gradient.temperatures.size() * plan.gradient.steps.size()) {}

RowSums& RowSums::operator+=(const RowSums& other) {
  for (std::size_t i = 0; i < distances.size(); ++i) {
    distances[i] += other.distances[i];
    distance_rows[i] += other.distance_rows[i];
  }
  for (std::size_t i = 0; i < separability.size(); ++i) {
    separability[i].share += other.separability[i].share;
    separability[i].bound += other.separability[i].bound;
    separability[i].counted += other.separability[i].counted;
    separability_rows[i] += other.separability_rows[i];
  }
  for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] += other.gradient[i];
  gradient_rows += other.gradient_rows;
  return *this;
}

HeadSums::HeadSums(const HeadPlace& at, const RowPlan& plan)
    : place(at), by_length(plan.lengths.size(), RowSums(plan)), common(plan) {}

std::vector<Piece> pieces_of(const RowPlan& plan) {
  std::set<std::int64_t> cuts(plan.lengths.begin(), plan.lengths.end());
  const std::int64_t length = plan.lengths.back();
  if (plan.common_from < length) cuts.insert(plan.common_from);
  for (std::int64_t row = kPieceRows; row < length; row += kPieceRows) cuts.insert(row);
  std::vector<Piece> pieces;
  std::int64_t first = 0;
  for (const std::int64_t cut : cuts) {
    if (cut > first) pieces.push_back({first, cut - first});
    first = cut;
  }
  return pieces;
}

void add_pieces(const RowPlan& plan, std::span<const Piece> pieces, std::span<const RowSums> sums,
                HeadSums& head) {
  RowSums so_far(plan);
  std::size_t next = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    so_far += sums[i];
    if (pieces[i].first >= plan.common_from) head.common += sums[i];
    if (pieces[i].first + pieces[i].rows == plan.lengths[next]) head.by_length[next++] += so_far;
  }
}

Distances mean_distance(const RowSums& sums, std::size_t top) {
  return sums.distances[top].divided_by(divisor(sums.distance_rows[top]));
}

Separability mean_separability(const RowSums& sums, std::size_t top) {
  const double rows = divisor(sums.separability_rows[top]);
  const Separability& sum = sums.separability[top];
  return {sum.share / rows, sum.bound / rows, sum.counted / rows};
}

double mean_gradient(const RowSums& sums, std::size_t at) {
  return sums.gradient[at] / divisor(sums.gradient_rows);
}

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Assignment of the random numbers of a seed.
enum class Purpose : std::uint64_t { selection = 1, direction = 2 };

CounterRandom random_of(const RowPlan& plan, Purpose purpose, std::int64_t chunk, const HeadPlace& place) {
  return {plan.seed, static_cast<std::uint64_t>(purpose) << 56 | static_cast<std::uint64_t>(chunk) << 32 |
                         static_cast<std::uint64_t>(place.layer) << 16 |
                         static_cast<std::uint64_t>(place.head)};
}

// Rows first .. first + rows - 1 of one head, in double: [row, feature].
std::vector<double> rows_of(const AnyTensor<4>& tensor, std::int64_t head, std::int64_t first,
                            std::int64_t rows) {
  const std::int64_t width = tensor.shape[3];
  std::vector<double> out(to_size(rows * width));
  for (std::int64_t i = 0; i < rows; ++i)
    read_row(tensor, {0, head, first + i}, {out.data() + i * width, to_size(width)});
  return out;
}

// The keys of one key head, and the products of the vectors that go with them.
struct KeyHead {
  std::vector<double> keys;  // [key, feature]
  std::vector<double> gram;  // [key, key]
  std::int64_t count = 0, width = 0;

  GramView view(std::int64_t first, std::int64_t last) const {
    return {gram.data() + first * count + first, last - first, count};
  }
};

AnyTensor<4> vectors_of(const model::AttentionBlock& block, Vectors vectors) {
  if (vectors == Vectors::values) return block.request->value;
  const auto& hidden = block.hidden;
  return TensorView<const float, 4>(hidden.data, {1, 1, hidden.shape[0], hidden.shape[1]},
                                    {0, 0, hidden.strides[0], hidden.strides[1]});
}

// gram = x x^T, columns cut over threads by the shape alone.
void fill_gram(const std::vector<double>& x, int threads, KeyHead& key_head) {
  constexpr std::int64_t kRows = 64;
  const std::int64_t n = key_head.count, width = static_cast<std::int64_t>(x.size()) / n;
  key_head.gram.resize(to_size(n * n));
  parallel_for(threads, (n + kRows - 1) / kRows, [&](std::int64_t task, int) {
    const std::int64_t first = task * kRows, rows = std::min(kRows, n - first);
    gemm(1.0, Matrix<const double>(x.data() + first * width, rows, width),
         transpose(Matrix<const double>(x.data(), n, width)), 0.0,
         Matrix<double>(key_head.gram.data() + first * n, rows, n));
  });
}

// What one thread needs for one piece.
struct Workspace {
  RowDistances distances;
  RowSeparability separability;
  std::vector<double> scores, weights, output, direction;  // the first three [row, key]
};

class HeadPiece {
 public:
  HeadPiece(const model::AttentionBlock& block, const BlockJob& job, const KeyHead& key_head,
            const HeadPlace& place, Workspace& workspace)
      : block_(block),
        job_(job),
        plan_(*job.plan),
        key_head_(key_head),
        place_(place),
        w_(workspace),
        normalizer_(normalizer_of_head(*block.normalizer, place.head - block.first_head)),
        gradient_(plan_.gradient, normalizer_) {}

  void run(const Piece& piece, RowSums& sums) {
    keys_ = piece.first + piece.rows;
    weigh(piece);
    for (std::int64_t row = 0; row < piece.rows; ++row) add_row(piece.first + row, row * keys_, sums);
  }

 private:
  // The first key that the query at `position` sees.
  std::int64_t first_key(std::int64_t position) const {
    const std::int64_t left = block_.request->window.left;
    return left < 0 ? 0 : std::max<std::int64_t>(0, position - left);
  }

  // Scores as attend() has them, -infinity where the query does not look; weights; what the row attends to.
  void weigh(const Piece& piece) {
    const AttentionRequest& request = *block_.request;
    const std::int64_t rows = piece.rows, width = key_head_.width;
    const auto queries = rows_of(request.query, place_.head - block_.first_head, piece.first, rows);
    for (auto* const part : {&w_.scores, &w_.weights, &w_.output}) part->resize(to_size(rows * keys_));
    const double scale = request.scale.value_or(1.0 / std::sqrt(static_cast<double>(width)));
    gemm(scale, Matrix<const double>(queries.data(), rows, width),
         transpose(Matrix<const double>(key_head_.keys.data(), keys_, width)), 0.0,
         Matrix<double>(w_.scores.data(), rows, keys_));
    const double cap = request.soft_cap;
    if (cap > 0)
      for (double& e : w_.scores) e = cap * std::tanh(e / cap);
    for (std::int64_t row = 0; row < rows; ++row) {
      double* const scores = w_.scores.data() + row * keys_;
      std::fill(scores, scores + first_key(piece.first + row), -kInfinity);
      std::fill(scores + piece.first + row + 1, scores + keys_, -kInfinity);
    }
    const Extents<4> shape{1, 1, rows, keys_};
    normalize(TensorView<const double, 4>(w_.scores.data(), shape), normalizer_,
              TensorView<double, 4>(w_.weights.data(), shape), nullptr, {.threads = 1});
    if (plan_.distances.tops.empty()) return;
    gemm(1.0, Matrix<const double>(w_.weights.data(), rows, keys_),
         Matrix<const double>(key_head_.gram.data(), keys_, keys_, key_head_.count), 0.0,
         Matrix<double>(w_.output.data(), rows, keys_));
  }

  void add_row(std::int64_t position, std::int64_t at, RowSums& sums) {
    const std::int64_t first = first_key(position), keys = position + 1 - first;
    const WeighedRow row{key_head_.view(first, position + 1), w_.weights.data() + at + first,
                         w_.output.data() + at + first};
    const auto number = static_cast<std::uint64_t>(position);
    if (!plan_.distances.tops.empty())
      w_.distances.add(row, plan_.distances, random_of(plan_, Purpose::selection, job_.chunk, place_), number,
                       sums.distances);
    if (!plan_.separability_tops.empty())
      w_.separability.add(row, plan_.separability_tops, sums.separability);
    count(keys, plan_.distances.tops, sums.distance_rows);
    count(keys, plan_.separability_tops, sums.separability_rows);
    if (sums.gradient.empty() || keys < 2) return;
    random_direction(random_of(plan_, Purpose::direction, job_.chunk, place_), number, keys, w_.direction);
    gradient_.add({w_.scores.data() + at + first, to_size(keys)}, w_.direction, sums.gradient);
    ++sums.gradient_rows;
  }

  static void count(std::int64_t keys, const std::vector<std::int64_t>& tops,
                    std::vector<std::int64_t>& rows) {
    for (std::size_t i = 0; i < tops.size() && tops[i] < keys; ++i) ++rows[i];
  }

  const model::AttentionBlock& block_;
  const BlockJob& job_;
  const RowPlan& plan_;
  const KeyHead& key_head_;
  HeadPlace place_;
  Workspace& w_;
  AnyNormalizer normalizer_;  // of this head
  RowGradient gradient_;
  std::int64_t keys_ = 0;  // of a line of the workspace
};

void check_block(const model::AttentionBlock& block, const RowPlan& plan) {
  if (block.position != 0 || block.tokens != plan.lengths.back())
    throw Error(ErrorCode::bad_argument,
                fmt::format("analysis: a block of {} tokens at position {}; it must be all {} at once",
                            block.tokens, block.position, plan.lengths.back()));
}

}  // namespace

void analyze_block(const model::AttentionBlock& block, const BlockJob& job, std::span<HeadSums> heads) {
  const RowPlan& plan = *job.plan;
  check_block(block, plan);
  const SerialBlas serial;
  const std::vector<Piece> pieces = pieces_of(plan);
  const auto count = static_cast<std::int64_t>(pieces.size());
  const AnyTensor<4> vectors = vectors_of(block, job.vectors);
  const std::int64_t key_heads = block.request->key.shape[1], group = block.heads / key_heads;
  std::vector<Workspace> workspaces(to_size(job.threads));
  KeyHead key_head;
  key_head.count = block.tokens;
  key_head.width = block.request->key.shape[3];
  for (std::int64_t kv = 0; kv < key_heads; ++kv) {
    key_head.keys = rows_of(block.request->key, kv, 0, block.tokens);
    // Hidden states are those of the layer: one product serves all of its heads.
    if (kv == 0 || vectors.shape[1] > 1)
      fill_gram(rows_of(vectors, std::min(kv, vectors.shape[1] - 1), 0, block.tokens), job.threads, key_head);
    std::vector<RowSums> sums(to_size(group * count), RowSums(plan));
    parallel_for(job.threads, group * count, [&](std::int64_t task, int thread) {
      if (job.pause) job.pause();
      // The longest rows first, so that threads end together.
      const std::int64_t member = task % group, piece = count - 1 - task / group;
      const HeadPlace place{block.layer, block.first_head + kv * group + member};
      HeadPiece(block, job, key_head, place, workspaces[to_size(thread)])
          .run(pieces[to_size(piece)], sums[to_size(member * count + piece)]);
    });
    for (std::int64_t member = 0; member < group; ++member)
      add_pieces(plan, pieces, std::span(sums).subspan(to_size(member * count), to_size(count)),
                 heads[to_size(kv * group + member)]);
  }
}

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
