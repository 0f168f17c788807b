// The status of a run: pieces that are done, pieces that are claimed, and their owners.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "sharpmax/sweep.h"
#include "sweep/deal.h"

namespace sharpmax {

// Pieces of a run, by their kind.
using PiecesByKind = std::vector<std::pair<std::string, std::vector<Piece>>>;

// Changes nothing and waits for nobody. Pieces may move on while it looks.
RunStatus status_of(const std::filesystem::path& root, const PiecesByKind& pieces);

// "20 heads to train: 44 of 64 processes have nothing to do until the tests, of which there are 220." Empty: all have.
std::string idle_sentence(const Launch& launch, const PiecesByKind& pieces);

// Warning for a file system that refuses locks.
std::string no_locks_sentence(const std::filesystem::path& root);

// The settings of the run in a directory. Throws RequestError{bad_argument} if it holds none.
Json settings_in_directory(const std::filesystem::path& root);

}  // namespace sharpmax
