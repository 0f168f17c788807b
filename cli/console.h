// The console and one call of the program on it: data go to standard output, everything else to standard error. A signal
// sets a flag, the call ends at its next pause and says how to go on.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sharpmax/job.h"

namespace sharpmax::cli {

using sharpmax::Interrupted;
using sharpmax::Json;

enum ExitCode : int { kOk = 0, kCheckFailed = 1, kUsage = 2, kBadFile = 3, kLimit = 4, kInterrupted = 130 };

// All that main() does. An error becomes one sentence on standard error and an exit code; an interrupt ends the
// call with kInterrupted. One at a time in a process, whose signals it handles.
int program_main(int argc, char** argv);

// Handler of SIGINT and SIGTERM: the first sets the flag, the second ends the process immediately.
void handle_interrupts();
// A point between pieces of work, where an interrupt ends the command: it throws Interrupted.
void pause();

// Fit to be typed in a shell, with a space before each word.
std::string quoted_words(std::span<const std::string> words);

// What was typed, and what becomes of it if it is interrupted.
struct Call {
  std::string program = "sharpmax";  // how it was started, fit to be typed in a shell
  std::vector<std::string> words;    // that followed
  std::optional<Resumption> told;    // what the job said last about resuming; its sentence names options

  // As results say it: the same from the command line and `python -m sharpmax`.
  std::string command() const { return "sharpmax" + quoted_words(words); }
  void cannot_resume(std::string lost) { told = Resumption{false, std::move(lost), ""}; }
  // Its last words when it is interrupted, with the command that goes on.
  std::string interrupt_sentence() const;
};

// Whether standard output is a terminal.
bool prints_to_a_terminal();

// All of it.
std::string standard_input();

// Throws Error{io} if standard output does not take it (a full disk, a closed descriptor).
void print(std::string_view text);
// Text to a file, or to standard output if that is "-". Nothing for an empty name.
void deliver(const std::string& where, const std::string& text);
// Pretty-printed, doubles with all the digits they have; not-a-number and infinities are null.
std::string json_text(const Json& data);

// Text as it comes, shown immediately. On a terminal control characters other than a line feed and a tab are
// shown, not obeyed: the text may be anyone's.
void print_stream(std::string_view text);
// Ends a line that print_stream() left open on a terminal. Safe in a signal handler.
void end_open_line() noexcept;

// A sentence of narration, on stderr.
void narrate(std::string_view sentence);

// One line of progress that overwrites itself where stderr is a terminal. Elsewhere it is silent, or a line
// every ten seconds.
class Progress {
 public:
  enum class Elsewhere { silent, lines };

  explicit Progress(Elsewhere elsewhere = Elsewhere::silent);
  ~Progress();  // wipes the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void show(std::string_view what);  // a pause() too

 private:
  void put(std::string_view what);

  bool terminal_;
  Elsewhere elsewhere_;
  std::chrono::steady_clock::time_point last_line_ = std::chrono::steady_clock::now();
};

// Hears a job for the console: progress and narration go to standard error, generated text to standard output.
class ConsoleListener : public Listener {
 public:
  enum class Remarks { shown, silent };

  // prints: generated text goes to standard output.
  explicit ConsoleListener(Call& call, bool prints = true, Progress::Elsewhere elsewhere = Progress::Elsewhere::lines,
                           Remarks remarks = Remarks::shown)
      : call_(call), prints_(prints), remarks_(remarks), progress_(elsewhere) {}
  void on_progress(std::string_view line) override {
    if (remarks_ == Remarks::silent) return pause();
    progress_.show(line);
  }
  void on_pause() override { pause(); }
  void on_narration(std::string_view sentence) override {
    if (remarks_ == Remarks::shown) cli::narrate(sentence);  // not Listener::narrate()
  }
  void on_text(std::string_view text) override {
    if (prints_) print_stream(text);
  }
  void on_resumption(const Resumption& resumption) override {
    call_.told = Resumption{resumption.possible, spoken(resumption.sentence, speech()), resumption.directory};
  }
  Speech speech() const override { return Speech::command_line; }

 private:
  Call& call_;
  bool prints_;
  Remarks remarks_;
  Progress progress_;
};

}  // namespace sharpmax::cli
