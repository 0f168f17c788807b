#include "job_thread.h"

#include <omp.h>

#include <utility>

#include "job/saved_results.h"

namespace sharpmax::python {
namespace {

std::string in_words(const Interruption& interruption) {
  const std::string sentence = spoken(interruption.sentence, Speech::python);
  return interruption.can_go_on ? sentence + "; the same call with resume=True goes on from there" : sentence;
}

}  // namespace

JobThread::JobThread(std::function<void(Listener&)> job, bool resuming) : resuming_(resuming) {
  // How many threads OpenMP would use is a property of the thread that asks: the caller's counts.
  thread_ = std::thread([this, job = std::move(job), threads = omp_get_max_threads()] {
    omp_set_num_threads(threads);
    run(job);
  });
}

JobThread::~JobThread() { thread_.join(); }

void JobThread::run(const std::function<void(Listener&)>& job) {
  try {
    job(*this);
  } catch (const Interrupted&) {
    interruption_ = in_words(interruption_of(resumption_, resuming_));
  } catch (...) {
    failure_ = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

void JobThread::say(Said what, std::string_view words) {
  const std::lock_guard lock(mutex_);
  const bool replaces = what == Said::progress && !said_.empty() && said_.back().what == Said::progress;
  if (replaces)
    said_.back().words = words;
  else
    said_.push_back({what, std::string(words)});
  if (what == Said::progress) return;  // can wait for the next look
  urgent_ = true;
  changed_.notify_all();
}

void JobThread::on_pause() {
  if (cancelled_) throw Interrupted{};
}

std::vector<Saying> JobThread::hear(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, most, [this] { return ended_ || urgent_; });
  urgent_ = false;
  return std::exchange(said_, {});
}

bool JobThread::ended() {
  const std::lock_guard lock(mutex_);
  return ended_ && said_.empty();
}

void JobThread::rethrow() const {
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace sharpmax::python
