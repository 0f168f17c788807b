// CLRS-Text (arXiv 2406.04229): runs of textbook algorithms as questions and answers, byte for byte those of the package
// dm-clrs 2.0.3 for a seed, with floats cut to three decimals.
//
//   minimum:
//   key: [0.548 0.715 0.602 0.544], initial_trace: 0
//   trace | min:
//   0, 0 | 3
//
// Where two keys of activity_selector or task_scheduling are equal, the first goes first; NumPy, which the package sorts
// by, leaves their order open above 16.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "train/clrs/random_state.h"

namespace sharpmax::train {

enum class Traces { without, with };

struct ClrsExample {
  std::string question, answer;
};

// A run of an algorithm in words: inputs with their names, the states that it goes through, and what it gives.
struct ClrsRun {
  std::string inputs;
  std::vector<std::string> states;            // the first is part of the question
  std::string names, traced_names;            // of what it gives, without and with a trace
  std::string result, traced_result;
};

struct ClrsAlgorithm {
  std::string_view name;
  std::int64_t smallest = 1;  // size
  ClrsRun (*run)(RandomState& random, std::int64_t size) = nullptr;
};

// Throws RequestError{bad_argument} for a name that is none of CLRS-30, Error{unsupported} for one that is not made here.
const ClrsAlgorithm& clrs_algorithm(std::string_view name);

ClrsExample clrs_example(const ClrsAlgorithm& algorithm, RandomState& random, std::int64_t size, Traces traces);

// Numbers, names and marks, each with the space before it: put end to end they are the text again.
std::vector<std::string> clrs_tokens(std::string_view text);

}  // namespace sharpmax::train
