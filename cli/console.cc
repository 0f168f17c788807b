#include "cli/console.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "cli/interrupt.h"
#include "sharpmax/error.h"

namespace sharpmax::cli {

void pause() {
  if (interrupt_requested()) throw Interrupted{};
}

bool prints_to_a_terminal() { return ::isatty(STDOUT_FILENO) == 1; }

std::string standard_input() {
  std::string text;
  std::array<char, 1 << 16> piece{};
  for (;;) {
    pause();  // a signal ends the wait for more
    const ssize_t got = ::read(STDIN_FILENO, piece.data(), piece.size());
    if (got > 0) text.append(piece.data(), static_cast<std::size_t>(got));
    if (got == 0) return text;
    if (got < 0 && errno != EINTR)
      throw Error(ErrorCode::io, fmt::format("standard input could not be read: {}", std::strerror(errno)));
  }
}

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    if (errno == EINTR) pause();  // a reader that took nothing
    throw Error(ErrorCode::io, fmt::format("standard output could not be written: {}", std::strerror(errno)));
  }
}

std::string json_text(const Json& data) {
  return data.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

namespace {

volatile std::sig_atomic_t line_is_open = 0;

// Bytes below 0x20 and 0x7f as the picture of the control character, and the C1 controls of UTF-8 as a
// question mark.
std::string made_visible(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool c1 = byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (byte == 0x7f) {
      out += "\u2421";
    } else if (byte < 0x20 && byte != '\n' && byte != '\t') {
      out += {'\xe2', '\x90', static_cast<char>(0x80 + byte)};
    } else if (c1) {
      out += '?';
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

void print_stream(std::string_view text) {
  const bool terminal = prints_to_a_terminal();
  if (text.empty()) return;
  if (terminal) line_is_open = text.back() != '\n';
  print(terminal ? made_visible(text) : std::string(text));
}

void end_open_line() noexcept {
  if (!line_is_open) return;
  line_is_open = 0;
  [[maybe_unused]] const auto written = ::write(STDOUT_FILENO, "\n", 1);
}

void narrate(std::string_view sentence) {
  std::fwrite(sentence.data(), 1, sentence.size(), stderr);
  std::fputc('\n', stderr);
}

Progress::Progress(Elsewhere elsewhere)
    : terminal_(::isatty(STDERR_FILENO) == 1), elsewhere_(elsewhere) {}
Progress::~Progress() {
  if (terminal_) put("");
}

void Progress::show(std::string_view what) {
  pause();
  if (!terminal_) {
    if (what.empty()) return;  // which wipes the line on a terminal
    constexpr auto kBetweenLines = std::chrono::seconds(10);
    const auto now = std::chrono::steady_clock::now();
    if (what.empty() || elsewhere_ == Elsewhere::silent || now - last_line_ < kBetweenLines) return;
    last_line_ = now;
    narrate(what);
    return;
  }
  put(what);
}

void Progress::put(std::string_view what) {
  constexpr std::string_view kWipe = "\r\x1b[K";
  std::fwrite(kWipe.data(), 1, kWipe.size(), stderr);
  std::fwrite(what.data(), 1, what.size(), stderr);
  std::fflush(stderr);
}

}  // namespace sharpmax::cli
