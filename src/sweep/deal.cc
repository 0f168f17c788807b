#include "sweep/deal.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>

namespace sharpmax {
namespace {

// Longest first; of these the own share, every size-th, before the others.
std::vector<std::size_t> order_of(const std::vector<Piece>& pieces, const Launch& launch) {
  std::vector<std::size_t> longest(pieces.size());
  std::iota(longest.begin(), longest.end(), std::size_t{0});
  std::stable_sort(longest.begin(), longest.end(),
                   [&](std::size_t a, std::size_t b) { return pieces[a].cost > pieces[b].cost; });
  std::vector<std::size_t> own, others;
  const auto size = static_cast<std::size_t>(launch.size), rank = static_cast<std::size_t>(launch.rank);
  for (std::size_t i = 0; i < longest.size(); ++i) (i % size == rank ? own : others).push_back(longest[i]);
  own.insert(own.end(), others.begin(), others.end());
  return own;
}

}  // namespace

void remove_partial_files_of(const std::filesystem::path& file) {
  const std::string begin = file.filename().string() + ".";
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(file.parent_path(), ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(begin) && name.ends_with(".partial")) std::filesystem::remove(entry.path(), ignored);
  }
}

Deal::Deal(const Claims& claims, std::vector<Piece> pieces, const Launch& launch)
    : claims_(claims),
      pieces_(std::move(pieces)),
      order_(order_of(pieces_, launch)),
      states_(pieces_.size(), State::open) {}

bool Deal::is_done(std::size_t index) {
  if (states_[index] == State::open && std::filesystem::exists(pieces_[index].file)) states_[index] = State::done;
  return states_[index] == State::done;
}

std::optional<Deal::Taken> Deal::next() {
  return next([](std::size_t) { return true; });
}

std::optional<Deal::Taken> Deal::next(const std::function<bool(std::size_t)>& ready) {
  const std::lock_guard guard(mutex_);
  for (const std::size_t index : order_) {
    if (states_[index] != State::open || is_done(index) || !ready(index)) continue;
    std::optional<Claim> claim = claims_.take(pieces_[index].name);
    if (!claim || is_done(index)) continue;  // done: its owner ended between the two looks
    if (claim->locked()) {
      remove_partial_files_of(pieces_[index].file);
      for (const std::filesystem::path& file : pieces_[index].before) remove_partial_files_of(file);
    }
    states_[index] = State::taken;
    return Taken{index, std::move(*claim)};
  }
  return std::nullopt;
}

std::size_t Deal::left() {
  const std::lock_guard guard(mutex_);
  std::size_t count = 0;
  for (std::size_t i = 0; i < pieces_.size(); ++i) count += states_[i] == State::open && !is_done(i) ? 1 : 0;
  return count;
}

void wait_for_others() { std::this_thread::sleep_for(std::chrono::milliseconds(100)); }

}  // namespace sharpmax
