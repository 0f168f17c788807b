#include "audit/measure/reading.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/numbers.h"
#include "sharpmax/error.h"
#include "storage/npy.h"

namespace sharpmax::audit {
namespace {

constexpr std::int64_t kGaps = static_cast<std::int64_t>(kGapOctaves.size());
constexpr std::int64_t kNumbers = 5;  // doubles of a row but for the heaviest weights

// Weights are floats: what lies outside a first token that takes all but this cannot be distinguished from rounding.
constexpr double kLeastOutside = 1e-5;

}  // namespace

RowWatch::RowWatch(const model::Configuration& c, std::int64_t block,
                   std::vector<std::vector<std::int64_t>> wanted)
    : heads_(c.heads), block_(block) {
  for (auto& positions : wanted) {
    KeptRows& kept = kept_.emplace_back();
    kept.positions = std::move(positions);
    kept.values.assign(static_cast<std::size_t>(c.layers * c.heads) * kept.positions.size() * kRowFields,
                       std::numeric_limits<float>::quiet_NaN());
  }
  const auto rows = static_cast<std::size_t>(c.heads * block);
  doubles_.resize(rows * (kNumbers + kTopKeys));
  integers_.resize(rows * (1 + kTopKeys + kGaps));
}

bool RowWatch::in(const KeptRows& kept, const model::AttentionBlock& block) const {
  const auto next = std::lower_bound(kept.positions.begin(), kept.positions.end(), block.position);
  return next != kept.positions.end() && *next < block.position + block.tokens;
}

const RowStatistics* RowWatch::wanted(const model::AttentionBlock& block) {
  if (std::none_of(kept_.begin(), kept_.end(), [&](const KeptRows& kept) { return in(kept, block); }))
    return nullptr;
  const Extents<3> rows{1, block.heads, block.tokens};
  const std::int64_t count = block.heads * block.tokens;
  double* number = doubles_.data();
  for (auto* view :
       {&views_.entropy, &views_.peak_weight, &views_.mass, &views_.score_spread, &views_.first_weight}) {
    *view = TensorView<double, 3>(number, rows);
    number += count;
  }
  views_.top_weights = {number, {1, block.heads, block.tokens, kTopKeys}};
  views_.support = TensorView<std::int64_t, 3>(integers_.data(), rows);
  views_.top_keys = {integers_.data() + count, {1, block.heads, block.tokens, kTopKeys}};
  views_.gap_counts = {integers_.data() + count * (1 + kTopKeys), {1, block.heads, block.tokens, kGaps}};
  return &views_;
}

void RowWatch::seen(const model::AttentionBlock& block) {
  for (KeptRows& kept : kept_)
    if (in(kept, block)) keep(block, kept);
}

void RowWatch::keep(const model::AttentionBlock& block, KeptRows& kept) {
  const std::int64_t window = block.request->window.left;
  for (std::size_t i = 0; i < kept.positions.size(); ++i) {
    const std::int64_t position = kept.positions[i], query = position - block.position;
    if (query < 0 || query >= block.tokens) continue;
    for (std::int64_t head = 0; head < block.heads; ++head) {
      const auto place = static_cast<std::size_t>(block.layer * heads_ + block.first_head + head);
      float* const out = kept.values.data() + (place * kept.positions.size() + i) * kRowFields;
      fields_of(head, query, position, out);
      const std::int64_t keys = window >= 0 ? std::min(position, window) + 1 : position + 1;
      out[static_cast<std::size_t>(RowField::keys)] = static_cast<float>(keys);
    }
  }
}

void RowWatch::fields_of(std::int64_t head, std::int64_t query, std::int64_t position, float* out) const {
  const auto set = [&](RowField field, double value) {
    out[static_cast<std::size_t>(field)] = static_cast<float>(value);
  };
  const double mass = views_.mass(0, head, query), entropy = views_.entropy(0, head, query);
  const double first = views_.first_weight(0, head, query), outside = 1.0 - first;
  const bool any = outside > kLeastOutside;
  set(RowField::entropy, entropy);
  set(RowField::peak, views_.peak_weight(0, head, query));
  set(RowField::first, first);
  set(RowField::mass, mass);
  set(RowField::support, static_cast<double>(views_.support(0, head, query)));
  set(RowField::spread, views_.score_spread(0, head, query));
  // H = (1 - w) H_outside - (1 - w) ln(1 - w) - w ln w
  const double of_first = first > 0.0 ? first * std::log(first) : 0.0;
  set(RowField::entropy_outside,
      any ? std::max(0.0, (entropy + of_first) / outside + std::log(outside)) : kNaN);
  double peak = kNaN, distance = kNaN, near = 0.0;
  for (std::int64_t i = 0; i < kTopKeys; ++i) {
    const std::int64_t key = views_.top_keys(0, head, query, i);
    if (key <= 0) continue;  // the first token, or none
    const double weight = views_.top_weights(0, head, query, i) / mass / outside;
    if (std::isnan(peak)) {
      peak = std::min(weight, 1.0);
      distance = static_cast<double>(position - key);
    }
    if (position - key < kNear) near += weight;
  }
  set(RowField::peak_outside, any ? peak : kNaN);
  set(RowField::distance_outside, any ? distance : kNaN);
  set(RowField::near_outside, any ? std::min(near, 1.0) : kNaN);
  for (std::int64_t i = 0; i < kGaps; ++i)
    out[kPlainFields + static_cast<std::size_t>(i)] =
        static_cast<float>(views_.gap_counts(0, head, query, i));
}

ReadingPlan plan_reading(std::vector<std::int64_t> lengths, std::int64_t text_tokens,
                         std::int64_t most_excerpts) {
  if (lengths.empty()) throw Error(ErrorCode::bad_argument, "no lengths were given; there must be at least one");
  for (const std::int64_t length : lengths)
    if (length < kLeastLength)
      throw Error(ErrorCode::bad_argument,
                  fmt::format("length {} is too short; it must be at least {} tokens", length, kLeastLength));
  if (text_tokens < kLeastLength)
    throw Error(ErrorCode::bad_argument,
                fmt::format("the text has {} tokens; it must have at least {}", text_tokens, kLeastLength));
  for (std::int64_t& length : lengths) length = std::min(length, text_tokens);
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());

