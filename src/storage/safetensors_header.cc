// The header of a .safetensors file. nlohmann's parser reads the JSON and hands us every token; what may
// stand where, and what the numbers must say, is decided here.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>
#include <unordered_set>

#include "base/in_quotes.h"
#include "sharpmax/error.h"
#include "storage/files.h"
#include "storage/safetensors.h"

namespace sharpmax {
namespace {

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::size_t kMaxRank = 32;
constexpr std::string_view kMetadata = "__metadata__";
constexpr std::string_view kTypesAllowed = "F64, F32, F16, BF16, F8_E4M3, I64, I32, U8, BOOL";

class HeaderReader {
 public:
  using number_integer_t = std::int64_t;
  using number_unsigned_t = std::uint64_t;
  using number_float_t = double;
  using string_t = std::string;
  using binary_t = nlohmann::json::binary_t;

  HeaderReader(std::string_view text, std::uint64_t file_size, std::string_view name)
      : text_(text), file_size_(file_size), name_(name), furthest_(text.data()), token_end_(text.data()) {}

  SafetensorHeader read() {
    result_.data_offset = kLengthBytes + text_.size();
    const char* end = text_.data() + text_.size();
    nlohmann::json::sax_parse(CountingIterator(text_.data(), &furthest_), CountingIterator(end, &furthest_),
                              this);
    // The parser takes a zero byte for the end of the text.
    const char* rest = std::find_if(closed_, end, [](char c) { return !is_space(c); });
    if (rest != end) fail(offset_of(rest), "something follows the closing brace of the header");
    check_cover();
    return std::move(result_);
  }

  // Events of the parser.
  bool null() { unexpected("null"); }
  bool boolean(bool) { unexpected("true or false"); }
  bool number_integer(number_integer_t value) { unexpected(fmt::format("the number {}", value)); }
  bool number_float(number_float_t, const string_t& text) {
    unexpected(fmt::format("the number {}", in_quotes(text)));
  }
  bool binary(binary_t&) { unexpected("bytes"); }
  bool number_unsigned(number_unsigned_t value) {
    if (place_ != Place::list) unexpected(fmt::format("the number {}", value));
    if (list_->size() == list_limit_)
      fail(token(), fmt::format("{} of {} has more than {} numbers", field_, entry_words(), list_limit_));
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      fail(token(),
           fmt::format("{} of {} holds {}; expected a number below 2^63", field_, entry_words(), value));
    list_->push_back(static_cast<std::int64_t>(value));
    return next();
  }
  bool string(string_t& value) {
    if (place_ == Place::type) {
      const auto type = safetensor_type_from(value);
      if (!type)
        fail(token(),
             fmt::format("{} has dtype {}; expected one of {}", entry_words(), in_quotes(value), kTypesAllowed));
      entry_.type = *type;
      place_ = Place::entry;
    } else if (place_ == Place::metadata_value) {
      result_.metadata.emplace(key_, value);
      place_ = Place::metadata;
    } else {
      unexpected(in_quotes(value));
    }
    return next();
  }
  bool start_object(std::size_t) {
    if (place_ == Place::outside)
      place_ = Place::top;
    else if (place_ == Place::entry_start)
      place_ = Place::entry;
    else if (place_ == Place::metadata_start)
      place_ = Place::metadata;
    else
      unexpected("'{'");
    return next();
  }
  bool end_object() {
    if (place_ == Place::entry)
      finish_entry();
    else if (place_ == Place::top)
      closed_ = furthest_;
    place_ = Place::top;
    return next();
  }
  bool start_array(std::size_t) {
    if (place_ != Place::list_start) unexpected("'['");
    place_ = Place::list;
    return next();
  }
  bool end_array() {
    place_ = Place::entry;
    return next();
  }
  bool key(string_t& value) {
    if (place_ == Place::top)
      begin_entry(value);
    else if (place_ == Place::entry)
      begin_field(value);
    else
      begin_metadata(value);
    return next();
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) {
    // position counts the characters read, the offending one included.
    const std::uint64_t at = kLengthBytes + (position > 0 ? position - 1 : 0);
    fail(std::min<std::uint64_t>(at, result_.data_offset), "the header is not JSON from here on");
  }

