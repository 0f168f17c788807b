// Data go to stdout, everything else to stderr; or all of it to a Listener, where the command line runs
// inside another program.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "sharpmax/job.h"

namespace sharpmax::cli {

using sharpmax::Json;

// A program that runs a command inside itself hears it through this instead of standard output and error.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void on_text(std::string_view text) = 0;           // of standard output
  virtual void on_narration(std::string_view sentence) = 0;  // without its line feed
  // Where the command is. Called by any thread, and between pieces of work: it may throw Interrupted to end
  // the command, which then saves what there is.
  virtual void on_progress(std::string_view line) = 0;
  // A point between pieces of work that are too short to be told of. It too may throw.
  virtual void on_pause() = 0;
  virtual void on_results(const Json& results) = 0;  // of the schema that --json of the command writes
  virtual std::string standard_input() = 0;
};

// Listens for as long as this lives, however that ends. One at a time in a process.
class Listening {
 public:
  explicit Listening(Listener& listener) noexcept;
  ~Listening();
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;
};

// The results, to a Listener if there is one; nothing is made otherwise.
void hand_over(const std::function<Json()>& results);

// Whether there is one.
bool is_heard();

// A point where a Listener may end the command; without one, where an interrupt does: it throws Interrupted.
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
// every ten seconds. A Listener hears every line.
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
