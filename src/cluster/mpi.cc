// A group over MPI. Only bytes are moved, by collectives that do not block; whoever waits long sleeps between looks.
//
// Every rank tells rank 0 when it enters a call, and now and then while it waits. So rank 0 knows of whom it has not heard for
// longest, whether that rank computes or hangs within a call, and names it and its host when patience ends; the others wait a
// little longer, so that the sentence is rank 0's if rank 0 lives.
#define OMPI_SKIP_MPICXX 1   // the interface of C is all that is used
#define MPICH_SKIP_MPICXX 1  // likewise
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <limits>
#include <string>
#include <thread>

#include "cluster/launched_group.h"
#include "sharpmax/error.h"

namespace sharpmax {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSignTag = 1;

// MPI between its beginning and its end, unless the program has begun it itself. A process that failed leaves without the
// end, which would wait for the others; the launcher then ends them.
class MpiSession {
 public:
  static MpiSession& get() {
    static MpiSession session;
    return session;
  }
  void give_up() { failed_ = true; }

 private:
  MpiSession() {
    int begun = 0, given = 0;
    MPI_Initialized(&begun);
    ours_ = !begun;
    if (ours_) MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given);
  }
  ~MpiSession() {
    int ended = 0;
    if (!ours_) return;
    MPI_Finalized(&ended);
    if (!failed_ && !ended) MPI_Finalize();
  }
  bool failed_ = false, ours_ = true;
};

std::string host_name() {
  std::array<char, MPI_MAX_PROCESSOR_NAME + 1> name{};
  int length = 0;
  MPI_Get_processor_name(name.data(), &length);
  return {name.data(), static_cast<std::size_t>(length)};
}