 private:
  enum class Place {
    outside,      // before the first brace
    top,          // among names
    entry_start,  // a tensor's name was read
    entry,        // among dtype, shape, data_offsets
    type,
    list_start,
    list,
    metadata_start,
    metadata,
    metadata_value,
  };

  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
  std::uint64_t offset_of(const char* at) const {
    return kLengthBytes + static_cast<std::uint64_t>(at - text_.data());
  }
  // Where the token of this call starts: after the last one and what separates the two.
  std::uint64_t token() const {
    const char* end = text_.data() + text_.size();
    return offset_of(
        std::find_if(token_end_, end, [](char c) { return !is_space(c) && c != ',' && c != ':'; }));
  }
  bool next() {
    token_end_ = furthest_;
    return true;
  }
  std::string entry_words() const { return fmt::format("tensor {}", in_quotes(entry_.name)); }

  [[noreturn]] void fail(std::uint64_t at, const std::string& what) const {
    throw Error(ErrorCode::bad_file, fmt::format("{}: at byte {}: {}", name_, at, what));
  }
  [[noreturn]] void unexpected(const std::string& found) const {
    fail(token(), fmt::format("found {}; expected {}", found, wanted()));
  }
  std::string wanted() const {
    switch (place_) {
      case Place::type:
        return fmt::format("the dtype of {} in quotes", entry_words());
      case Place::list_start:
        return fmt::format("'[' and {} of {}", field_, entry_words());
      case Place::list:
        return fmt::format("whole numbers, 0 or more, as {} of {}", field_, entry_words());
      case Place::entry_start:
        return fmt::format("'{{' and dtype, shape and data_offsets of {}", entry_words());
      case Place::metadata_start:
        return fmt::format("'{{' and the words of {}", kMetadata);
      case Place::metadata_value:
        return fmt::format("text as the value of {} in {}", in_quotes(key_), kMetadata);
      default:
        return "'{'";
    }
  }

  void begin_entry(const std::string& name) {
    if (!names_.insert(name).second) fail(token(), fmt::format("{} is named twice", in_quotes(name)));
    if (name == kMetadata) {
      place_ = Place::metadata_start;
      return;
    }
    entry_ = {.name = name, .name_offset = token()};
    offsets_.clear();
    seen_type_ = seen_shape_ = seen_offsets_ = false;
    place_ = Place::entry_start;
  }
  void begin_field(const std::string& field) {
    bool* seen = field == "dtype" ? &seen_type_ : field == "shape" ? &seen_shape_ : &seen_offsets_;
    if (seen == &seen_offsets_ && field != "data_offsets")
      fail(token(), fmt::format("{} has {}; expected dtype, shape and data_offsets alone", entry_words(),
                                in_quotes(field)));
    if (*seen) fail(token(), fmt::format("{} has {} twice", entry_words(), field));
    *seen = true;
    field_ = field;
    list_ = field == "shape" ? &entry_.shape : &offsets_;
    list_limit_ = field == "shape" ? kMaxRank : 2;
    place_ = field == "dtype" ? Place::type : Place::list_start;
  }
  void begin_metadata(const std::string& key) {
    if (result_.metadata.contains(key))
      fail(token(), fmt::format("{} has {} twice", kMetadata, in_quotes(key)));
    key_ = key;
    place_ = Place::metadata_value;
  }

  void finish_entry() {
    const std::uint64_t at = entry_.name_offset;
    for (const auto& [seen, field] : {std::pair(seen_type_, "dtype"), std::pair(seen_shape_, "shape"),
                                      std::pair(seen_offsets_, "data_offsets")})
      if (!seen) fail(at, fmt::format("{} has no {}", entry_words(), field));
    if (offsets_.size() != 2)
      fail(at, fmt::format("data_offsets of {} hold {} numbers; expected 2", entry_words(), offsets_.size()));
    const auto begin = static_cast<std::uint64_t>(offsets_[0]);
    const auto end = static_cast<std::uint64_t>(offsets_[1]);
    if (begin > end)
      fail(at, fmt::format("{} begins at {} and ends at {} of the data; the end must not come first",
                           entry_words(), begin, end));
    const std::uint64_t data = file_size_ - result_.data_offset;
    if (end > data)
      fail(at, fmt::format("{} ends at {} of the data, but the file holds {} bytes of them", entry_words(),
                           end, data));
    check_size(end - begin);
    entry_.begin = result_.data_offset + begin;
    entry_.end = result_.data_offset + end;
    result_.tensors.push_back(std::move(entry_));
  }

