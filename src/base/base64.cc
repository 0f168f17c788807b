#include "base/base64.h"

#include <nettle/base64.h>

namespace sharpmax {

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

}  // namespace sharpmax
