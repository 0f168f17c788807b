#include "storage/digest.h"

#include <fmt/format.h>
#include <nettle/base64.h>
#include <nettle/sha2.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace sharpmax {
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

}  // namespace sharpmax
