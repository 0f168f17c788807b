// The command line as a function: for main(), and for `python -m sharpmax`.
#pragma once

namespace sharpmax::cli {

// All that main() does. An error becomes one sentence on standard error and an exit code; an interrupt ends the
// call with kInterrupted. One at a time in a process: signals and what was typed are global.
int program_main(int argc, char** argv);

}  // namespace sharpmax::cli
