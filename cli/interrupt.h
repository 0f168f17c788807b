// Interrupts of a call: a signal sets a flag, the command ends at its next pause and says how to go on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sharpmax/job.h"

namespace sharpmax::cli {

using sharpmax::Interrupted;

// Handler of SIGINT and SIGTERM: the first sets the flag, the second ends the process immediately.
void handle_interrupts();
bool interrupt_requested() noexcept;

// How the program was started, fit to be typed in a shell; "sharpmax" until it is set.
void set_program(std::string typed);
// Forgets what an earlier call left. words: what followed the program.
void begin_call(std::vector<std::string> words);

// From here on the same call with --resume goes on. kept: "finished chunks are saved"; more: words that the
// command needs besides, such as --directory and its value.
void can_resume(std::string kept, std::vector<std::string> more = {});
// From here on an interrupt loses what the sentence says; the sentence may say how to avoid that.
void cannot_resume(std::string lost);

// What an interrupted call tells a user of the command line, or of Python, where options are keywords.
std::string interrupt_sentence(Speech speech);

}  // namespace sharpmax::cli
