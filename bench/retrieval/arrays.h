// What retrieval_steps and the peers hand each other: .npz files of float64 and int64 arrays.
//
// States: every part under its name (name_of), biases as vectors; "normalizer" for its learned parameters in
// definition order; "moment.NAME" for Adam's first moment of each.
#pragma once

#include <cstdint>
#include <filesystem>

#include "retrieval/head/head.h"
#include "retrieval/training/training.h"

namespace sharpmax::retrieval {

void write_state(const std::filesystem::path& path, const Head& head, const TrainingState& state);

// Parameters only: the moments are zero and the step is 0. `like` says which parts are wanted.
TrainingState read_state(const std::filesystem::path& path, const Head& like);

// priorities, classes: [steps, batch, largest_size], padded with 0; sizes, queries, answers: [steps, batch]
void write_batches(const std::filesystem::path& path, const TrainingSettings& settings, std::uint64_t seed,
                   std::int64_t steps);

// priorities, classes: [sets, n]; queries, answers: [sets]
void write_sets(const std::filesystem::path& path, const Head& head, std::int64_t n, std::int64_t sets);

// logits: [sets, classes], under the head's own normalizer, in double, set by set.
void write_logits(const std::filesystem::path& path, const Head& head, std::int64_t n, std::int64_t sets);

}  // namespace sharpmax::retrieval
