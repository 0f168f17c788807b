// The command line as functions: for main(), and for programs that have it inside themselves.
#pragma once

#include <span>
#include <string>

namespace sharpmax::cli {

// Parses the words (without the program's name) and does what they say. Returns kOk, or kCheckFailed where
// that is the finding. Throws Usage, Error, std::bad_alloc, and what a Listener threw.
// One at a time in a process: who listens and what was typed are global.
int run_program(std::span<const std::string> words);

// The same, but an error becomes one sentence on standard error and an exit code.
int run_or_complain(std::span<const std::string> words);

// All that main() does: signals, then run_or_complain(). An interrupt ends the process with kInterrupted.
int program_main(int argc, char** argv);

}  // namespace sharpmax::cli
