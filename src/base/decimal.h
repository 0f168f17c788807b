// Numbers as text, the same on every machine and in every locale.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sharpmax {

// The double nearest to a decimal number such as -1.5e3. None where the text is anything else, has anything
// around it, or is out of range.
std::optional<double> parse_decimal(std::string_view text);

// The shortest digits that read back as the same double.
std::string decimal_text(double value);

}  // namespace sharpmax
