#include "cli/console.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "job/field_values.h"
#include "job/saved_results.h"
#include "sharpmax/error.h"
#include "storage/files.h"

namespace sharpmax::cli {
namespace {

// State of the process, as signals are.
std::atomic<bool> interrupt_requested = false;
std::atomic<bool> line_is_open = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // so they may be used in a signal handler

extern "C" void on_interrupt(int) {
  if (!interrupt_requested.exchange(true)) return;
  remove_unfinished_files();
  end_open_line();
  ::_exit(kInterrupted);
}

bool has(const Call& call, std::string_view word) {
  return std::find(call.words.begin(), call.words.end(), word) != call.words.end();
}

// The text came by standard input, which must be given again.
bool reads_standard_input(const Call& call) {
  const auto piped = [](const auto& word, const auto& next) { return word == "--text" && next == "-"; };
  return has(call, "--text=-") || std::adjacent_find(call.words.begin(), call.words.end(), piped) != call.words.end();
}

std::string command_to_resume(const Call& call) {
  std::vector<std::string> words = call.words;
  const std::string directory = call.told ? call.told->directory : "";
  if (!directory.empty() && !has(call, "--directory")) words.insert(words.end(), {"--directory", directory});
  if (!has(call, "--resume") && !has(call, "--join")) words.push_back("--resume");
  if (!directory.empty()) std::erase(words, "--overwrite");  // which would begin again
  return call.program + quoted_words(words);
}

}  // namespace

void handle_interrupts() {
  interrupt_requested = false;
  struct sigaction action {};
  action.sa_handler = on_interrupt;  // without SA_RESTART: a read that waits for input ends too
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

void pause() {
  if (interrupt_requested) throw Interrupted{};
}

std::string quoted_words(std::span<const std::string> words) {
  std::string line;
  for (const std::string& word : words) line += " " + quoted_word(word);
  return line;
}

std::string Call::interrupt_sentence() const {
  const auto [can_go_on, sentence] = interruption_of(told, has(*this, "--resume"));
  if (!can_go_on) return sentence;
  const char* const also = reads_standard_input(*this) ? ", with the same text on standard input" : "";
  return fmt::format("{}; continue{} with: {}", sentence, also, command_to_resume(*this));
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

void deliver(const std::string& where, const std::string& text) {
  if (where == "-")
    print(text);
  else if (!where.empty())
    write_text(where, text);
}

std::string json_text(const Json& data) {
  return data.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

namespace {

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
  line_is_open = false;
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
    if (elsewhere_ == Elsewhere::silent || now - last_line_ < kBetweenLines) return;
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
