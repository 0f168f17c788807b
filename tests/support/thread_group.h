// A Group of threads in one process: any number of ranks without MPI.
#pragma once

#include <barrier>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "sharpmax/cluster.h"

namespace sharpmax::test {

class ThreadGroup final : public Group {
 public:
  struct Shared {
    explicit Shared(int ranks) : barrier(ranks), slots(static_cast<std::size_t>(ranks)) {}
    std::barrier<> barrier;
    std::vector<std::vector<Bytes>> slots;  // [rank]: what it gave in this call
  };

  ThreadGroup(Shared& shared, int rank) : shared_(shared), rank_(rank) {}

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return static_cast<int>(shared_.slots.size()); }

  std::vector<Bytes> gather(std::span<const std::byte> mine) override {
    return take({Bytes(mine.begin(), mine.end())}, [](const std::vector<Bytes>& given) { return given[0]; });
  }
  std::vector<Bytes> exchange(std::span<const Bytes> to) override {
    return take({to.begin(), to.end()},
                [this](const std::vector<Bytes>& given) { return given[static_cast<std::size_t>(rank_)]; });
  }
  Bytes broadcast(std::span<const std::byte> bytes, int root) override {
    return gather(bytes)[static_cast<std::size_t>(root)];
  }

 private:
  template <class Pick>
  std::vector<Bytes> take(std::vector<Bytes> mine, const Pick& pick) {
    shared_.slots[static_cast<std::size_t>(rank_)] = std::move(mine);
    shared_.barrier.arrive_and_wait();
    std::vector<Bytes> all;
    for (const std::vector<Bytes>& given : shared_.slots) all.push_back(pick(given));
    shared_.barrier.arrive_and_wait();
    return all;
  }

  Shared& shared_;
  int rank_;
};

// body(group) on every rank, each on a thread of its own. All ranks must throw, or none.
inline void with_ranks(int ranks, const std::function<void(Group&)>& body) {
  ThreadGroup::Shared shared(ranks);
  std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      ThreadGroup group(shared, rank);
      try {
        body(group);
      } catch (...) {
        thrown[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& exception : thrown)
    if (exception) std::rethrow_exception(exception);
}

}  // namespace sharpmax::test
