// Requests for the three forms of an audit, on a tiny model that reads text, and their results without what changes from
// one call to the next.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sharpmax/analysis.h"
#include "sharpmax/audit.h"
#include "sharpmax/probe.h"
#include "support/tiny_model.h"

namespace sharpmax::test {

inline const std::string kTinyText = [] {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "Line " + std::to_string(i * i) + " of a text that a tiny model reads.\n";
  return text;
}();

class TinyAudits {
 public:
  explicit TinyAudits(const std::string& name, float sharpened_by = 1) : folder_(name) {
    TinyModel{.context = 512, .vocabulary = 256, .sharpened_by = sharpened_by, .reads_bytes = true}.write(model());
  }
  std::string model() const { return folder_ / "m.gguf"; }
  std::string file(const std::string& name) const { return folder_ / name; }

  AuditRequest audit() const {
    AuditRequest request;
    request.lengths = {32, 100, 200};
    request.excerpts = 3;
    request.sketch = 60;
    request.model.model = model();
    request.text.text_string = kTinyText;
    return request;
  }
  AnalysisRequest analysis() const {
    AnalysisRequest request{.lengths = {16, 32, 64}};
    request.choices.analysis = "all";
    request.choices.tops = {1, 4, 30};
    request.choices.critical_most = 20;
    request.model.model = model();
    request.text.text_string = kTinyText;
    return request;
  }
  ProbeRequest probe() const {
    ProbeRequest request{.lengths = {150, 300}};
    request.questions.probe = "lookup";
    request.questions.questions = 3;
    request.model.model = model();
    return request;
  }

 private:
  Folder folder_;
};

// As text, without the time at which it was made, how long that took, and the command.
template <class Result>
std::string stable_text(const Result& result) {
  Json json = to_json(result);
  for (const char* changing : {"created", "seconds", "command"}) json.erase(changing);
  return json.dump(1, ' ', false, Json::error_handler_t::replace);  // a token may be a part of a letter
}

}  // namespace sharpmax::test