int count_of(std::size_t bytes) {
  if (bytes > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw Error(ErrorCode::unsupported, fmt::format("a message of {} bytes is too long; at most 2147483647 are allowed", bytes));
  return static_cast<int>(bytes);
}

// Sizes of all ranks' parts as MPI wants them.
struct Places {
  std::vector<int> counts, offsets;
  std::size_t total = 0;

  explicit Places(std::span<const std::int64_t> sizes) {
    for (const std::int64_t size : sizes) {
      counts.push_back(count_of(static_cast<std::size_t>(size)));
      offsets.push_back(count_of(total));
      total += static_cast<std::size_t>(size);
    }
    count_of(total);
  }
  std::vector<Group::Bytes> cut(const Group::Bytes& all) const {
    std::vector<Group::Bytes> parts;
    for (std::size_t p = 0; p < counts.size(); ++p)
      parts.emplace_back(all.begin() + offsets[p], all.begin() + offsets[p] + counts[p]);
    return parts;
  }
};

class MpiGroup final : public Group {
 public:
  explicit MpiGroup(double patience) : session_(MpiSession::get()), patience_(patience) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    heard_.resize(static_cast<std::size_t>(size_));
    const std::string host = host_name();
    for (const Bytes& name : gather(std::as_bytes(std::span(host))))
      hosts_.emplace_back(reinterpret_cast<const char*>(name.data()), name.size());
  }
  ~MpiGroup() override {
    if (std::uncaught_exceptions() > 0) session_.give_up();
  }

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }

  std::vector<Bytes> gather(std::span<const std::byte> mine) override {
    show_life();
    const auto own = static_cast<std::int64_t>(mine.size());
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(size_));
    MPI_Request request = MPI_REQUEST_NULL;
    begin_gather(&own, 1, MPI_INT64_T, sizes.data(), request);
    wait(request);
    const Places places(sizes);
    Bytes all(places.total);
    begin_gather(mine, all, places, request);
    wait(request);
    return places.cut(all);
  }

  std::vector<Bytes> exchange(std::span<const Bytes> to) override {
    show_life();
    std::vector<std::int64_t> outgoing, incoming(static_cast<std::size_t>(size_));
    Bytes mine;
    for (const Bytes& part : to) {
      outgoing.push_back(static_cast<std::int64_t>(part.size()));
      mine.insert(mine.end(), part.begin(), part.end());
    }
    MPI_Request request;
    MPI_Ialltoall(outgoing.data(), 1, MPI_INT64_T, incoming.data(), 1, MPI_INT64_T, MPI_COMM_WORLD, &request);
    wait(request);
    const Places from(outgoing), into(incoming);
    Bytes all(into.total);
    MPI_Ialltoallv(mine.data(), from.counts.data(), from.offsets.data(), MPI_BYTE, all.data(), into.counts.data(),
                   into.offsets.data(), MPI_BYTE, MPI_COMM_WORLD, &request);
    wait(request);
    return into.cut(all);
  }

  Bytes broadcast(std::span<const std::byte> bytes, int root) override {
    show_life();
    auto length = static_cast<std::int64_t>(bytes.size());
    MPI_Request request;
    MPI_Ibcast(&length, 1, MPI_INT64_T, root, MPI_COMM_WORLD, &request);
    wait(request);
    Bytes all(static_cast<std::size_t>(length));
    if (rank_ == root) std::copy(bytes.begin(), bytes.end(), all.begin());
    MPI_Ibcast(all.data(), count_of(all.size()), MPI_BYTE, root, MPI_COMM_WORLD, &request);
    wait(request);
    return all;
  }

 private:
  // Patience is for real time, so a simulated rank shows and hears nothing.
  void show_life() {
#ifndef SHARPMAX_SIMULATED_MPI
    shown_ = Clock::now();
    const std::byte sign{};
    if (rank_ != 0) MPI_Send(&sign, 1, MPI_BYTE, 0, kSignTag, MPI_COMM_WORLD);  // small: it does not wait for rank 0
#endif
  }

  void hear_signs() {
    for (;;) {
      int here = 0;
      MPI_Status status;
      MPI_Iprobe(MPI_ANY_SOURCE, kSignTag, MPI_COMM_WORLD, &here, &status);
      if (!here) return;
      std::byte sign{};
      MPI_Recv(&sign, 1, MPI_BYTE, status.MPI_SOURCE, kSignTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      heard_[static_cast<std::size_t>(status.MPI_SOURCE)] = Clock::now();
    }
  }

#ifdef SHARPMAX_SIMULATED_MPI
  // Ranks take turns on one thread, so none may sleep; and collectives that do not block take a message per pair of ranks.
  void wait(MPI_Request& request) { MPI_Wait(&request, MPI_STATUS_IGNORE); }
  static void begin_gather(const void* own, int count, MPI_Datatype type, void* all, MPI_Request&) {
    MPI_Allgather(own, count, type, all, count, type, MPI_COMM_WORLD);
  }
  static void begin_gather(std::span<const std::byte> own, Bytes& all, const Places& places, MPI_Request&) {
    MPI_Allgatherv(own.data(), count_of(own.size()), MPI_BYTE, all.data(), places.counts.data(), places.offsets.data(), MPI_BYTE,
                   MPI_COMM_WORLD);
  }
#else
  static void begin_gather(const void* own, int count, MPI_Datatype type, void* all, MPI_Request& request) {
    MPI_Iallgather(own, count, type, all, count, type, MPI_COMM_WORLD, &request);
  }
  static void begin_gather(std::span<const std::byte> own, Bytes& all, const Places& places, MPI_Request& request) {
    MPI_Iallgatherv(own.data(), count_of(own.size()), MPI_BYTE, all.data(), places.counts.data(), places.offsets.data(),
                    MPI_BYTE, MPI_COMM_WORLD, &request);
  }
  void wait(MPI_Request& request) {
    constexpr double kAwake = 2e-4;  // seconds: a short round costs less than a sleep
    constexpr auto kLongest = std::chrono::microseconds(2000);
    constexpr double kLonger = 1.1, kMoreSeconds = 2.0;  // of the ranks that leave the sentence to rank 0
    constexpr double kSigns = 8.0;                       // in the time of rank 0's patience
    constexpr double kLongestLook = 0.1;                 // seconds: a rank that was itself stopped has not waited meanwhile
    const auto seconds_since = [](Clock::time_point then) { return std::chrono::duration<double>(Clock::now() - then).count(); };
    auto looked = Clock::now();
    double waited = 0.0;
    const double patience = rank_ == 0 ? patience_ : kLonger * patience_ + kMoreSeconds;
    auto pause = std::chrono::microseconds(10);
    for (;;) {
      int done = 0;
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (rank_ == 0) hear_signs();
      if (done) return;
      waited += std::min(seconds_since(looked), kLongestLook);
      looked = Clock::now();
      if (waited < kAwake) {
        std::this_thread::yield();
        continue;
      }
      if (waited > patience) lose_patience();
      if (seconds_since(shown_) > patience_ / kSigns) show_life();
      std::this_thread::sleep_for(pause);
      pause = std::min(2 * pause, kLongest);
    }
  }
#endif

  [[noreturn]] void lose_patience() const {
    const auto who = static_cast<std::size_t>(rank_ == 0 ? std::min_element(heard_.begin() + 1, heard_.end()) - heard_.begin() : 0);
    throw Error(ErrorCode::io, fmt::format("rank {} on host {} has been silent for {:g} seconds, and the others wait for it; "
                                           "they end",
                                           who, who < hosts_.size() ? hosts_[who] : "?", patience_));
  }

  MpiSession& session_;
  double patience_;
  int rank_ = 0, size_ = 1;
  Clock::time_point shown_;               // when this rank last showed that it lives
  std::vector<Clock::time_point> heard_;  // when rank 0 last heard of each rank
  std::vector<std::string> hosts_;
};

}  // namespace

std::unique_ptr<Group> mpi_group(const Launch& launch, double patience) {
  const bool speaks = launch.launcher == "mpirun" || std::getenv("PMIX_RANK") || std::getenv("PMI_RANK");
  if (!speaks)
    throw Error(ErrorCode::unsupported,
                fmt::format("{} started {} processes without MPI, which they need to work together; start them with mpirun{}",
                            launch.launcher, launch.size, launch.launcher == "srun" ? " or srun --mpi=pmix" : ""));
  auto group = std::make_unique<MpiGroup>(patience);
  if (group->size() != launch.size)
    throw Error(ErrorCode::unsupported,
                fmt::format("{} says that it started {} processes, and MPI knows of {}; the MPI of the launcher is not the one "
                            "that sharpmax was built with",
                            launch.launcher, launch.size, group->size()));
  return group;
}

}  // namespace sharpmax
