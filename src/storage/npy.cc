#include "storage/npy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "base/in_quotes.h"
#include "sharpmax/error.h"
#include "storage/files.h"

namespace sharpmax {
namespace {

constexpr std::size_t kAlignment = 64;

class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path) : name_(path.string()) {
    file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file_ < 0) fail_io("could not be opened");
    struct stat status {};
    if (::fstat(file_, &status) != 0) {
      ::close(file_);
      fail_io("could not be examined");
    }
    if (!S_ISREG(status.st_mode)) {
      ::close(file_);
      throw Error(ErrorCode::bad_file, fmt::format("{}: not a regular file", name_));
    }
    size_ = static_cast<std::uint64_t>(status.st_size);
  }
  ~InputFile() { ::close(file_); }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  std::uint64_t size() const noexcept { return size_; }
  const std::string& name() const noexcept { return name_; }

  void read(std::uint64_t offset, std::span<std::byte> into) const {
    while (!into.empty()) {
      const ssize_t got = ::pread(file_, into.data(), into.size(), static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail_io("could not be read");
      if (got == 0) {
        throw Error(ErrorCode::bad_file, fmt::format("{}: at byte {}: the file ended while it was being "
                                                     "read",
                                                     name_, offset));
      }
      into = into.subspan(static_cast<std::size_t>(got));
      offset += static_cast<std::uint64_t>(got);
    }
  }

 private:
  [[noreturn]] void fail_io(std::string_view what) const {
    throw Error(ErrorCode::io, fmt::format("{} {}: {}", name_, what, std::strerror(errno)));
  }

  std::string name_;
  int file_ = -1;
  std::uint64_t size_ = 0;
};

// The first index varies fastest in the file; in memory the last one shall.
ArrayBytes in_c_order(const NpyHeader& header, const ArrayBytes& fortran) {
  const std::size_t size = size_of(header.type);
  const std::size_t rank = header.shape.size();
  std::vector<std::size_t> step(rank);  // in the file, in elements
  std::size_t product = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    step[i] = product;
    product *= static_cast<std::size_t>(header.shape[i]);
  }
  ArrayBytes out(fortran.size());
  std::vector<std::int64_t> index(rank, 0);
  std::size_t from = 0;
  for (std::size_t to = 0; to < out.size(); to += size) {
    std::memcpy(out.data() + to, fortran.data() + from * size, size);
    for (std::size_t i = rank; i-- > 0;) {
      from += step[i];
      if (++index[i] < header.shape[i]) break;
      from -= step[i] * static_cast<std::size_t>(header.shape[i]);
      index[i] = 0;
    }
  }
  return out;
}

}  // namespace

ArrayBytes::ArrayBytes(std::size_t size)
    : data_(static_cast<std::byte*>(
          ::operator new (std::max<std::size_t>(size, 1), std::align_val_t{kAlignment}))),
      size_(size) {}

void ArrayBytes::Free::operator()(std::byte* p) const noexcept {
  ::operator delete (p, std::align_val_t{kAlignment});
}

std::int64_t NpyArray::elements() const noexcept {
  return static_cast<std::int64_t>(bytes.size() / size_of(type));
}

std::size_t NpyView::byte_size() const noexcept {
  std::size_t bytes = size_of(type);
  for (const std::int64_t extent : shape) bytes *= static_cast<std::size_t>(extent);
  return bytes;
}

NpyArray finish_npy(const NpyHeader& header, ArrayBytes data, std::string_view name) {
  if (header.type == NpyType::boolean) {  // any other byte in a C++ bool is undefined behaviour
    const std::byte* end = data.data() + data.size();
    const auto* bad =
        std::find_if(std::as_const(data).data(), end, [](std::byte b) { return b > std::byte{1}; });
    if (bad != end) {
      throw Error(ErrorCode::bad_file,
                  fmt::format("{}: at byte {}: a bool is {}; expected 0 or 1", name,
                              header.data_offset + static_cast<std::uint64_t>(bad - data.data()),
                              std::to_integer<int>(*bad)));
    }
  }
  if (header.fortran_order && header.shape.size() > 1) data = in_c_order(header, data);
  return {.type = header.type, .shape = header.shape, .bytes = std::move(data)};
}

NpyArray parse_npy(std::span<const std::byte> file, std::string_view name) {
  const NpyHeader header =
      parse_npy_header(file.first(std::min(file.size(), kNpyHeaderLimit)), file.size(), name);
  ArrayBytes data(header.data_bytes);
  if (data.size() > 0) std::memcpy(data.data(), file.data() + header.data_offset, data.size());
  return finish_npy(header, std::move(data), name);
}

NpyArray read_npy(const std::filesystem::path& path) {
  const InputFile file(path);
  std::vector<std::byte> start(std::min<std::uint64_t>(file.size(), kNpyHeaderLimit));
  file.read(0, start);
  const NpyHeader header = parse_npy_header(start, file.size(), file.name());
  ArrayBytes data(header.data_bytes);
  file.read(header.data_offset, {data.data(), data.size()});
  return finish_npy(header, std::move(data), file.name());
}

void write_npy(const std::filesystem::path& path, const NpyView& array) {
  const std::string header = npy_header_for(array.type, array.shape);
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(header)));
  file.write({static_cast<const std::byte*>(array.data), array.byte_size()});
  file.commit();
}

}  // namespace sharpmax
