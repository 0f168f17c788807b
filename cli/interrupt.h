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

// What becomes of the call if it is interrupted from here on; its sentence names options.
void tell_resumption(Resumption resumption);
inline void cannot_resume(std::string lost) { tell_resumption({false, std::move(lost), ""}); }

// What an interrupted call tells, with the command that goes on.
std::string interrupt_sentence();

}  // namespace sharpmax::cli
