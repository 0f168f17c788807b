#include "storage/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <nettle/base64.h>
#include <nettle/sha2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "sharpmax/error.h"

namespace sharpmax {
namespace {

// Names to unlink on an interrupt. A program writes a file or two at a time; one that finds no
// free slot is only not cleaned up if the process is interrupted.
std::array<std::atomic<const char*>, 16> unfinished{};

int remember(const char* name) noexcept {
  for (std::size_t i = 0; i < unfinished.size(); ++i) {
    const char* none = nullptr;
    if (unfinished[i].compare_exchange_strong(none, name)) return static_cast<int>(i);
  }
  return -1;
}

void forget(int slot) noexcept {
  if (slot >= 0) unfinished[static_cast<std::size_t>(slot)] = nullptr;
}

}  // namespace

void remove_unfinished_files() noexcept {
  for (auto& slot : unfinished) {
    if (const char* name = slot.exchange(nullptr)) ::unlink(name);
  }
}

AtomicFile::AtomicFile(const std::filesystem::path& target) : target_(target) {
  std::error_code ignored;
  const auto status = std::filesystem::status(target, ignored);
  if (std::filesystem::is_directory(status)) {
    errno = EISDIR;
    fail("could not be written");
  }
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    file_ = ::open(target.c_str(), O_WRONLY | O_CLOEXEC);
    if (file_ < 0) fail("could not be opened for writing");
    return;
  }
  // Through a symbolic link the file it points to is replaced, not the link.
  if (std::filesystem::is_symlink(std::filesystem::symlink_status(target, ignored))) {
    target_ = std::filesystem::weakly_canonical(target, ignored);
  }
  open_beside();
}

void AtomicFile::open_beside() {
  struct stat earlier {};
  const bool replaces = ::stat(target_.c_str(), &earlier) == 0;
  if (replaces && ::access(target_.c_str(), W_OK) != 0) fail("could not be written");
  static std::atomic<unsigned> counter{0};
  do {
    temporary_ = fmt::format("{}.{}-{}.partial", target_.string(), ::getpid(), counter++);
    file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (file_ < 0 && errno == EEXIST);
  if (file_ < 0) {
    temporary_.clear();
    fail("could not be written");
  }
  slot_ = remember(temporary_.c_str());
  if (replaces) (void)!::fchmod(file_, earlier.st_mode & 07777);
}

AtomicFile::~AtomicFile() {
  if (file_ >= 0) ::close(file_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  forget(slot_);
}

void AtomicFile::fail(std::string_view what) const {
  throw Error(ErrorCode::io, fmt::format("{} {}: {}", target_.string(), what, std::strerror(errno)));
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(file_, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail("could not be written");
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

void AtomicFile::close_whole() {
  if (file_ < 0) return;
  // A full disk may be noticed only here. Devices and pipes have no fsync: EINVAL is not a failure.
  if (::fsync(file_) != 0 && errno != EINVAL && errno != EROFS) fail("could not be written");
  const int closed = ::close(file_);
  file_ = -1;
  if (closed != 0) fail("could not be closed");
}

void AtomicFile::commit() {
  close_whole();
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("could not be put in place");
  forget(slot_);
  slot_ = -1;
  temporary_.clear();
}

bool AtomicFile::commit_first() {
  close_whole();
  if (::link(temporary_.c_str(), target_.c_str()) == 0) return true;  // the destructor removes the other name
  if (errno == EEXIST) return false;
  // File systems without links: two processes that come at the same moment are not told apart.
  if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS && errno != EMLINK) fail("could not be put in place");
  if (::access(target_.c_str(), F_OK) == 0) return false;
  commit();
  return true;
}

std::string read_text(const std::filesystem::path& path) {
  if (std::error_code ignored; std::filesystem::is_fifo(path, ignored)) {  // a shell's <(command)
    std::ifstream pipe(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(pipe), {}};
  }
  const MappedFile file(path);
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

void write_text(const std::filesystem::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(text.data(), text.size())));
  file.commit();
}

bool write_first_text(const std::filesystem::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(text.data(), text.size())));
  return file.commit_first();
}

namespace {

class Descriptor {
 public:
  explicit Descriptor(const std::filesystem::path& path)
      : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}  // a pipe must not block us
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const noexcept { return number_; }

 private:
  int number_;
};

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  const auto fail = [&](std::string_view what) {
    throw Error(ErrorCode::io, fmt::format("{} {}: {}", path.string(), what, std::strerror(errno)));
  };
  const Descriptor file(path);
  if (file.number() < 0) fail("could not be opened");
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) fail("could not be examined");
  if (!S_ISREG(status.st_mode))
    throw Error(ErrorCode::bad_file, fmt::format("{} is {}; expected a file", path.string(),
                                                 S_ISDIR(status.st_mode) ? "a directory" : "not a regular file"));
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ == 0) return;  // mmap refuses an empty range
  void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (mapped == MAP_FAILED) fail("could not be mapped");
  data_ = static_cast<const std::byte*>(mapped);
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

namespace {

constexpr std::size_t kPiece = std::size_t{16} << 20;  // about a hundredth of a second

}  // namespace

std::string sha256_of(std::span<const std::byte> bytes, const std::function<void(std::size_t)>& on_bytes) {
  sha256_ctx state;
  sha256_init(&state);
  for (std::size_t done = 0; done < bytes.size();) {
    const std::size_t piece = std::min(kPiece, bytes.size() - done);
    sha256_update(&state, piece, reinterpret_cast<const std::uint8_t*>(bytes.data() + done));
    done += piece;
    if (on_bytes) on_bytes(done);
  }
  std::array<std::uint8_t, SHA256_DIGEST_SIZE> digest{};
  sha256_digest(&state, digest.size(), digest.data());
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

std::string base64_of(std::span<const std::uint8_t> bytes) {
  std::string letters(BASE64_ENCODE_RAW_LENGTH(bytes.size()), '\0');
  base64_encode_raw(letters.data(), bytes.size(), bytes.data());
  return letters;
}

std::optional<std::vector<std::uint8_t>> bytes_in_base64(std::string_view letters) {
  base64_decode_ctx state;
  base64_decode_init(&state);
  std::vector<std::uint8_t> bytes(BASE64_DECODE_LENGTH(letters.size()));
  std::size_t count = bytes.size();
  if (!base64_decode_update(&state, &count, bytes.data(), letters.size(), letters.data()))
    return std::nullopt;
  if (!base64_decode_final(&state)) return std::nullopt;
  bytes.resize(count);
  return bytes;
}

std::vector<std::uint8_t> gzip_of(std::string_view text) {
  constexpr int kGzip = 16, kLargestWindow = 15, kMemory = 9;
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kLargestWindow + kGzip, kMemory, Z_DEFAULT_STRATEGY) != Z_OK)
    throw Error(ErrorCode::io, "gzip: no memory is left");
  std::vector<std::uint8_t> packed(deflateBound(&stream, static_cast<uLong>(text.size())));
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));  // zlib only reads it
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  const int ended = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (ended != Z_STREAM_END) throw Error(ErrorCode::io, "gzip: the text could not be compressed");
  return packed;
}

}  // namespace sharpmax
