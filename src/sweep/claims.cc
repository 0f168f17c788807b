#include "sweep/claims.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>

#include "sharpmax/error.h"
#include "sharpmax/job.h"
#include "storage/files.h"

namespace sharpmax {
namespace {

namespace fs = std::filesystem;

enum class Lock { got, held, refused };

Lock lock(int descriptor, int kind) {
  while (::flock(descriptor, kind | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return Lock::held;
    if (errno != EINTR) return Lock::refused;
  }
  return Lock::got;
}

constexpr int kAttempts = 100;  // each fails only if another owner ends at that very moment

int open_claim(const fs::path& file) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor >= 0) return descriptor;
    if (errno != ENOENT) break;
    // Nobody needed the folder yet, or its last user removed it; another that ends may remove it again before the next attempt.
    std::error_code ignored;
    fs::create_directories(file.parent_path(), ignored);
    errno = ENOENT;
  }
  throw Error(ErrorCode::io, fmt::format("{} could not be written: {}", file.string(), std::strerror(errno)));
}

// Whether the descriptor is of the file that has this name now: an owner that ended has removed the one before.
bool is_named(int descriptor, const fs::path& file) {
  struct stat own {}, named {};
  return ::fstat(descriptor, &own) == 0 && ::stat(file.c_str(), &named) == 0 && own.st_ino == named.st_ino &&
         own.st_dev == named.st_dev;
}

// For whoever asks; a full disk takes nothing away but the answer.
void write_name(int descriptor) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const Json holder = {{"host", host.data()},
                       {"process", static_cast<std::int64_t>(::getpid())},
                       {"since", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))}};
  const std::string text = holder.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  if (::ftruncate(descriptor, 0) == 0) (void)!::pwrite(descriptor, text.data(), text.size(), 0);
}

Holder name_in(const fs::path& file) {
  Holder holder;
  try {
    const Json json = Json::parse(read_text(file));
    holder = {json.at("host").get<std::string>(), json.at("process").get<std::int64_t>(),
              json.at("since").get<std::string>()};
  } catch (const std::exception&) {  // not yet written, or gone
  }
  return holder;
}

}  // namespace

void Claim::release() noexcept {
  if (descriptor_ < 0) return;
  ::unlink(file_.c_str());
  ::close(std::exchange(descriptor_, -1));
}

std::optional<Claim> Claims::take(const std::string& piece) const {
  const fs::path file = folder_ / piece;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const int descriptor = open_claim(file);
    const Lock found = lock(descriptor, LOCK_EX);
    if (found == Lock::held) {
      ::close(descriptor);
      return std::nullopt;
    }
    if (found == Lock::refused) locks_kept_ = false;
    if (found == Lock::got && !is_named(descriptor, file)) {
      ::close(descriptor);
      continue;
    }
    write_name(descriptor);
    return Claim(file, descriptor, found == Lock::got);
  }
  return std::nullopt;
}

std::optional<Holder> Claims::holder(const std::string& piece) const {
  const fs::path file = folder_ / piece;
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  const Lock found = lock(descriptor, LOCK_SH);  // shared: two processes that ask do not see each other
  ::close(descriptor);
  return found == Lock::held ? std::optional(name_in(file)) : std::nullopt;
}

bool Claims::any_held() const {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, ignored))
    if (holder(entry.path().filename().string())) return true;
  return false;
}

void Claims::clear() const noexcept try {
  std::error_code ignored;
  if (!fs::exists(folder_, ignored)) return;
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, ignored))
    names.push_back(entry.path().filename().string());
  for (const std::string& name : names) take(name);
  fs::remove(folder_, ignored);  // which fails while anybody has a claim
} catch (const std::exception&) {
}

}  // namespace sharpmax
