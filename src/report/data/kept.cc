#include "report/data/kept.h"

#include <algorithm>

#include "storage/files.h"

namespace sharpmax::report {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

std::size_t bytes_in_page(const Json& data) {
  const std::size_t packed = gzip_of(data.dump(-1, ' ', false, Json::error_handler_t::replace)).size();
  return (packed + 2) / 3 * 4;  // base64
}

void Kept::offer(const std::string& place, const std::string& name, const Json& part, Need need) {
  const std::size_t more = bytes_in_page(part);
  const bool fits = need == always || taken_ + more <= room_;
  remember(name, fits);
  if (!fits) return;
  taken_ += more;
  data[Json::json_pointer(place)].update(part);
}

void Kept::replace(const std::string& place, const std::string& name, const Json& part) {
  const std::size_t more = bytes_in_page(part), before = bytes_[place];
  const bool fits = taken_ - before + more <= room_;
  remember(name, fits || before > 0);
  if (!fits) return;
  taken_ += more - before;
  bytes_[place] = more;
  data[Json::json_pointer(place)] = part;
}

void Kept::remember(const std::string& name, bool kept) {
  const auto known = std::find_if(offered_.begin(), offered_.end(), [&](const auto& one) { return one.first == name; });
  if (known == offered_.end())
    offered_.emplace_back(name, kept);
  else
    known->second = known->second || kept;
}

Json Kept::left_out() const {
  Json names = Json::array();
  for (const auto& [name, kept] : offered_)
    if (!kept) names.push_back(name);
  return names;
}

}  // namespace sharpmax::report
