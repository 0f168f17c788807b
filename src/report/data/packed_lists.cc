#include "report/data/packed_lists.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "storage/digest.h"

namespace sharpmax::report {
namespace {

using Json = nlohmann::ordered_json;

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
