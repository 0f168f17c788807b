#include "machine/machine_limits.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace sharpmax {
namespace {

std::optional<std::uint64_t> number_in(const char* path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  if (file >> value) return value;
  return std::nullopt;  // not there, or "max"
}

std::optional<std::uint64_t> free_on_machine() {
  std::ifstream file("/proc/meminfo");
  for (std::string word; file >> word;) {
    std::uint64_t kilobytes = 0;
    if (word == "MemAvailable:" && file >> kilobytes) return kilobytes * 1024;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> free_in_group() {
  const auto limit = number_in("/sys/fs/cgroup/memory.max"),
             used = number_in("/sys/fs/cgroup/memory.current");
  if (!limit || !used) return std::nullopt;
  return *limit > *used ? *limit - *used : 0;
}

std::optional<std::uint64_t> free_addresses() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  const auto pages = number_in("/proc/self/statm");
  const std::uint64_t used = pages ? *pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
  return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

}  // namespace

std::optional<std::uint64_t> available_memory() {
  std::optional<std::uint64_t> least;
  for (const auto& bytes : {free_on_machine(), free_in_group(), free_addresses()})
    if (bytes) least = least ? std::min(*least, *bytes) : *bytes;
  return least;
}

}  // namespace sharpmax
