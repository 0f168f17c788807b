// The header of a .npy file: a Python dictionary in text, read by a parser that knows only that
// dictionary.
#include <fmt/format.h>

#include <array>
#include <limits>
#include <optional>

#include "base/in_quotes.h"
#include "sharpmax/error.h"
#include "storage/npy.h"

namespace sharpmax {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxNpyRank = 32;  // NumPy's own limit for most of its life

struct NpyName {
  NpyType type;
  std::string_view descr;
  std::size_t size;
};
constexpr std::array<NpyName, 6> kNpyTypes = {{{NpyType::float16, "<f2", 2},
                                              {NpyType::float32, "<f4", 4},
                                              {NpyType::float64, "<f8", 8},
                                              {NpyType::boolean, "|b1", 1},
                                              {NpyType::int64, "<i8", 8},
                                              {NpyType::uint16, "<u2", 2}}};

const NpyName& named(NpyType type) noexcept {
  for (const NpyName& t : kNpyTypes) {
    if (t.type == type) return t;
  }
  return kNpyTypes[1];
}

class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::uint64_t offset, std::string_view name)
      : text_(text), offset_(offset), name_(name) {}

  NpyHeader parse() {
    expect('{');
    while (!accept('}')) {
      read_entry();
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (at_ < text_.size()) fail("something follows the closing brace of the header");
    if (!descr_) fail("the header has no 'descr'");
    if (!fortran_) fail("the header has no 'fortran_order'");
    if (!shape_) fail("the header has no 'shape'");
    NpyHeader header;
    header.type = *descr_;
    header.fortran_order = *fortran_;
    header.shape = std::move(*shape_);
    header.shape_offset = shape_offset_;
    return header;
  }

 private:
  [[noreturn]] void fail_at(std::uint64_t byte, const std::string& what) const {
    throw Error(ErrorCode::bad_file, fmt::format("{}: at byte {}: {}", name_, byte, what));
  }
  [[noreturn]] void fail(const std::string& what) const { fail_at(offset_ + at_, what); }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (accept(c)) return;
    if (at_ >= text_.size()) fail(fmt::format("the header ends before a '{}'", c));
    fail(fmt::format("found {}, expected '{}'", in_quotes(text_.substr(at_, 1)), c));
  }

  void read_entry() {
    skip_space();
    const std::uint64_t start = offset_ + at_;
    const std::string_view key = read_string();
    expect(':');
    const auto once = [&](bool seen) {
      if (seen) fail_at(start, fmt::format("the header gives {} twice", in_quotes(key)));
    };
    if (key == "descr") {
      once(descr_.has_value());
      descr_ = read_type();
    } else if (key == "fortran_order") {
      once(fortran_.has_value());
      fortran_ = read_bool();
    } else if (key == "shape") {
      once(shape_.has_value());
      shape_ = read_shape();
    } else {
      fail_at(start, fmt::format("the header has an unknown entry {}", in_quotes(key)));
    }
  }

  std::string_view read_string() {
    skip_space();
    if (at_ >= text_.size()) fail("the header ends before a quoted word");
    const char quote = text_[at_];
    if (quote != '\'' && quote != '"') {
      fail(fmt::format("found {}, expected a quoted word", in_quotes(text_.substr(at_, 1))));
    }
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("a quoted word in the header never ends");
    const std::string_view word = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return word;
  }

  NpyType read_type() {
    skip_space();
    const std::uint64_t start = offset_ + at_;
    if (at_ < text_.size() && text_[at_] == '[') fail("a structured array; expected plain numbers");
    const std::string_view descr = read_string();
    for (const NpyName& t : kNpyTypes) {
      if (t.descr == descr) return t.type;
    }
    if (!descr.empty() && descr[0] == '>') {
      fail_at(start, fmt::format("type {} is big-endian; expected little-endian", in_quotes(descr)));
    }
    if (descr == "|O") fail_at(start, "an array of Python objects (pickle), which is never read");
    fail_at(start,
            fmt::format("type {}; expected one of '<f2', '<f4', '<f8', '|b1', '<i8', '<u2'", in_quotes(descr)));
  }

  bool read_bool() {
    skip_space();
    for (const auto& [word, value] : {std::pair{std::string_view("True"), true}, {"False", false}}) {
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    }
    fail("'fortran_order' must be True or False");
  }

  std::vector<std::int64_t> read_shape() {
    skip_space();
    shape_offset_ = offset_ + at_;
    expect('(');
    std::vector<std::int64_t> shape;
    while (!accept(')')) {
      shape.push_back(read_extent());
      if (shape.size() > kMaxNpyRank) fail(fmt::format("the shape has more than {} dimensions", kMaxNpyRank));
      if (!accept(',')) {
        if (shape.size() == 1) fail("a shape of one dimension is written (n,)");
        expect(')');
        break;
      }
    }
    return shape;
  }

  std::int64_t read_extent() {
    skip_space();
    const std::size_t start = at_;
    std::int64_t value = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, text_[at_] - '0', &value)) {
        fail_at(offset_ + start, "an extent of the shape does not fit 64 bits");
      }
      ++at_;
    }
    if (at_ == start) {
      if (at_ < text_.size() && text_[at_] == '-') fail("an extent of the shape is negative");
      fail("expected a whole number in the shape");
    }
    return value;
  }

  std::string_view text_;
  std::uint64_t offset_;  // of text_ in the file
  std::string_view name_;
  std::size_t at_ = 0;
  std::optional<NpyType> descr_;
  std::optional<bool> fortran_;
  std::optional<std::vector<std::int64_t>> shape_;
  std::uint64_t shape_offset_ = 0;
};

