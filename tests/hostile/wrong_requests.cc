// Wrong requests of every kind of job: the C++ door says what the table says. The command line and Python are held to the
// same table by python/tests/engine/test_engine_sentences.py.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "sharpmax/audit.h"
#include "sharpmax/bound.h"
#include "sharpmax/fit.h"
#include "sharpmax/fix.h"
#include "sharpmax/generate.h"
#include "sharpmax/perplexity.h"
#include "sharpmax/retrieval.h"
#include "sharpmax/train.h"
#include "storage/files.h"
#include "support/files.h"

namespace sharpmax::test {
namespace {

template <class Request>
Request of_a_model() {
  Request request;
  request.model.model = "model.gguf";
  if constexpr (requires { request.text; }) request.text.text = "text.txt";
  return request;
}

// One wrong request each, under the name that the table has for it.
const std::map<std::string, std::function<void()>>& wrong_jobs() {
  static const std::map<std::string, std::function<void()>> jobs = {
      {"bound", [] { bound({.spread = -1}); }},
      {"perplexity",
       [] {
         auto request = of_a_model<PerplexityRequest>();
         request.length = 1;
         perplexity(request);
       }},
      {"audit",
       [] {
         auto request = of_a_model<AuditRequest>();
         request.saving.resume = true;
         audit_model(request);
       }},
      {"fix",
       [] {
         auto request = of_a_model<FixRequest>();
         request.no_search = true;
         request.budget = 3;
         fix(request);
       }},
      {"retrieve",
       [] {
         RetrievalRequest request;
         request.training.least_size = 20;
         retrieve(request);
       }},
      {"fit",
       [] {
         FitRequest request;
         request.head = "head.safetensors";
         request.only = "some";
         fit(request);
       }},
      {"train",
       [] {
         TrainRequest request;
         request.task.task = "lookup";
         request.test.normalizers = {"softmax"};
         request.test.sizes = {16, 16};
         train_models(request);
       }},
      {"run",
       [] {
         auto request = of_a_model<GenerateRequest>();
         request.prompt = {"a"};
         request.top_p = 2;
         generate(request);
       }},
  };
  return jobs;
}

TEST(WrongRequests, SayTheSameInEveryLanguageWithItsOwnNames) {
  const Json table = Json::parse(read_text(source_folder() / "tests/support/wrong_requests.json"));
  EXPECT_EQ(table.size(), wrong_jobs().size());
  for (const Json& row : table) {
    SCOPED_TRACE(row.at("job").get<std::string>());
    try {
      wrong_jobs().at(row.at("job").get<std::string>())();
      ADD_FAILURE() << "was accepted";
    } catch (const RequestError& error) {
      EXPECT_EQ(error.what(), row.at("cpp").get<std::string>());
      EXPECT_EQ(error.spoken(Speech::python), row.at("python").get<std::string>());
      EXPECT_EQ(error.spoken(Speech::command_line), row.at("command_line").get<std::string>());
    }
  }
}

}  // namespace
}  // namespace sharpmax::test
