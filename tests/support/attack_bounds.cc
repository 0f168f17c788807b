// Attacks every bound and prints how near the search came, as JSON: what scripts/theory-docs fills docs/design/theory.md with.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "support/attacks/attack.h"

using namespace sharpmax::theory;

namespace {

constexpr std::uint64_t kSeed = 1;
constexpr int kStarts = 24;
constexpr double kRounding = 1e-9;

const char* verdict_of(const Attack& attack, double reached) {
  const bool broken = !(reached <= 1.0 + kRounding);
  if (broken) return attack.holds ? "BROKEN" : "no bound";
  return attack.holds ? "holds" : "not broken";
}

}  // namespace

int main() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Attack& attack : attacks()) {
    const double ratio = reached(attack, kSeed, kStarts);
    list.push_back({{"bound", attack.bound},
                    {"source", attack.source},
                    {"claimed", attack.holds},
                    {"reached", ratio},
                    {"verdict", verdict_of(attack, ratio)}});
  }
  std::puts(list.dump(1).c_str());
}
