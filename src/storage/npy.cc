#include "storage/npy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
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

// The first index varies fastest in the file; in memory the last one does.
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

namespace {

constexpr std::uint64_t kDeflateLimit = 1032;  // bytes out per byte in, at the very most
constexpr std::size_t kMaxMembers = 1 << 16;

struct Discard {
  void operator()(zip_t* archive) const noexcept { zip_discard(archive); }
  void operator()(zip_file_t* file) const noexcept { zip_fclose(file); }
  void operator()(zip_source_t* source) const noexcept { zip_source_free(source); }
};
using Archive = std::unique_ptr<zip_t, Discard>;
using Member = std::unique_ptr<zip_file_t, Discard>;
using Source = std::unique_ptr<zip_source_t, Discard>;

std::string words_of(int code) {
  if (code == ZIP_ER_EXISTS) return "two members have the same name";
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string words = zip_error_strerror(&error);
  zip_error_fini(&error);
  return words;
}

Archive open_archive(const std::filesystem::path& path) {
  const std::string name = path.string();
  std::error_code failed;
  const auto status = std::filesystem::status(path, failed);
  if (!std::filesystem::exists(status)) {
    throw Error(ErrorCode::io, fmt::format("{} could not be opened: {}", name,
                                           failed ? failed.message() : "No such file or directory"));
  }
  if (!std::filesystem::is_regular_file(status)) {
    throw Error(ErrorCode::bad_file, fmt::format("{}: not a regular file", name));
  }
  int code = 0;
  Archive archive(zip_open(path.c_str(), ZIP_RDONLY | ZIP_CHECKCONS, &code));
  if (archive) return archive;
  // ZIP_ER_NOENT here means the archive, not the file, which has just been seen.
  const bool refused = code == ZIP_ER_OPEN || code == ZIP_ER_READ;
  throw Error(refused ? ErrorCode::io : ErrorCode::bad_file,
              refused
                  ? fmt::format("{} could not be opened: {}", name, words_of(code))
                  : fmt::format("{}: at byte 0: not a sound .npz (zip) archive: {}", name, words_of(code)));
}

void check_member(const zip_stat_t& member, std::uint64_t archive_size, const std::string& name) {
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorCode::bad_file, fmt::format("{}: {}", name, what));
  };
  constexpr zip_uint64_t kNeeded = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  if ((member.valid & kNeeded) != kNeeded) fail("its size or compression is not known");
  if ((member.valid & ZIP_STAT_ENCRYPTION_METHOD) && member.encryption_method != ZIP_EM_NONE) {
    fail("it is encrypted");
  }
  if (member.comp_method != ZIP_CM_STORE && member.comp_method != ZIP_CM_DEFLATE) {
    fail(fmt::format("compression method {}; expected stored or deflated", member.comp_method));
  }
  if (member.comp_size > archive_size) {
    fail(fmt::format("it is said to take {} bytes of an archive of {}", member.comp_size, archive_size));
  }
  const std::uint64_t limit =
      member.comp_method == ZIP_CM_STORE ? member.comp_size : member.comp_size * kDeflateLimit;
  if (member.size > limit) {
    fail(fmt::format("{} bytes cannot hold the {} it is said to have", member.comp_size, member.size));
  }
}

class MemberReader {
 public:
  MemberReader(zip_t* archive, zip_uint64_t index, std::string name)
      : name_(std::move(name)), file_(zip_fopen_index(archive, index, 0)) {
    if (!file_) throw Error(ErrorCode::bad_file, fmt::format("{}: {}", name_, zip_strerror(archive)));
  }

  void read(std::span<std::byte> into) {
    while (!into.empty()) {
      const zip_int64_t got = zip_fread(file_.get(), into.data(), into.size());
      if (got <= 0)
        fail(got < 0 ? zip_file_strerror(file_.get()) : "it ends before the size it is said to have");
      into = into.subspan(static_cast<std::size_t>(got));
      offset_ += static_cast<std::uint64_t>(got);
    }
  }
  // Also where libzip compares the checksum.
  void expect_end() {
    std::byte extra;
    const zip_int64_t got = zip_fread(file_.get(), &extra, 1);
    if (got < 0) fail(zip_file_strerror(file_.get()));
    if (got > 0) fail("it goes on past the size it is said to have");
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::bad_file, fmt::format("{}: at byte {}: {}", name_, offset_, what));
  }

  std::string name_;
  Member file_;
  std::uint64_t offset_ = 0;
};

