// Parts that the jobs of the library share: a Listener, sentences that name fields, and lists of fields.
//
// A job is a function: it takes a request, reports to a Listener what it does and returns a typed result, which to_json() and
// from_json() write and read. Jobs share no state, so several may run in one process at the same time.
#pragma once

#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sharpmax/error.h"

namespace sharpmax {

using Json = nlohmann::ordered_json;

// Language in which a sentence names the fields of a request: `json` in C++, `json=` in Python, `--json FILE` on the
// command line.
enum class Speech { cpp, python, command_line };

// Names of fields for the sentences of a job. A sentence is written once, and spoken() puts in the names of each language.
std::string named(std::string_view field);                          // text            text            --text
std::string named(std::string_view field, std::string_view value);  // cache = float16 cache='float16' --cache float16
std::string flagged(std::string_view field);                        // resume          resume=True     --resume
std::string given(std::string_view field, std::string_view shape);  // json            json=           --json FILE
std::string operand(std::string_view field);                        // head            head            HEAD
std::string spoken(std::string_view sentence, Speech speech);

// The option of a field: --least-size for least_size, --for for for_, MODEL for model, -o for report.
std::string option_of(std::string_view field);

// An error about fields of a request. what() names them as C++ does, spoken() as any language does.
class RequestError : public Error {
 public:
  RequestError(ErrorCode code, const std::string& sentence)
      : Error(code, sharpmax::spoken(sentence, Speech::cpp)), sentence_(sentence) {}
  std::string spoken(Speech speech) const { return sharpmax::spoken(sentence_, speech); }

 private:
  std::string sentence_;
};

// Thrown by a Listener to end a job, which saves what it can. Not a std::exception, so no handler takes it for an error.
struct Interrupted {};

// What becomes of a job that is interrupted now.
struct Resumption {
  bool possible = false;    // the same request with `resume` goes on
  std::string sentence;     // "finished chunks are saved", or what would be lost and how to avoid that
  std::string directory;    // of the run that would go on, if it is kept in one
};

// Hears a job. Every function may be called by any thread, one at a time; the defaults do nothing.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void on_progress(std::string_view line);        // where the job is, empty at its end; may throw Interrupted
  virtual void on_pause();                                // between pieces of work; may throw Interrupted
  virtual void on_narration(std::string_view sentence);   // a remark, in the language of speech()
  virtual void on_text(std::string_view text);            // generated text, as it comes
  virtual void on_resumption(const Resumption& resumption);
  virtual Speech speech() const { return Speech::cpp; }

  // For jobs: a sentence with named() fields.
  void narrate(std::string_view sentence) { on_narration(spoken(sentence, speech())); }
  // For jobs: a line of progress, which is a pause too.
  void proceed(std::string_view line) {
    on_pause();
    on_progress(line);
  }
};

// A Listener that does nothing.
Listener& nobody();

// Values that a field may have. Empty: any.
struct Domain {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  std::vector<std::string_view> choices;
};
Domain range(double least, double most = std::numeric_limits<double>::infinity());
Domain one_of(std::vector<std::string_view> choices);

// A list of texts that may hold any character, so that each is given on its own: --rule A --rule B.
struct Texts : std::vector<std::string> {
  using std::vector<std::string>::vector;
};

// One field of a request. Each request lists its fields once, in Request::each_field(request, visit), which calls
// visit(Field, value) for each; options, keywords, documentation and checks are made from that list.
struct Field {
  enum class Kind {
    value,
    normalizer,  // text of a normalizer
    input,       // path of a file to read; "-" is standard input where the command line allows it
    table,       // the same, or the JSON itself
    output,      // path of a file or directory to write
    memory,      // contents in place of a file: FILE_string beside FILE; not on the command line
  };
  std::string_view name;     // snake_case
  std::string_view shape;    // of its value in help: N, FILE; empty for a flag
  std::string_view group;    // heading in help
  std::string_view meaning;  // one line, which starts with the noun it describes
  Domain domain = {};
  Kind kind = Kind::value;
  bool operand = false;  // a word of its own on the command line, not the value of an option
  bool common = false;   // in the short help of a command; the others are in --help-all
};
// The field, marked as common.
Field common(Field field);

// As above; its name in capitals for an operand.
std::string option_of(const Field& field);

// What a result says about where it comes from.
struct Provenance {
  std::string sharpmax;  // version
  std::string command;   // that asks the command line for the same
  std::string created;   // UTC, 2026-01-31T23:59:59Z
};

}  // namespace sharpmax