  const std::int64_t longest = lengths.back();
  const std::int64_t excerpts = std::clamp<std::int64_t>(text_tokens / longest, 1, most_excerpts);
  ReadingPlan plan{.lengths = std::move(lengths)};
  for (std::int64_t i = 0; i < excerpts; ++i)
    plan.starts.push_back(excerpts == 1 ? 0 : i * ((text_tokens - longest) / (excerpts - 1)));
  return plan;
}

std::vector<std::int64_t> default_lengths(std::int64_t longest) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t length = 64; length < longest; length *= 2) lengths.push_back(length);
  lengths.push_back(longest);
  return lengths;
}

std::vector<std::int64_t> rows_near(std::int64_t length) {
  const std::int64_t window = std::max<std::int64_t>(1, length / 4), rows = std::min(window, kKeptRows);
  std::vector<std::int64_t> positions;
  for (std::int64_t i = 1; i <= rows; ++i) positions.push_back(length - window - 1 + i * window / rows);
  return positions;
}

Readings no_readings(const ReadingPlan& plan) {
  return Readings(plan.starts.size(), std::vector<std::optional<KeptRows>>(plan.lengths.size()));
}

void share_readings(Group& group, const ReadingPlan& plan, Readings& readings) {
  if (group.size() == 1) return;
  for (auto& excerpt : readings)
    for (std::size_t i = 0; i < excerpt.size(); ++i) {
      const std::vector<float> mine = excerpt[i] ? excerpt[i]->values : std::vector<float>();
      const Group::Bytes bytes = group.broadcast(std::as_bytes(std::span(mine)), 0);
      excerpt[i].reset();
      if (bytes.empty()) continue;
      KeptRows rows{.positions = rows_near(plan.lengths[i]), .values = std::vector<float>(bytes.size() / sizeof(float))};
      std::memcpy(rows.values.data(), bytes.data(), bytes.size());
      excerpt[i] = std::move(rows);
    }
}

std::vector<std::size_t> finished_lengths(const Readings& readings) {
  std::vector<std::size_t> finished;
  for (std::size_t i = 0; !readings.empty() && i < readings[0].size(); ++i)
    if (std::all_of(readings.begin(), readings.end(),
                    [&](const auto& excerpt) { return excerpt[i].has_value(); }))
      finished.push_back(i);
  return finished;
}

