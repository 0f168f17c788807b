#include "cli/interrupt.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "cli/command.h"
#include "cli/console.h"
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
  std::string kept, lost;
  std::vector<std::string> more;
  bool resumable = false;

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
  for (std::size_t i = 0; i + 1 < call().more.size(); i += 2)
    if (!call().has(call().more[i])) words.insert(words.end(), {call().more[i], call().more[i + 1]});
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

void can_resume(std::string kept, std::vector<std::string> more) {
  call().resumable = true;
  call().kept = std::move(kept);
  call().more = std::move(more);
}

void cannot_resume(std::string lost) {
  call().resumable = false;
  call().lost = std::move(lost);
}

std::string interrupt_sentence(Speech speech) {
  const bool before_any = !call().resumable && call().lost.empty();
  if (before_any && !call().has("--resume")) return "interrupted before anything was saved";
  if (!call().resumable && !before_any) return "interrupted; " + call().lost;
  const std::string kept = before_any ? "what was saved before is kept" : call().kept;
  const std::string also = call().read_standard_input() ? ", with the same text on standard input" : "";
  if (speech == Speech::python)
    return fmt::format("interrupted; {}; the same call with resume=True goes on from there", kept);
  return fmt::format("interrupted; {}; continue{} with: {}", kept, also, command_to_resume());
}

}  // namespace sharpmax::cli
