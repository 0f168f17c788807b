// Deal: hands out the pieces of a run, longest first, to the threads of a process and among processes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cluster/launch.h"
#include "sweep/claims.h"

namespace sharpmax {

struct Piece {
  std::string name;                           // of its claim; no two pieces of a run have the same
  double cost = 0.0;                          // in any unit, the same for all pieces of a deal
  std::filesystem::path file;                 // there when the piece is done
  std::vector<std::filesystem::path> before;  // written on the way
};

class Deal {
 public:
  // A process that a launcher started begins with its own share, so that few ask for the same piece at a time.
  Deal(const Claims& claims, std::vector<Piece> pieces, const Launch& launch);

  struct Taken {
    std::size_t index;  // of the piece, as given
    Claim claim;
  };
  // A piece that is not done and that nobody works on. Nothing if there is none now; others may still be at work.
  std::optional<Taken> next();
  // The same, of the pieces for which ready(index) holds.
  std::optional<Taken> next(const std::function<bool(std::size_t)>& ready);

  const std::vector<Piece>& pieces() const noexcept { return pieces_; }
  // Pieces that others work on, or that wait for such. Call it when nobody works on pieces of this process.
  std::size_t left();

 private:
  enum class State { open, taken, done };
  bool is_done(std::size_t index);

  const Claims& claims_;
  std::vector<Piece> pieces_;
  std::vector<std::size_t> order_;
  std::vector<State> states_;
  std::mutex mutex_;
};

// Removes what a killed owner of `file` was writing. For owners: only they write it.
void remove_partial_files_of(const std::filesystem::path& file);

// Waits a moment for other processes. Long enough to leave a file server alone, short against any piece.
void wait_for_others();

}  // namespace sharpmax
