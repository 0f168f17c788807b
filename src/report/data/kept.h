// What a page keeps of a result: parts are offered in the order of their importance, and kept while there is room.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace sharpmax::report {

// Bytes that data take in a page, where they are compressed and written as letters.
std::size_t bytes_in_page(const nlohmann::ordered_json& data);

class Kept {
 public:
  enum Need { always, if_it_fits };

  explicit Kept(std::size_t room) : room_(room) {}

  // Adds the fields of `part` to those at `place` (a JSON pointer) if they fit. What is not kept is named so.
  void offer(const std::string& place, const std::string& name, const nlohmann::ordered_json& part, Need need = if_it_fits);
  // Puts `part` in the place of a smaller one that is there, or of none.
  void replace(const std::string& place, const std::string& name, const nlohmann::ordered_json& part);

  // Names of all that has no place, in the order in which it was offered.
  nlohmann::ordered_json left_out() const;

  nlohmann::ordered_json data = nlohmann::ordered_json::object();  // what is put here directly is not counted

 private:
  std::size_t room_, taken_ = 0;
  std::map<std::string, std::size_t> bytes_;                 // of parts that may be replaced, by place
  std::vector<std::pair<std::string, bool>> offered_;  // name, whether it has a place

  void remember(const std::string& name, bool kept);
};

}  // namespace sharpmax::report
