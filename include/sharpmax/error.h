// The one exception of the library. It is thrown at the doors only (parsing, validation,
// planning); once a kernel runs, nothing throws but the functions of a CustomNormalizer.
#pragma once

#include <stdexcept>
#include <string>

namespace sharpmax {

enum class ErrorCode {
  bad_argument,  // shapes, strides, parameters, text that does not parse
  bad_file,      // the file is there, but is not what it should be
  unsupported,   // well-formed, but not something this library does
  io,            // the operating system said no
  limit,         // well-formed, but more than there is room for
  memory,        // more than the memory of this machine
};

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace sharpmax