void read_excerpt(model::Session& session, std::span<const model::Token> excerpt,
                  std::span<const std::int64_t> lengths, const ReadingListener& listener) {
  std::vector<std::vector<std::int64_t>> wanted;
  for (const std::int64_t length : lengths) wanted.push_back(rows_near(length));
  RowWatch watch(session.model().configuration(), session.block(), std::move(wanted));
  const model::Watching watching(session, watch);
  session.rewind(0);
  std::int64_t done = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    while (done < lengths[i]) {
      // Blocks end where blocks of the whole excerpt would, and at every length.
      const std::int64_t part = std::min(lengths[i] - done, session.block() - done % session.block());
      session.feed(excerpt.subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(part)));
      done += part;
      if (listener.on_tokens) listener.on_tokens(done);
    }
    listener.on_length(i, watch.take(i));
  }
}

namespace {

std::string name_of(std::size_t excerpt, std::int64_t length) {
  return fmt::format("excerpt{}_n{}", excerpt, length);
}

const NpyArray* find(const std::vector<NamedNpyArray>& arrays, const std::string& name) {
  for (const auto& entry : arrays)
    if (entry.name == name) return &entry.array;
  return nullptr;
}

template <class T>
std::vector<T> elements_of(const NpyArray& array) {
  std::vector<T> values(array.bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), array.bytes.data(), values.size() * sizeof(T));
  return values;
}

}  // namespace

namespace {

std::string kept_name(std::size_t i) { return fmt::format("kept{}", i); }

// Rows of layers [from, to) that other ranks have kept.
void collect_rows(const model::LayerPass& pass, RowWatch& watch, std::size_t lengths, std::int64_t from, std::int64_t to) {
  if (pass.size() == 1) return;
  const std::int64_t heads = pass.model().configuration().heads;
  for (std::size_t i = 0; i < lengths; ++i) {
    const std::vector<std::int64_t>& positions = watch.kept(i).positions;
    std::vector<float> values = watch.kept(i).values;
    // visit(row) for all rows of a rank, each of kRowFields.
    const auto for_rows_of = [&](int rank, const auto& visit) {
      for (std::int64_t place = from * heads; place < to * heads; ++place)
        for (std::size_t row = 0; row < positions.size(); ++row)
          if (pass.owner_of(positions[row]) == rank)
            visit(values.data() + (static_cast<std::size_t>(place) * positions.size() + row) * kRowFields);
    };
    std::vector<float> own;
    for_rows_of(pass.rank(), [&](const float* row) { own.insert(own.end(), row, row + kRowFields); });
    const std::vector<Group::Bytes> all = pass.group()->gather(std::as_bytes(std::span(own)));
    for (int rank = 0; rank < pass.size(); ++rank) {
      const std::byte* at = all[static_cast<std::size_t>(rank)].data();
      for_rows_of(rank, [&](float* row) {
        std::memcpy(row, at, kRowFields * sizeof(float));
        at += kRowFields * sizeof(float);
      });
    }
    watch.restore(i, std::move(values));
  }
}

void save_pass(const model::LayerPass& pass, const RowWatch& watch, std::size_t lengths, const model::PassFile& file) {
  std::vector<NamedNpyView> arrays;
  for (std::size_t i = 0; i < lengths; ++i) {
    const std::vector<float>& values = watch.kept(i).values;
    arrays.push_back({kept_name(i), {NpyType::float32, {static_cast<std::int64_t>(values.size())}, values.data()}});
  }
  pass.save(file.path, file.fingerprint, std::move(arrays));
}

void load_pass(model::LayerPass& pass, RowWatch& watch, std::span<const std::int64_t> lengths,
               const model::PassFile& file) {
  const auto arrays = pass.load(file.path, file.fingerprint, lengths.back());
  for (std::size_t i = 0; !arrays.empty() && i < lengths.size(); ++i) {
    const NpyArray* const kept = find(arrays, kept_name(i));
    if (kept == nullptr || kept->type != NpyType::float32 ||
        kept->shape != std::vector<std::int64_t>{static_cast<std::int64_t>(watch.kept(i).values.size())})
      throw Error(ErrorCode::bad_file, fmt::format("{}: '{}' is not what an audit keeps of this model; delete the file to "
                                                   "read the excerpt again",
                                                   file.path.string(), kept_name(i)));
    watch.restore(i, elements_of<float>(*kept));
  }
}

}  // namespace

