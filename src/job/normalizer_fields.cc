#include "job/normalizer_fields.h"

namespace sharpmax {
namespace {

AnyNormalizer parsed(const Field& field, std::string_view text, std::string_view hint = "") {
  try {
    return AnyNormalizer::parse(text);
  } catch (const Error& error) {
    throw RequestError(error.code(), named(field.name) + ": " + error.what() + std::string(hint));
  }
}

}  // namespace

std::string field_text(const AnyNormalizer& value) { return value.text(); }

void read_field(const Field& field, std::string_view text, AnyNormalizer& value) { value = parsed(field, text); }
void read_field(const Field& field, std::string_view text, std::optional<AnyNormalizer>& value) {
  value = parsed(field, text);
}
void read_field(const Field& field, std::string_view text, std::vector<AnyNormalizer>& values) {
  values.clear();
  for (const std::string_view piece : pieces_of(text, kSeparator<AnyNormalizer>)) {
    const bool commas = piece.find(',') != std::string_view::npos;
    values.push_back(parsed(field, piece, commas ? " (normalizers are separated by ';')" : ""));
  }
}

}  // namespace sharpmax
