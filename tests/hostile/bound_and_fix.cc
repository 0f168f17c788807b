// Results and requests of bound() and fix() that are wrong in one place: refused with a sentence that names the place.
#include <gtest/gtest.h>

#include "job/saved_results.h"
#include "sharpmax/bound.h"
#include "sharpmax/fix.h"
#include "support/tiny_model.h"
#include "support/wrong_json.h"

namespace sharpmax::test {
namespace {

// Throws RequestError with these words for C++, Python and the command line.
template <class Job>
void expect_said(const Job& job, const std::string& cpp, const std::string& python, const std::string& command_line) {
  try {
    job();
    ADD_FAILURE() << "was accepted: " << cpp;
  } catch (const RequestError& error) {
    EXPECT_EQ(error.what(), cpp);
    EXPECT_EQ(error.spoken(Speech::python), python);
    EXPECT_EQ(error.spoken(Speech::command_line), command_line);
  }
}

TEST(BoundRequests, ASentenceNamesTheFieldAsEachLanguageDoes) {
  expect_said([] { bound({}); }, "no spread was given; give spread or model", "no spread was given; give spread= or model",
                "no spread was given; give --spread X or MODEL");
  expect_said([] { bound({.spread = -1}); }, "spread is -1; it must be 0 or more, and finite",
                "spread is -1; it must be 0 or more, and finite", "--spread is -1; it must be 0 or more, and finite");
  expect_said([] { bound({.spread = 1, .n = {2.5}}); }, "n is 2.5; it must be a whole number of keys from 1 to 1e300",
                "n is 2.5; it must be a whole number of keys from 1 to 1e300",
                "--n is 2.5; it must be a whole number of keys from 1 to 1e300");
  expect_said([] { bound({.spread = 1, .n = {}}); }, "n has 0 numbers; it must have 1 to 64",
                "n has 0 numbers; it must have 1 to 64", "--n has 0 numbers; it must have 1 to 64");
  expect_said([] { bound({.spread = 1, .normalizer = {"ssmax:s=1/2"}}); },
                "normalizer = ssmax:s=1/2: a bound is of one head; each parameter must have one value",
                "normalizer='ssmax:s=1/2': a bound is of one head; each parameter must have one value",
                "--normalizer ssmax:s=1/2: a bound is of one head; each parameter must have one value");
  expect_said([] { bound({.spread = 1e308, .beta = 1e10}); }, "spread times beta is beyond what a double holds",
                "spread times beta is beyond what a double holds", "--spread times --beta is beyond what a double holds");
  expect_said([] { bound_model({.peak = 1}); }, "peak is 1; it must be above 0 and below 1",
                "peak is 1; it must be above 0 and below 1", "--peak is 1; it must be above 0 and below 1");
}

TEST(BoundResults, WrongJsonIsRefusedInOneSentence) {
  const Json good = to_json(bound({.spread = 3.0, .n = {16}, .normalizer = {"softmax", "linear"}, .peak = 0.5}));
  EXPECT_NE(refusal_of(bound_result, Json::array()).find("not results of schema sharpmax.bound.spread/1"), std::string::npos);
  EXPECT_EQ(refusal_of(bound_result, {{"schema", "sharpmax.fix/1"}}),
            "these are results of schema sharpmax.fix/1; expected sharpmax.bound.spread/1");
  for (const char* key : {"command", "created", "spread", "scores", "peak", "softmax", "softmax_lost", "normalizers"}) {
    Json json = good;
    json.erase(key);
    EXPECT_NE(refusal_of(bound_result, json).find(key), std::string::npos);
  }
  EXPECT_GT(put_wrong_values_everywhere(bound_result, good), 100);
}

class JobsOfATinyModel : public testing::Test {
 protected:
  JobsOfATinyModel() {
    TinyModel{.context = 128, .vocabulary = 256, .reads_bytes = true}.write(folder_ / "m.gguf");
    std::string text;
    for (int i = 0; i < 20; ++i) text += "It was the age of wisdom. ";
    put(folder_ / "text.txt", text);
    put(folder_ / "task.jsonl", "{\"prompt\": \"a\", \"answer\": \"b\"}\n{\"prompt\": \"b\", \"answer\": \"b\"}\n");
  }
  FixRequest request() const {
    FixRequest request;
    request.model.model = folder_ / "m.gguf";
    request.text.text = folder_ / "text.txt";
    request.task = folder_ / "task.jsonl";
    request.tokens = 64;
    request.length = 64;
    request.rule = {"softmax:beta=1.5"};
    request.no_search = true;
    return request;
  }
  Folder folder_{"hostile-jobs"};
};

TEST_F(JobsOfATinyModel, BoundsOfAModelThatAreWrongAreRefused) {
  Json good = Json::parse(results_text(to_json(bound_model({.model = {.model = folder_ / "m.gguf"}}))));
  good["heads"].erase(good["heads"].begin() + 1, good["heads"].end());
  for (const char* key : {"model", "peak", "rope_scaling", "horizon", "verdict", "heads"}) {
    Json json = good;
    json.erase(key);
    EXPECT_NE(refusal_of(model_bound_result, json).find(key), std::string::npos);
  }
  EXPECT_GT(put_wrong_values_everywhere(model_bound_result, good), 100);
}

TEST_F(JobsOfATinyModel, ResultsOfAFixThatAreWrongAreRefused) {
  const Json good = to_json(fix(request()));
  for (const char* key : {"settings", "complete", "trials", "survey"}) {
    Json json = good;
    json.erase(key);
    EXPECT_NE(refusal_of(fix_result, json).find(key), std::string::npos);
  }
  const auto with = [&](const char* place, const Json& value) {
    Json json = good;
    json[Json::json_pointer(place)] = value;
    return refusal_of(fix_result, json);
  };
  EXPECT_EQ(with("/trials", Json::array()), "not complete results: the first trial has no held-out part");
  EXPECT_EQ(with("/trials/1/tuning/right/0", "10101"),
            "not complete results: two outcomes are not of the same text and questions");
  EXPECT_EQ(with("/trials/0/tuning/runs/0/1", 0), "a run of 0 tokens from 0 on; it must have 1 to 32");
  EXPECT_EQ(with("/settings/for", "fun"), "not complete results: 'fun' is not a goal; it must be text, task or both");
  EXPECT_GT(put_wrong_values_everywhere(fix_result, good), 100);
}

TEST_F(JobsOfATinyModel, ASentenceNamesTheFieldAsEachLanguageDoes) {
  const auto asked = [&](const auto& change) {
    return [change, this] {
      FixRequest wrong = request();
      change(wrong);
      fix(wrong);
    };
  };
  expect_said(asked([](FixRequest& r) { r.saving.resume = true; }), "resume goes with json or directory",
              "resume=True goes with json= or directory=", "--resume goes with --json FILE or --directory DIR");
  expect_said(asked([](FixRequest& r) { r.budget = 3; }), "no_search excludes budget", "no_search excludes budget",
                "--no-search excludes --budget");
  expect_said(asked([](FixRequest& r) { r.for_ = "fun"; }), "for_ is 'fun'; it must be text, task or both",
                "for_ is 'fun'; it must be text, task or both", "--for is 'fun'; it must be text, task or both");
  expect_said(asked([](FixRequest& r) { r.lengths = {99}; }),
                "lengths and questions are for generated questions; those of task are taken as they are",
                "lengths and questions are for generated questions; those of task are taken as they are",
                "--lengths and --questions are for generated questions; those of --task are taken as they are");
  expect_said(asked([](FixRequest& r) { r.length = 4096; }),
                "length = 4096: the context has room for 128 tokens; context makes it larger",
                "length=4096: the context has room for 128 tokens; context makes it larger",
                "--length 4096: the context has room for 128 tokens; --context makes it larger");
  expect_said(asked([](FixRequest& r) { r.tokens = 3; }), "tokens is 3; it must be from 64 to 1099511627776",
                "tokens is 3; it must be from 64 to 1099511627776", "--tokens is 3; it must be from 64 to 1099511627776");
}

}  // namespace
}  // namespace sharpmax::test
