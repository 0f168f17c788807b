#include "audit/measure/reading.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "audit/measure/row_watch.h"
#include "sharpmax/error.h"
#include "storage/npy.h"

namespace sharpmax::audit {

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
