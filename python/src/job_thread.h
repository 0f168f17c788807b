// One job that runs on a thread of its own while the thread that asked for it listens.
//
// So callbacks are called, and signals respected, by the thread that called from Python, and no thread of a job ever needs
// the interpreter. Several jobs may run at the same time, each with a thread and a listener of its own.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "sharpmax/job.h"

namespace sharpmax::python {

enum class Said { text, narration, progress };

struct Saying {
  Said what;
  std::string words;
};

class JobThread : private Listener {
 public:
  // resuming: the request goes on from what was saved.
  JobThread(std::function<void(Listener&)> job, bool resuming);
  ~JobThread();  // waits for its end
  JobThread(const JobThread&) = delete;
  JobThread& operator=(const JobThread&) = delete;

  // What was said since: immediately if it is more than progress, else after that time. Of several lines of progress in a
  // row only the last.
  std::vector<Saying> hear(std::chrono::milliseconds most);
  bool ended();
  // It ends at its next pause.
  void cancel() noexcept { cancelled_ = true; }

  // After its end: throws what it threw, except Interrupted.
  void rethrow() const;
  // How an interrupted one goes on, in a sentence; empty if it was not interrupted.
  const std::string& interruption() const noexcept { return interruption_; }

 private:
  void on_text(std::string_view text) override { say(Said::text, text); }
  void on_narration(std::string_view sentence) override { say(Said::narration, sentence); }
  void on_progress(std::string_view line) override { say(Said::progress, line); }
  void on_pause() override;
  void on_resumption(const Resumption& resumption) override { resumption_ = resumption; }
  Speech speech() const override { return Speech::python; }

  void say(Said what, std::string_view words);
  void run(const std::function<void(Listener&)>& job);

  bool resuming_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Saying> said_;
  bool urgent_ = false, ended_ = false;
  std::atomic<bool> cancelled_ = false;
  std::optional<Resumption> resumption_;
  std::string interruption_;
  std::exception_ptr failure_;
  std::thread thread_;  // last: it uses all the others
};

}  // namespace sharpmax::python
