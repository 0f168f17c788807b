// Normalizers as values of fields. Their parameters are separated by commas, so a list of them is separated by semicolons.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "job/field_values.h"
#include "sharpmax/normalizer.h"

namespace sharpmax {

template <>
inline constexpr char kSeparator<AnyNormalizer> = ';';

std::string field_text(const AnyNormalizer& value);
// Throw RequestError for text that is no normalizer.
void read_field(const Field& field, std::string_view text, AnyNormalizer& value);
void read_field(const Field& field, std::string_view text, std::optional<AnyNormalizer>& value);
void read_field(const Field& field, std::string_view text, std::vector<AnyNormalizer>& values);

}  // namespace sharpmax
