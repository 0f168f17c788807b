// Bytes compressed as gzip (RFC 1952), which browsers unpack.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace sharpmax {

// The same bytes for the same text, whenever it is written: no name, no date. Throws Error{io} if memory runs out.
std::vector<std::uint8_t> gzip_of(std::string_view text);

}  // namespace sharpmax
