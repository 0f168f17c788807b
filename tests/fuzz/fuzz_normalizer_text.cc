// Any text either is one Error or names a normalizer whose text() parses back to the same value.
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sharpmax/error.h"
#include "sharpmax/normalizer.h"

namespace {

// Bitwise, because a parameter may be NaN ("b not a number: -ln n").
bool same(const sharpmax::AnyNormalizer& a, const sharpmax::AnyNormalizer& b) {
  if (&a.definition() != &b.definition() || a.parameters().size() != b.parameters().size()) return false;
  for (std::size_t i = 0; i < a.parameters().size(); ++i) {
    const auto left = a.parameters()[i].values(), right = b.parameters()[i].values();
    if (left.size() != right.size()) return false;
    for (std::size_t j = 0; j < left.size(); ++j) {
      if (std::bit_cast<std::uint64_t>(left[j]) != std::bit_cast<std::uint64_t>(right[j])) return false;
    }
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const auto normalizer = sharpmax::AnyNormalizer::parse(text);
    // An Error here is a finding too: what we printed must parse.
    try {
      if (!same(normalizer, sharpmax::AnyNormalizer::parse(normalizer.text()))) std::abort();
    } catch (const sharpmax::Error&) {
      std::abort();
    }
  } catch (const sharpmax::Error& error) {
    if (error.code() != sharpmax::ErrorCode::bad_argument || std::string_view(error.what()).empty()) {
      std::abort();
    }
  }
  return 0;
}