std::uint64_t little_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

// Extents of 0 make an empty array, but the others must still be sizes that could be.
std::uint64_t checked_bytes(const NpyHeader& header, std::string_view name) {
  std::int64_t product = static_cast<std::int64_t>(size_of(header.type));
  bool empty = false;
  for (const std::int64_t extent : header.shape) {
    if (extent == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(product, extent, &product)) {
      throw Error(ErrorCode::bad_file, fmt::format("{}: at byte {}: the extents of the shape multiply to "
                                                   "more than 64 bits",
                                                   name, header.shape_offset));
    }
  }
  return empty ? 0 : static_cast<std::uint64_t>(product);
}

}  // namespace

std::size_t size_of(NpyType type) noexcept { return named(type).size; }
std::string_view descr_of(NpyType type) noexcept { return named(type).descr; }

NpyHeader parse_npy_header(std::span<const std::byte> start, std::uint64_t file_size, std::string_view name) {
  const auto fail = [&](std::uint64_t byte, const std::string& what) {
    throw Error(ErrorCode::bad_file, fmt::format("{}: at byte {}: {}", name, byte, what));
  };
  const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
  if (text.empty()) fail(0, "the file is empty");
  if (!text.starts_with(kMagic)) fail(0, "not a .npy file: it does not start with \\x93NUMPY");
  if (text.size() < 8) fail(text.size(), "the file ends before its version");
  const int major = static_cast<unsigned char>(text[6]);
  const int minor = static_cast<unsigned char>(text[7]);
  if (major < 1 || major > 3 || minor != 0) {
    fail(6, fmt::format("version {}.{}; expected 1.0, 2.0 or 3.0", major, minor));
  }
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::size_t header_begin = 8 + length_bytes;
  if (text.size() < header_begin) fail(text.size(), "the file ends before the length of its header");
  const std::uint64_t length = little_endian(start.subspan(8, length_bytes));
  if (length > file_size - header_begin) {
    fail(8, fmt::format("the header is said to have {} bytes, but {} are left", length,
                        file_size - header_begin));
  }
  if (length > start.size() - header_begin) {
    fail(8, fmt::format("the header is said to have {} bytes; more than {} are refused", length,
                        kNpyHeaderLimit));
  }
  NpyHeader header = HeaderParser(text.substr(header_begin, length), header_begin, name).parse();
  header.data_offset = header_begin + length;
  header.data_bytes = checked_bytes(header, name);
  const std::uint64_t left = file_size - header.data_offset;
  if (header.data_bytes != left) {
    fail(header.data_offset, fmt::format("the shape asks for {} bytes of data, but {} {}", header.data_bytes,
                                         left, left > header.data_bytes ? "follow" : "are left"));
  }
  return header;
}

std::string npy_header_for(NpyType type, std::span<const std::int64_t> shape) {
  std::string extents;
  for (const std::int64_t extent : shape) extents += fmt::format("{},", extent);
  if (shape.size() > 1) extents.pop_back();
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr_of(type), extents);
  constexpr std::size_t kPrefix = 10;  // magic, version 1.0, two bytes of length
  constexpr std::size_t kAlign = 64;
  text.append(kAlign - 1 - (kPrefix + text.size()) % kAlign, ' ');
  text += '\n';
  std::string header(kMagic);
  header += {'\x01', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return header + text;
}

}  // namespace sharpmax
