#include "cli/console.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "sharpmax/error.h"

namespace sharpmax::cli {

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw Error(ErrorCode::io, fmt::format("standard output could not be written: {}", std::strerror(errno)));
  }
}

void print_json(const Json& data) { print(data.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"); }

void narrate(std::string_view sentence) {
  std::fwrite(sentence.data(), 1, sentence.size(), stderr);
  std::fputc('\n', stderr);
}

Progress::Progress(Elsewhere elsewhere) : terminal_(::isatty(STDERR_FILENO) == 1), elsewhere_(elsewhere) {}
Progress::~Progress() {
  if (terminal_) show("");
}

void Progress::show(std::string_view what) {
  if (!terminal_) {
    constexpr auto kBetweenLines = std::chrono::seconds(10);
    const auto now = std::chrono::steady_clock::now();
    if (elsewhere_ == Elsewhere::silent || now - last_line_ < kBetweenLines) return;
    last_line_ = now;
    narrate(what);
    return;
  }
  constexpr std::string_view kWipe = "\r\x1b[K";
  std::fwrite(kWipe.data(), 1, kWipe.size(), stderr);
  std::fwrite(what.data(), 1, what.size(), stderr);
  std::fflush(stderr);
}

}  // namespace sharpmax::cli