NpyArray read_member(zip_t* archive, const zip_stat_t& member, const std::string& name) {
  MemberReader reader(archive, member.index, name);
  std::vector<std::byte> start(std::min<std::uint64_t>(member.size, kNpyHeaderLimit));
  reader.read(start);
  const NpyHeader header = parse_npy_header(start, member.size, name);
  ArrayBytes data(header.data_bytes);
  const std::size_t ready = start.size() - header.data_offset;
  std::copy_n(start.data() + header.data_offset, ready, data.data());
  reader.read({data.data() + ready, data.size() - ready});
  reader.expect_end();
  return finish_npy(header, std::move(data), name);
}

}  // namespace

std::vector<NamedNpyArray> read_npz(const std::filesystem::path& path) {
  const Archive archive = open_archive(path);
  const std::uint64_t archive_size = std::filesystem::file_size(path);
  const zip_int64_t members = zip_get_num_entries(archive.get(), 0);
  if (members > static_cast<zip_int64_t>(kMaxMembers)) {
    throw Error(ErrorCode::bad_file,
                fmt::format("{}: {} members; more than {} are refused", path.string(), members, kMaxMembers));
  }
  std::vector<NamedNpyArray> arrays;
  for (zip_int64_t i = 0; i < members; ++i) {
    zip_stat_t member;
    zip_stat_init(&member);
    if (zip_stat_index(archive.get(), static_cast<zip_uint64_t>(i), 0, &member) != 0 || !member.name) {
      throw Error(ErrorCode::bad_file, fmt::format("{}: member {} has no entry", path.string(), i));
    }
    std::string name = member.name;
    const std::string shown = fmt::format("{}, member {}", path.string(), in_quotes(name));
    if (!name.ends_with(".npy")) throw Error(ErrorCode::bad_file, fmt::format("{}: not a .npy file", shown));
    member.index = static_cast<zip_uint64_t>(i);
    check_member(member, archive_size, shown);
    name.resize(name.size() - 4);
    arrays.push_back({std::move(name), read_member(archive.get(), member, shown)});
  }
  return arrays;
}

void write_npz(const std::filesystem::path& path, const std::vector<NamedNpyView>& arrays) {
  const auto fail = [&](zip_error_t* error) {
    throw Error(ErrorCode::io,
                fmt::format("{} could not be written: {}", path.string(), zip_error_strerror(error)));
  };
  AtomicFile file(path);  // first, so that an unwritable place is known before the work
  zip_error_t error;
  zip_error_init(&error);
  const Source buffer(zip_source_buffer_create(nullptr, 0, 0, &error));
  if (!buffer) fail(&error);
  zip_source_keep(buffer.get());  // zip_open takes one reference, we read the result through ours
  Archive archive(zip_open_from_source(buffer.get(), ZIP_TRUNCATE, &error));
  if (!archive) fail(&error);

  std::vector<std::string> headers;  // alive until zip_close has read them
  headers.reserve(arrays.size());
  for (const NamedNpyView& named : arrays) {
    headers.push_back(npy_header_for(named.array.type, named.array.shape));
    // libzip wants to know every fragment's bytes; it does not write through these pointers.
    const std::array<zip_buffer_fragment_t, 2> parts = {{
        {reinterpret_cast<zip_uint8_t*>(headers.back().data()), headers.back().size()},
        {static_cast<zip_uint8_t*>(const_cast<void*>(named.array.data)), named.array.byte_size()},
    }};
    const zip_uint64_t used = parts[1].length > 0 ? 2 : 1;
    zip_source_t* source = zip_source_buffer_fragment(archive.get(), parts.data(), used, 0);
    if (!source) fail(zip_get_error(archive.get()));
    const zip_int64_t index =
        zip_file_add(archive.get(), (named.name + ".npy").c_str(), source, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
      zip_source_free(source);
      fail(zip_get_error(archive.get()));
    }
    zip_set_file_compression(archive.get(), static_cast<zip_uint64_t>(index), ZIP_CM_STORE, 0);
    zip_file_set_mtime(archive.get(), static_cast<zip_uint64_t>(index), 315532800,
                       0);  // 1980: same bytes each time
  }
  if (zip_close(archive.get()) != 0) fail(zip_get_error(archive.get()));
  (void)archive.release();  // zip_close freed it

  if (zip_source_open(buffer.get()) != 0) fail(zip_source_error(buffer.get()));
  std::vector<std::byte> chunk(1 << 20);
  zip_int64_t got = 0;
  while ((got = zip_source_read(buffer.get(), chunk.data(), chunk.size())) > 0) {
    file.write({chunk.data(), static_cast<std::size_t>(got)});
  }
  if (got < 0) fail(zip_source_error(buffer.get()));
  zip_source_close(buffer.get());
  file.commit();
}

}  // namespace sharpmax
