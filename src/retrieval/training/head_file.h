// Heads and checkpoints as .safetensors files: one tensor for each part of the head, under its name, in the
// precision of training; how it was trained stands in the metadata.
//
// Loading checks all of it: the format's name, the settings, that the tensors are those of such a head and
// no others, their shapes, and that every number is one. Errors are {bad_file}, with the byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "learning/loss_curve.h"
#include "retrieval/head/head.h"
#include "retrieval/training/training.h"

namespace sharpmax::retrieval {

using learning::LossCurve;

void save_head(const std::filesystem::path& path, const Head& head);
Head load_head(const std::filesystem::path& path);

// A training that was interrupted, or has ended.
struct Checkpoint {
  std::string arm;
  TrainingSettings training;
  std::uint64_t seed = 0;
  TrainingState state;
  std::vector<double> loss_sums;  // LossCurve's
};

void save_state(const std::filesystem::path& path, const Checkpoint& checkpoint);
Checkpoint load_state(const std::filesystem::path& path);

}  // namespace sharpmax::retrieval
