#include "arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "normalizer/definition.h"
#include "retrieval/head/folded.h"
#include "retrieval/task/task.h"
#include "sharpmax/error.h"
#include "storage/npy.h"

namespace sharpmax::retrieval {
namespace {

using Shape = std::vector<std::int64_t>;

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

NamedNpyView named(std::string name, Shape shape, const std::vector<double>& values) {
  return {std::move(name), {NpyType::float64, std::move(shape), values.data()}};
}
NamedNpyView named(std::string name, Shape shape, const std::vector<std::int64_t>& values) {
  return {std::move(name), {NpyType::int64, std::move(shape), values.data()}};
}

Shape shape_of(const PartShape& part) {
  return part.rows == 1 ? Shape{part.columns} : Shape{part.rows, part.columns};
}

// Rows of sets, padded to `longest` items.
struct Rows {
  Rows(std::int64_t sets, std::int64_t most)
      : longest(most), priorities(index(sets * most)), classes(index(sets * most)) {}

  void add(const Set& set) {
    const auto base = static_cast<std::ptrdiff_t>(sizes.size()) * longest;
    std::copy(set.priorities.begin(), set.priorities.end(), priorities.begin() + base);
    std::copy(set.classes.begin(), set.classes.end(), classes.begin() + base);
    sizes.push_back(set.size());
    queries.push_back(set.query);
    answers.push_back(set.classes[index(set.right)]);
  }

  // `outer` is the shape of all the sets.
  void write(const std::filesystem::path& path, const Shape& outer) const {
    Shape items = outer;
    items.push_back(longest);
    write_npz(path, {named("priorities", items, priorities), named("classes", items, classes),
                     named("sizes", outer, sizes), named("queries", outer, queries),
                     named("answers", outer, answers)});
  }

  std::int64_t longest;
  std::vector<double> priorities;
  std::vector<std::int64_t> classes;
  std::vector<std::int64_t> sizes;
  std::vector<double> queries;
  std::vector<std::int64_t> answers;
};

// [g; 1] of one item.
void features_of(const FoldedHead& folded, double priority, std::int32_t item_class,
                 std::vector<double>& features) {
  features.assign(index(folded.item_features + 1), 0.0);
  features.back() = 1.0;
  if (folded.encoder == Encoder::linear) {
    features[0] = priority;
    features[index(1 + item_class)] = 1.0;
    return;
  }
  for (std::int64_t j = 0; j < folded.width; ++j)
    features[index(j)] = gelu(folded.item_slope[index(j)] * priority +
                              folded.item_offset[index(item_class * folded.width + j)]);
}

void logits_of(const FoldedHead& folded, const AnyNormalizer& normalizer, const Set& set,
               std::span<double> logits) {
  const std::vector<double> query = folded.query_vector(set.query);
  std::vector<double> features, scores(index(set.size())), weights(scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    features_of(folded, set.priorities[i], set.classes[i], features);
    for (std::size_t j = 0; j < features.size(); ++j) scores[i] += query[j] * features[j];
  }
  weigh_row(normalizer, 0, scores, weights);
  std::vector<double> pooled(query.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    features_of(folded, set.priorities[i], set.classes[i], features);
    for (std::size_t j = 0; j < features.size(); ++j) pooled[j] += weights[i] * features[j];
  }
  folded.read_out(pooled, logits);
}

}  // namespace

void write_state(const std::filesystem::path& path, const Head& head, const TrainingState& state) {
  const Layout layout = head.layout();
  std::vector<NamedNpyView> arrays;
  const auto add = [&](const std::string& name, Shape shape, std::int64_t offset) {
    arrays.push_back({name, {NpyType::float64, shape, state.parameters.data() + offset}});
    arrays.push_back({"moment." + name, {NpyType::float64, shape, state.first_moment.data() + offset}});
  };
  for (std::size_t i = 0; i < kParts; ++i) {
    const Part part = static_cast<Part>(i);
    if (layout[part].size() > 0) add(std::string(name_of(part)), shape_of(layout[part]), layout[part].offset);
  }
  const Shape learned = {static_cast<std::int64_t>(state.normalizer_parameters.size())};
  arrays.push_back(named("normalizer", learned, state.normalizer_parameters));
  arrays.push_back(
      {"moment.normalizer", {NpyType::float64, learned, state.first_moment.data() + layout.size()}});
  write_npz(path, arrays);
}

TrainingState read_state(const std::filesystem::path& path, const Head& like) {
  const Layout layout = like.layout();
  TrainingState state{.parameters = std::vector<double>(index(layout.size())),
                      .normalizer_parameters = like.normalizer_parameters};
  const std::vector<NamedNpyArray> arrays = read_npz(path);
  for (std::size_t i = 0; i < kParts; ++i) {
    const PartShape part = layout[static_cast<Part>(i)];
    if (part.size() == 0) continue;
    const std::string_view name = name_of(static_cast<Part>(i));
    const auto found =
        std::find_if(arrays.begin(), arrays.end(), [&](const auto& a) { return a.name == name; });
    if (found == arrays.end() || found->array.type != NpyType::float64 ||
        found->array.shape != shape_of(part))
      throw Error(ErrorCode::bad_file,
                  fmt::format("{}: expected '{}' as float64 in the head's own shape", path.string(), name));
    std::memcpy(state.parameters.data() + part.offset, found->array.bytes.data(), found->array.bytes.size());
  }
  state.first_moment.resize(state.parameters.size() + state.normalizer_parameters.size());
  state.second_moment.resize(state.first_moment.size());
  return state;
}

void write_batches(const std::filesystem::path& path, const TrainingSettings& settings, std::uint64_t seed,
                   std::int64_t steps) {
  Rows rows(steps * settings.batch, settings.largest_size);
  Set set;
  for (std::int64_t step = 0; step < steps; ++step)
    for (std::int64_t i = 0; i < settings.batch; ++i) {
      draw_training_set(settings, seed, step, i, set);
      rows.add(set);
    }
  rows.write(path, {steps, settings.batch});
}

void write_sets(const std::filesystem::path& path, const Head& head, std::int64_t n, std::int64_t sets) {
  Rows rows(sets, n);
  Set set;
  for (std::int64_t i = 0; i < sets; ++i) {
    draw_test_set(head.seed, head.training.classes, n, i, set);
    rows.add(set);
  }
  rows.write(path, {sets});
}

void write_logits(const std::filesystem::path& path, const Head& head, std::int64_t n, std::int64_t sets) {
  const FoldedHead folded(head);
  const AnyNormalizer normalizer = head.normalizer();
  std::vector<double> logits(index(sets * folded.classes));
  Set set;
  for (std::int64_t i = 0; i < sets; ++i) {
    draw_test_set(head.seed, head.training.classes, n, i, set);
    logits_of(folded, normalizer, set,
              std::span(logits).subspan(index(i * folded.classes), index(folded.classes)));
  }
  write_npz(path, {named("logits", {sets, folded.classes}, logits)});
}

}  // namespace sharpmax::retrieval
