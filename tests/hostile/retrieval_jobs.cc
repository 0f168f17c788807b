// Requests and results of retrieve() and fit() that are not what they should be are refused in words, in every language.
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "retrieval/head/head.h"
#include "retrieval/training/training.h"
#include "support/files.h"
#include "support/retrieval_requests.h"

namespace sharpmax::test {
namespace {

struct Sentences {
  std::string cpp, python, command_line;
};

void expect_job_refused(const std::function<void()>& job, const Sentences& wanted, ErrorCode code = ErrorCode::bad_argument) {
  try {
    job();
    ADD_FAILURE() << "was accepted: " << wanted.cpp;
  } catch (const RequestError& error) {
    EXPECT_EQ(error.code(), code);
    EXPECT_EQ(error.what(), wanted.cpp);
    EXPECT_EQ(error.spoken(Speech::cpp), wanted.cpp);
    EXPECT_EQ(error.spoken(Speech::python), wanted.python);
    EXPECT_EQ(error.spoken(Speech::command_line), wanted.command_line);
  }
}

// With `change`, a request for a run is refused, and leaves no directory behind.
void expect_run_refused(const std::function<void(RetrievalRequest&)>& change, const Sentences& wanted,
                        ErrorCode code = ErrorCode::bad_argument) {
  const Folder folder("refused-run");
  RetrievalRequest request = short_run("paper", folder / "run");
  change(request);
  expect_job_refused([&] { retrieve(request); }, wanted, code);
  EXPECT_FALSE(std::filesystem::exists(folder / "run"));
}

TEST(RetrievalRequests, AreRefusedInTheNamesOfEachLanguage) {
  expect_run_refused([](auto& r) { r.training.width = 0; },
                     {"width is 0; it must be from 1 to 4096", "width is 0; it must be from 1 to 4096",
                      "--width is 0; it must be from 1 to 4096"});
  expect_run_refused([](auto& r) { r.threads = 0; },
                     {"threads is 0; it must be from 1 to 4096", "threads is 0; it must be from 1 to 4096",
                      "--threads is 0; it must be from 1 to 4096"});
  expect_run_refused([](auto& r) { r.training.least_size = 20; },
                     {"largest_size is 16; it must be at least least_size, which is 20",
                      "largest_size is 16; it must be at least least_size, which is 20",
                      "--largest-size is 16; it must be at least --least-size, which is 20"});
  expect_run_refused([](auto& r) { r.training.learning_rate = 0.0; },
                     {"learning_rate is 0; it must be above 0", "learning_rate is 0; it must be above 0",
                      "--learning-rate is 0; it must be above 0"});
  expect_run_refused([](auto& r) { r.training.normalizer = Linear{}; },
                     {"train_normalizer: linear is not a function of the scores alone, so a head cannot be trained or tested "
                      "with it",
                      "train_normalizer: linear is not a function of the scores alone, so a head cannot be trained or tested "
                      "with it",
                      "--train-normalizer: linear is not a function of the scores alone, so a head cannot be trained or tested "
                      "with it"},
                     ErrorCode::unsupported);
  expect_run_refused([](auto& r) { r.preset = "slow"; },
                     {"preset is 'slow'; it must be quick, paper or sharp",
                      "preset is 'slow'; it must be quick, paper or sharp",
                      "--preset is 'slow'; it must be quick, paper or sharp"});
  expect_run_refused([](auto& r) { r.arms = {"paper", "paper"}; },
                     {"arms: 'paper' is given twice", "arms: 'paper' is given twice", "--arms: 'paper' is given twice"});
  expect_run_refused([](auto& r) { r.test.sizes = {16, 16}; },
                     {"sizes is 16,16; its values must differ", "sizes is 16,16; its values must differ",
                      "--sizes is 16,16; its values must differ"});
  expect_run_refused([](auto& r) { r.seed_list = {1}; },
                     {"seeds counts seeds, seed_list names them; give one of the two",
                      "seeds counts seeds, seed_list names them; give one of the two",
                      "--seeds counts seeds, --seed-list names them; give one of the two"});
  expect_run_refused([](auto& r) { r.resume = r.overwrite = true; },
                     {"resume and overwrite are two different things; give one",
                      "resume=True and overwrite=True are two different things; give one",
                      "--resume and --overwrite are two different things; give one"});
  expect_run_refused([](auto& r) { r.head = "head.safetensors"; },
                     {"arms does not go with head: nothing is trained", "arms does not go with head: nothing is trained",
                      "--arms does not go with --head: nothing is trained"});
}

TEST(RetrievalRequests, ForADirectoryThatHoldsARunSayWhatToGive) {
  const Folder folder("taken");
  const RetrievalRequest request = short_run("paper", folder / "run");
  retrieve(request);
  const std::string holds = request.directory + " holds a run already; give ";
  expect_job_refused([&] { retrieve(request); },
                 {holds + "resume to go on with it, overwrite to begin again, or another directory",
                  holds + "resume=True to go on with it, overwrite=True to begin again, or another directory",
                  holds + "--resume to go on with it, --overwrite to begin again, or another --directory"});
}

TEST(FitRequests, AreRefusedInTheNamesOfEachLanguage) {
  const Folder folder("refused-fit");
  retrieval::Head head{.arm = "paper"};
  head.training.width = 8;
  head.parameters = retrieval::initial_parameters(head.training, 0);
  head.normalizer_parameters = {0.0};
  save_head(folder / "head.safetensors", head);
  const auto refused = [&](const std::function<void(FitRequest&)>& change, const Sentences& wanted,
                           ErrorCode code = ErrorCode::bad_argument) {
    FitRequest request = short_fit(folder / "head.safetensors");
    change(request);
    expect_job_refused([&] { fit(request); }, wanted, code);
  };
  const std::string how =
      " was given; `sharpmax retrieve --arms paper` trains one and keeps it as retrieve-quick/heads/paper-0.safetensors";
  refused([](auto& r) { r.head.clear(); }, {"no head" + how, "no head" + how, "no HEAD" + how});
  refused([](auto& r) { r.degree = 9; }, {"degree is 9; it must be from 0 to 8", "degree is 9; it must be from 0 to 8",
                                          "--degree is 9; it must be from 0 to 8"});
  refused([](auto& r) { r.test_sizes = {16, 16}; },
          {"test_sizes is 16,16; its values must differ", "test_sizes is 16,16; its values must differ",
           "--test-sizes is 16,16; its values must differ"});
  refused([](auto& r) { r.least_beta = 0; },
          {"least_beta is 0; it must be above 0 and at most 1", "least_beta is 0; it must be above 0 and at most 1",
           "--least-beta is 0; it must be above 0 and at most 1"});
  refused([](auto& r) { r.only = "right"; },
          {"only is 'right'; it must be wrong or mended", "only is 'right'; it must be wrong or mended",
           "--only is 'right'; it must be wrong or mended"});
}

// Every member that `json` has, left out and of another type: each is refused as a defect of the file.
template <class Read>
void expect_strict(const Json& json, const Read& read) {
  const auto refused = [&](const Json& changed, const std::string& how) {
    try {
      read(changed);
      ADD_FAILURE() << "was accepted: " << how;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_file) << how << ": " << error.what();
      EXPECT_GT(std::string(error.what()).size(), 20u) << how;
    }
  };
  EXPECT_NO_THROW(read(json));
  for (const auto& [key, value] : json.items()) {
    Json missing = json, other = json;
    missing.erase(key);
    other[key] = value.is_object() || value.is_array() ? Json(7) : Json::array({Json::object()});
    refused(missing, "without " + key);
    refused(other, key + " of another type");
    if (!value.is_array() || value.empty() || !value[0].is_object()) continue;
    for (const auto& [inner, ignored] : value[0].items()) {
      Json without = json;
      without[key][0].erase(inner);
      refused(without, "without " + key + "." + inner);
    }
  }
  for (const Json& wrong : {Json(), Json::array(), Json("text"), Json(3)}) refused(wrong, wrong.dump());
  Json schema = json;
  schema["schema"] = "sharpmax.audit/1";
  refused(schema, "another schema");
}

TEST(RetrievalResults, ThatAreNotWhatTheyShouldBeAreRefusedAsBadFiles) {
  const Folder folder("wrong-results");
  const Json json = to_json(retrieve(short_run("paper", folder / "run")));
  expect_strict(json, retrieval_result);
  Json blunt = json;
  blunt["settings"]["normalizers"][0] = "softmux";
  try {
    retrieval_result(blunt);
    ADD_FAILURE() << "was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_file);
    EXPECT_NE(std::string(error.what()).find("softmux"), std::string::npos) << error.what();
  }
  expect_strict(to_json(fit(short_fit(folder / "run/heads/paper-0.safetensors"))), fit_result);
}

}  // namespace
}  // namespace sharpmax::test
