#include "cli/command.h"
namespace sharpmax::cli { Command add_bench(CLI::App& program) { return {program.add_subcommand("bench","x"), []{return 0;}}; } }
