// The console: data go to standard output, everything else to standard error.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "sharpmax/job.h"

namespace sharpmax::cli {

using sharpmax::Json;

// A point between pieces of work, where an interrupt ends the command: it throws Interrupted.
void pause();

// Whether what is printed goes to a terminal.
bool prints_to_a_terminal();

// All of it.
std::string standard_input();

// Throws Error{io} if standard output does not take it (a full disk, a closed descriptor).
void print(std::string_view text);
// Pretty-printed, doubles with all the digits they have; not-a-number and infinities are null.
std::string json_text(const Json& data);

// Text as it comes, shown at once. On a terminal control characters other than a line feed and a tab are
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

}  // namespace sharpmax::cli
