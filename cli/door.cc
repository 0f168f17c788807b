#include "cli/door.h"

#include "cli/interrupt.h"
#include "cli/table.h"

namespace sharpmax::cli {

void ConsoleListener::on_narration(std::string_view sentence) { cli::narrate(sentence); }  // not Listener::narrate()

void ConsoleListener::on_resumption(const Resumption& resumption) {
  tell_resumption({resumption.possible, spoken(resumption.sentence, speech()), resumption.directory});
}

bool takes_standard_output(std::string& file) {
  if (file != "-") return false;
  file.clear();
  return true;
}

void check_standard_output(const StandardOutput& output) {
  if (output.json && output.csv)
    throw RequestError(ErrorCode::bad_argument, named("json", "-") + " and " + named("csv", "-") +
                                                    " cannot both have standard output; give one of them a file");
}

int show(const Outcome& outcome, const StandardOutput& output) {
  if (outcome.interrupted) {
    if (output.json) print(outcome.written(outcome.results));
    throw Interrupted{};
  }
  print(output.json  ? outcome.written(outcome.results)
        : output.csv ? outcome.csv
                     : outcome.text(colour_wanted()));
  return outcome.ok ? kOk : kCheckFailed;
}

void read_standard_input(TextRequest& text) {
  if (text.text != "-") return;
  text.text.clear();
  text.text_string = standard_input();
}

void read_standard_input(GenerateRequest& request) {
  if (request.prompt_file != "-" || request.prompt) return;
  request.prompt_file.clear();
  request.prompt = standard_input();
}

}  // namespace sharpmax::cli
