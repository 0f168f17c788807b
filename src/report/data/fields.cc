#include "report/data/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sharpmax/error.h"

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

}  // namespace sharpmax::report