void read_excerpt(model::LayerPass& pass, std::span<const model::Token> excerpt, std::span<const std::int64_t> lengths,
                  const ReadingListener& listener, const model::PassFile& file) {
  using Clock = std::chrono::steady_clock;
  std::vector<std::vector<std::int64_t>> wanted;
  for (const std::int64_t length : lengths) wanted.push_back(rows_near(length));
  const model::Configuration& c = pass.model().configuration();
  RowWatch watch(c, pass.block(), std::move(wanted));
  const model::WatchingPass watching(pass, watch);
  const bool saves = pass.agreed(!file.path.empty());
  if (saves) load_pass(pass, watch, lengths, file);
  auto saved = Clock::now();
  std::int64_t collected = pass.layers_done();  // layers of which all ranks have all rows
  pass.run(excerpt.first(static_cast<std::size_t>(lengths.back())), lengths,
           {.on_block =
                [&](std::int64_t layer, std::int64_t tokens) {
                  const std::int64_t share = (layer * lengths.back() + tokens) / c.layers;
                  if (listener.on_tokens) listener.on_tokens(std::max<std::int64_t>(share, 1));
                },
            .on_layer =
                [&](std::int64_t layers) {
                  const bool due = std::chrono::duration<double>(Clock::now() - saved).count() >= file.seconds;
                  const bool last = layers == c.layers, saving = saves && pass.agreed(due);
                  if (!saving && !last) return;
                  collect_rows(pass, watch, lengths.size(), collected, layers);
                  collected = layers;
                  if (!saving) return;
                  save_pass(pass, watch, lengths.size(), file);
                  saved = Clock::now();
                }});
  for (std::size_t i = 0; i < lengths.size(); ++i) listener.on_length(i, watch.take(i));
}

void write_readings(const std::filesystem::path& path, const Readings& readings, const ReadingPlan& plan,
                    const model::Configuration& c, std::uint64_t fingerprint) {
  const auto print = static_cast<std::int64_t>(fingerprint);
  std::vector<NamedNpyView> arrays;
  arrays.push_back({"fingerprint", {NpyType::int64, {1}, &print}});
  for (std::size_t e = 0; e < readings.size(); ++e) {
    for (std::size_t i = 0; i < readings[e].size(); ++i) {
      if (!readings[e][i]) continue;
      const KeptRows& rows = *readings[e][i];
      const auto count = static_cast<std::int64_t>(rows.positions.size());
      const std::string name = name_of(e, plan.lengths[i]);
      arrays.push_back({name,
                        {NpyType::float32,
                         {c.layers, c.heads, count, static_cast<std::int64_t>(kRowFields)},
                         rows.values.data()}});
      arrays.push_back({name + "_positions", {NpyType::int64, {count}, rows.positions.data()}});
    }
  }
  write_npz(path, arrays);
}

Readings read_readings(const std::filesystem::path& path, const ReadingPlan& plan,
                       const model::Configuration& c, std::uint64_t fingerprint) {
  const auto arrays = read_npz(path);
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::bad_file, fmt::format("{}: {}", path.string(), why));
  };
  const NpyArray* const print = find(arrays, "fingerprint");
  if (print == nullptr || print->type != NpyType::int64 || print->shape != std::vector<std::int64_t>{1} ||
      static_cast<std::uint64_t>(elements_of<std::int64_t>(*print)[0]) != fingerprint)
    refuse("it was measured on another model or text, or under other settings");
  Readings readings = no_readings(plan);
  for (std::size_t e = 0; e < readings.size(); ++e) {
    for (std::size_t i = 0; i < readings[e].size(); ++i) {
      const std::string name = name_of(e, plan.lengths[i]);
      const NpyArray* const values = find(arrays, name);
      if (values == nullptr) continue;
      const NpyArray* const positions = find(arrays, name + "_positions");
      KeptRows rows{.positions = rows_near(plan.lengths[i])};
      const std::vector<std::int64_t> shape{c.layers, c.heads,
                                            static_cast<std::int64_t>(rows.positions.size()),
                                            static_cast<std::int64_t>(kRowFields)};
      if (positions == nullptr || positions->type != NpyType::int64 ||
          elements_of<std::int64_t>(*positions) != rows.positions || values->type != NpyType::float32 ||
          values->shape != shape)
        refuse(fmt::format("'{}' is not what an audit keeps of this model at this length", name));
      rows.values = elements_of<float>(*values);
      readings[e][i] = std::move(rows);
    }
  }
  return readings;
}

}  // namespace sharpmax::audit
