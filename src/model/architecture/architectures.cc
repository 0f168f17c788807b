#include "model/architecture/architecture.h"
#include "model/architecture/family_list.h"

namespace sharpmax::model {

std::span<const Architecture* const> architectures() {
  static const std::vector<const Architecture*> all = [] {
    std::vector<const Architecture*> list;
    for (const auto make : kArchitectures) list.push_back(&make());
    return list;
  }();
  return all;
}

}  // namespace sharpmax::model
