#include <fmt/format.h>

#include <cstring>

#include "audit/measure/reading.h"
#include "sharpmax/error.h"
#include "storage/npz.h"

namespace sharpmax::audit {
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
