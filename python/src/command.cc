#include "command.h"

#include <omp.h>

#include "cli/interrupt.h"
#include "cli/program.h"

namespace sharpmax::python {

Command::Command(std::vector<std::string> words, std::string standard_input)
    : standard_input_(std::move(standard_input)) {
  // How many threads OpenMP would use is a property of the thread that asks: the caller's counts.
  thread_ = std::thread([this, words = std::move(words), threads = omp_get_max_threads()] {
    omp_set_num_threads(threads);
    run(words);
  });
}

Command::~Command() { thread_.join(); }

void Command::run(const std::vector<std::string>& words) {
  try {
    const cli::Listening listening(*this);
    code_ = cli::run_program(words);
  } catch (const cli::Interrupted&) {
    interruption_ = cli::interrupt_sentence(Speech::python);
  } catch (...) {
    failure_ = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

void Command::say(Said what, std::string_view words) {
  const std::lock_guard lock(mutex_);
  const bool replaces = what == Said::progress && !said_.empty() && said_.back().what == Said::progress;
  if (replaces)
    said_.back().words = words;
  else
    said_.push_back({what, std::string(words)});
  if (what == Said::progress) return;  // can wait for the listener's next look
  urgent_ = true;
  changed_.notify_all();
}

void Command::on_pause() {
  if (cancelled_) throw cli::Interrupted{};
}

void Command::on_progress(std::string_view line) {
  on_pause();
  say(Said::progress, line);
}

void Command::on_results(const cli::Json& results) {
  results_ = results.dump(-1, ' ', false, cli::Json::error_handler_t::replace);
}

std::vector<Saying> Command::hear(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, most, [this] { return ended_ || urgent_; });
  urgent_ = false;
  return std::exchange(said_, {});
}

bool Command::ended() {
  const std::lock_guard lock(mutex_);
  return ended_ && said_.empty();
}

int Command::code() const {
  if (failure_) std::rethrow_exception(failure_);
  return code_;
}

}  // namespace sharpmax::python
