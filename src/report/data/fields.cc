#include "report/data/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sharpmax/error.h"
#include "storage/files.h"

namespace sharpmax::report {
namespace {

using Json = nlohmann::ordered_json;

// get() of the wrong type throws; of the right one its value is not needed.
const Json& checked(const Json& value, KeptColumn::Type type) {
  if (type == KeptColumn::truth) {
    value.get_ref<const bool&>();
    return value;
  }
  if (type == KeptColumn::size) {
    if (const double size = value.get<double>(); !(size > 0.0))
      throw Error(ErrorCode::bad_argument, fmt::format("report: a size is {}; it must be above 0", size));
    return value;
  }
  if (value.is_null()) return value;
  if (type == KeptColumn::text)
    value.get_ref<const std::string&>();
  else
    static_cast<void>(value.get<double>());
  return value;
}

std::vector<std::size_t> sizes_of(const Json& rows, const std::vector<KeptColumn>& columns) {
  std::vector<std::size_t> sizes;
  for (const KeptColumn& column : columns) {
    std::size_t size = 0;
    for (const Json& row : rows) size += size_of(checked(row.at(column.name), column.type)) + 1;
    sizes.push_back(size);
  }
  return sizes;
}

}  // namespace

Fields& Fields::numbers(std::initializer_list<const char*> names) {
  for (const char* name : names) to_[name] = checked(from_.at(name), KeptColumn::number);
  return *this;
}

Fields& Fields::sizes(std::initializer_list<const char*> names) {
  for (const char* name : names) to_[name] = checked(from_.at(name), KeptColumn::size);
  return *this;
}

Fields& Fields::texts(std::initializer_list<const char*> names) {
  for (const char* name : names) to_[name] = checked(from_.at(name), KeptColumn::text);
  return *this;
}

Fields& Fields::truths(std::initializer_list<const char*> names) {
  for (const char* name : names) to_[name] = checked(from_.at(name), KeptColumn::truth);
  return *this;
}

Fields& Fields::origin() {
  texts({"sharpmax", "command"});
  if (from_.contains("created")) texts({"created"});
  if (from_.contains("seconds")) numbers({"seconds"});
  return *this;
}

Json table_within(const Json& rows, const std::vector<KeptColumn>& columns, std::size_t room,
                  const char* rows_name, Json& left_out) {
  const std::vector<std::size_t> sizes = sizes_of(rows, columns);
  std::vector<const KeptColumn*> kept;
  std::size_t taken = 2 * rows.size();  // brackets
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (columns[i].always) taken += sizes[i];
  const std::size_t least = taken;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!columns[i].always && taken + sizes[i] > room) {
      left_out.push_back(columns[i].name);
      continue;
    }
    if (!columns[i].always) taken += sizes[i];
    kept.push_back(&columns[i]);
  }
  std::size_t count = rows.size();
  if (least > room) count = std::max<std::size_t>(1, rows.size() * room / least);
  if (count < rows.size()) left_out.push_back(fmt::format("the last {} {}", rows.size() - count, rows_name));
  Json names = Json::array(), lines = Json::array();
  for (const KeptColumn* column : kept) names.push_back(column->name);
  for (std::size_t i = 0; i < count; ++i) {
    Json line = Json::array();
    for (const KeptColumn* column : kept) line.push_back(rows[i].at(column->name));
    lines.push_back(std::move(line));
  }
  return {{"columns", std::move(names)}, {"rows", std::move(lines)}};
}

std::size_t size_of(const Json& data) {
  return data.dump(-1, ' ', false, Json::error_handler_t::replace).size();
}

Json settings_within(const Json& settings, std::size_t room, Json& left_out) {
  Json kept = settings;
  Json& model = kept.at("model");
  checked(model.at("file"), KeptColumn::text);
  if (model.contains("normalizers") && size_of(model.at("normalizers")) > room) {
    model.erase("normalizers");
    left_out.push_back("the table of normalizers by head");
  }
  return kept;
}

namespace {

// Whether it was, and can be read back to six digits.
bool append(const Json& number, std::vector<std::uint8_t>& bytes) {
  float value = std::numeric_limits<float>::quiet_NaN();
  if (!number.is_null()) {
    if (!number.is_number()) return false;
    const double exact = number.get<double>();
    value = static_cast<float>(exact);
    if (std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr) != exact) return false;
  }
  const auto bits = std::bit_cast<std::uint32_t>(value);
  for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<std::uint8_t>(bits >> shift));
  return true;
}

}  // namespace

Json packed(Json lists) {
  const bool nested = !lists.empty() && lists.front().is_array();
  const std::size_t width = nested ? lists.front().size() : 0;
  std::vector<std::uint8_t> bytes;
  for (const Json& entry : lists) {
    if (entry.is_array() != nested || (nested && entry.size() != width)) return lists;
    if (!nested && !append(entry, bytes)) return lists;
    for (std::size_t i = 0; i < width; ++i)
      if (!append(entry[i], bytes)) return lists;
  }
  Json made{{"float32", base64_of(bytes)}, {"width", width}};
  return made.dump().size() < lists.dump().size() ? made : lists;
}

Json indexed(const Json& strings) {
  std::map<std::string, std::size_t> known;
  Json words = Json::array(), places = Json::array();
  for (const Json& entry : strings) {
    const auto [place, fresh] = known.try_emplace(entry.get<std::string>(), known.size());
    if (fresh) words.push_back(entry);
    places.push_back(place->second);
  }
  return {{"words", std::move(words)}, {"places", std::move(places)}};
}

}  // namespace sharpmax::report
