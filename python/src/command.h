// One command that runs on a thread of its own while the thread that asked for it listens.
//
// So callbacks are called, and signals handled, by the thread that called from Python, and no thread of OpenMP
// ever needs the interpreter.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cli/console.h"

namespace sharpmax::python {

enum class Said { text, narration, progress };

struct Saying {
  Said what;
  std::string words;
};

class Command : private cli::Listener {
 public:
  Command(std::vector<std::string> words, std::string standard_input);
  ~Command();  // waits for its end
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  // What was said since: at once where it is more than progress, else after that time. Of progress in a row
  // the last alone.
  std::vector<Saying> hear(std::chrono::milliseconds most);
  bool ended();
  // It ends at its next pause.
  void cancel() noexcept { cancelled_ = true; }

  // After its end: the exit code, or what it threw.
  int code() const;
  // How an interrupted one goes on, in a sentence; empty where it was not interrupted.
  const std::string& interruption() const noexcept { return interruption_; }
  // JSON; empty where it came to no results.
  const std::string& results() const noexcept { return results_; }

 private:
  void on_text(std::string_view text) override { say(Said::text, text); }
  void on_narration(std::string_view sentence) override { say(Said::narration, sentence); }
  void on_progress(std::string_view line) override;
  void on_pause() override;
  void on_results(const cli::Json& results) override;
  std::string standard_input() override { return standard_input_; }

  void say(Said what, std::string_view words);
  void run(const std::vector<std::string>& words);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Saying> said_;
  bool urgent_ = false, ended_ = false;
  std::atomic<bool> cancelled_ = false;
  std::string standard_input_, results_, interruption_;
  int code_ = 0;
  std::exception_ptr failure_;
  std::thread thread_;  // last: it uses all the others
};

}  // namespace sharpmax::python