  void check_size(std::uint64_t bytes) {
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    std::uint64_t product = size_of(entry_.type);
    bool empty = false;  // an overflow beside a zero is still one
    for (const std::int64_t extent : entry_.shape) {
      empty = empty || extent == 0;
      const auto factor = static_cast<std::uint64_t>(std::max<std::int64_t>(extent, 1));
      if (product > kMost / factor)
        fail(entry_.name_offset, fmt::format("the shape of {} needs more than 64 bits", entry_words()));
      product *= factor;
    }
    if (empty) product = 0;
    if (product != bytes)
      fail(entry_.name_offset, fmt::format("shape and dtype of {} ask for {} bytes, its data_offsets for {}",
                                           entry_words(), product, bytes));
    entry_.elements = product / size_of(entry_.type);
  }

  // Every byte of the data belongs to one tensor.
  void check_cover() {
    auto& tensors = result_.tensors;
    std::sort(tensors.begin(), tensors.end(), [](const SafetensorEntry& a, const SafetensorEntry& b) {
      return std::tie(a.begin, a.end, a.name_offset) < std::tie(b.begin, b.end, b.name_offset);
    });
    std::uint64_t covered = result_.data_offset;
    for (const SafetensorEntry& tensor : tensors) {
      const auto refuse = [&](std::string_view what) {
        fail(tensor.name_offset, fmt::format("tensor {} begins at byte {}, {}; expected byte {}",
                                             in_quotes(tensor.name), tensor.begin, what, covered));
      };
      if (tensor.begin < covered) refuse("within another tensor");
      if (tensor.begin > covered) refuse("after a hole");
      covered = tensor.end;
    }
    if (covered != file_size_)
      fail(covered, fmt::format("the tensors end here, but {} bytes follow", file_size_ - covered));
  }

  std::string_view text_;
  std::uint64_t file_size_;
  std::string_view name_;
  const char* furthest_;   // how far the parser has read
  const char* token_end_;  // how far it had read at the last token
  const char* closed_ = nullptr;
  SafetensorHeader result_;
  Place place_ = Place::outside;
  std::unordered_set<std::string> names_;
  SafetensorEntry entry_;
  std::vector<std::int64_t> offsets_;
  bool seen_type_ = false, seen_shape_ = false, seen_offsets_ = false;
  std::string field_, key_;
  std::vector<std::int64_t>* list_ = nullptr;
  std::size_t list_limit_ = 0;
};

}  // namespace

SafetensorHeader parse_safetensors_header(std::span<const std::byte> file, std::string_view name) {
  const auto fail = [&](std::uint64_t at, const std::string& what) {
    throw Error(ErrorCode::bad_file, fmt::format("{}: at byte {}: {}", name, at, what));
  };
  if (file.size() < kLengthBytes)
    fail(file.size(), "the file ends within the header's length; expected 8 bytes of it");
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) length |= std::to_integer<std::uint64_t>(file[i]) << (8 * i);
  if (length == 0) fail(0, "the header has length 0; expected at least '{}'");
  if (length > kSafetensorHeaderLimit)
    fail(0, fmt::format("not a .safetensors file: the header has length {}; expected at most {}", length, kSafetensorHeaderLimit));
  if (length > file.size() - kLengthBytes)
    fail(0,
         fmt::format("the header has length {}, but {} bytes are left", length, file.size() - kLengthBytes));
  const std::string_view text(reinterpret_cast<const char*>(file.data()) + kLengthBytes, length);
  if (text[0] != '{')
    fail(kLengthBytes, fmt::format("the header starts with {}; expected '{{'", in_quotes(text.substr(0, 1))));
  return HeaderReader(text, file.size(), name).read();
}

}  // namespace sharpmax
