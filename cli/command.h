// What a subcommand is: it adds its words to the command line and returns what to do when
// they were given. Most are verbs (verbs.h), which door.h makes subcommands of.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>

namespace sharpmax::cli {

enum ExitCode : int { kOk = 0, kCheckFailed = 1, kUsage = 2, kBadFile = 3, kLimit = 4, kInterrupted = 130 };

// Words that do not parse: a sentence, and kUsage.
struct Usage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Command {
  CLI::App* words = nullptr;
  std::function<int()> run;  // returns an exit code, or throws Error
};

Command add_attend(CLI::App& program);
Command add_bench(CLI::App& program);
Command add_completion(CLI::App& program);

// What was typed, or what would have been typed to ask for the same; run_program() sets it.
std::string& command_line();
// Fit to be typed in a shell, with a space before each word.
std::string quoted_words(std::span<const std::string> words);

// When this is, in UTC: "2026-01-31T23:59:59Z"; results say it as "created".
std::string utc_now();

// json: as --json of every command; empty: print for people.
int print_version(bool verbose, const std::string& json);

}  // namespace sharpmax::cli
