#include "cli/interrupt.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <optional>

#include "cli/command.h"
#include "cli/console.h"
#include "job/saved_results.h"
#include "storage/files.h"

namespace sharpmax::cli {
namespace {

std::atomic<bool> requested = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // so it may be set in a signal handler

extern "C" void on_interrupt(int) {
  if (!requested.exchange(true)) return;
  remove_unfinished_files();
  end_open_line();
  ::_exit(kInterrupted);
}

struct Call {
  std::vector<std::string> words;
  std::optional<Resumption> told;

  bool has(std::string_view word) const { return std::find(words.begin(), words.end(), word) != words.end(); }
  // The text came by standard input, which must be given again.
  bool read_standard_input() const {
    const auto piped = [](const auto& word, const auto& next) { return word == "--text" && next == "-"; };
    return has("--text=-") || std::adjacent_find(words.begin(), words.end(), piped) != words.end();
  }
};

Call& call() {
  static Call one;
  return one;
}

std::string& program() {
  static std::string typed = "sharpmax";
  return typed;
}

std::string command_to_resume() {
  std::vector<std::string> words = call().words;
  const std::string directory = call().told ? call().told->directory : "";
  if (!directory.empty() && !call().has("--directory")) words.insert(words.end(), {"--directory", directory});
  if (!call().has("--resume")) words.push_back("--resume");
  if (call().words.front() == "retrieve" || call().words.front() == "train") std::erase(words, "--overwrite");  // which would begin again
  return program() + quoted_words(words);
}

}  // namespace

void handle_interrupts() {
  requested = false;
  struct sigaction action {};
  action.sa_handler = on_interrupt;  // without SA_RESTART: a read that waits for input ends too
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

bool interrupt_requested() noexcept { return requested; }

void set_program(std::string typed) { program() = std::move(typed); }

void begin_call(std::vector<std::string> words) { call() = Call{.words = std::move(words)}; }

void tell_resumption(Resumption resumption) { call().told = std::move(resumption); }

std::string interrupt_sentence() {
  const auto [can_go_on, sentence] = interruption_of(call().told, call().has("--resume"));
  if (!can_go_on) return sentence;
  const char* const also = call().read_standard_input() ? ", with the same text on standard input" : "";
  return fmt::format("{}; continue{} with: {}", sentence, also, command_to_resume());
}

}  // namespace sharpmax::cli
