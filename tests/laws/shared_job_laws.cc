// Laws of jobs in pieces: a directory, helpers and interrupts change nothing in the results of any job on a model.
#include <gtest/gtest.h>

#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "sharpmax/bound.h"
#include "sharpmax/fix.h"
#include "sharpmax/perplexity.h"
#include "storage/files.h"
#include "support/audit_jobs.h"

namespace sharpmax::test {
namespace {

// Remembers remarks, and interrupts a job when so many progress lines were heard.
class SharedHearing : public Listener {
 public:
  explicit SharedHearing(int lines = 1 << 30) : left_(lines) {}
  void on_progress(std::string_view line) override {
    const std::lock_guard lock(mutex_);
    if (!line.empty() && --left_ < 0) throw Interrupted{};
  }
  void on_narration(std::string_view sentence) override {
    const std::lock_guard lock(mutex_);
    heard_ += std::string(sentence) + "\n";
  }
  bool heard(const std::string& words) const { return heard_.find(words) != std::string::npos; }

 private:
  std::mutex mutex_;
  int left_;
  std::string heard_;
};

struct SharedHow {
  Sharing sharing = {};
  bool resume = false;
  bool told = true;  // the whole request; else the directory alone
};

// One job: its results as text without what changes from call to call, its status, and the kind of its first pieces.
struct SharedJobCase {
  std::string name, kind;
  std::function<std::string(const SharedHow&, Listener&)> run;
  std::function<RunStatus(const Sharing&)> status;
};

class SharedJobs : public ::testing::Test {
 protected:
  template <class Request, class Job>
  static SharedJobCase case_of(const std::string& name, const std::string& kind, const Request& request, const Job& job) {
    const auto run = [=](const SharedHow& how, Listener& listener) {
      Request asked = how.told ? request : Request{};
      asked.sharing = how.sharing;
      if constexpr (requires { asked.saving; })
        asked.saving.resume = how.resume;
      else
        asked.resume = how.resume;
      return stable_text(job(asked, listener));
    };
    const auto status = [](const Sharing& sharing) {
      Request asked;
      asked.sharing = sharing;
      return status_of(asked);
    };
    return {name, kind, run, status};
  }

  std::vector<SharedJobCase> cases() const {
    put(tiny_.file("text.txt"), kTinyText);
    PerplexityRequest perplexed;
    perplexed.length = 100;
    FixRequest fixed;
    fixed.tokens = 128;
    fixed.length = 64;
    fixed.lengths = {150};
    fixed.questions = 2;
    fixed.rule = {"softmax:beta=1.5", "softmax:beta=1.2@but-steepest;rope=linear:2"};
    fixed.budget = 2;
    fixed.for_ = "text";
    ModelBoundRequest bounded;
    AuditRequest audited = tiny_.audit();
    audited.text.text_string.reset();
    for (TextRequest* const text : {&perplexed.text, &fixed.text, &audited.text}) text->text = tiny_.file("text.txt");
    for (ModelRequest* const model : {&perplexed.model, &fixed.model, &bounded.model}) model->model = tiny_.model();
    return {case_of("perplexity", "runs of chunks", perplexed, perplexity),
            case_of("audit", "excerpts", audited, audit_model),
            case_of("probe", "lengths", tiny_.probe(), probe_model),
            case_of("fix", "parts of candidates", fixed, fix),
            case_of("bound", "groups of heads", bounded, bound_model)};
  }

  Sharing in(const std::string& name, bool join = false) const { return {.directory = tiny_.file(name), .join = join}; }

  TinyAudits tiny_{"shared-jobs"};
};

TEST_F(SharedJobs, ADirectoryChangesNothingAndIsGoneOnFrom) {
  for (const SharedJobCase& job : cases()) {
    SCOPED_TRACE(job.name);
    SharedHearing alone, kept, again;
    const std::string expected = job.run({}, alone);
    EXPECT_EQ(job.run({in(job.name)}, kept), expected);
    EXPECT_THROW(job.run({in(job.name)}, kept), RequestError);  // a run is there already
    EXPECT_EQ(job.run({in(job.name), /*resume=*/true}, again), expected);
    EXPECT_TRUE(again.heard("resuming: ")) << job.name;
    const RunStatus status = job.status(in(job.name));
    EXPECT_TRUE(status.finished);
    EXPECT_EQ(status.pieces.at(0).kind, job.kind);
    EXPECT_EQ(status.pieces.at(0).done, status.pieces.at(0).total);
    EXPECT_GT(status.pieces.at(0).total, 1);
  }
}

TEST_F(SharedJobs, HelpersThatKnowTheDirectoryAloneFinishWhatWasInterrupted) {
  for (const SharedJobCase& job : cases()) {
    SCOPED_TRACE(job.name);
    SharedHearing alone;
    const std::string expected = job.run({}, alone);
    SharedHearing impatient(2);
    EXPECT_THROW(job.run({in(job.name)}, impatient), Interrupted);
    EXPECT_FALSE(job.status(in(job.name)).finished);
    std::vector<std::string> found(3);
    std::vector<std::thread> helpers;
    for (std::string& text : found)
      helpers.emplace_back([&] {
        SharedHearing listener;
        text = job.run({in(job.name, /*join=*/true), false, /*told=*/false}, listener);
      });
    for (std::thread& helper : helpers) helper.join();
    for (const std::string& text : found) EXPECT_EQ(text, expected);
    EXPECT_FALSE(std::filesystem::exists(tiny_.file(job.name + "/claims")));
  }
}

TEST_F(SharedJobs, APieceThatIsDoneIsNotDoneAgainAndADamagedOneIsNamed) {
  for (const SharedJobCase& job : cases()) {
    SCOPED_TRACE(job.name);
    SharedHearing first, second;
    job.run({in(job.name)}, first);
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(tiny_.file(job.name + "/pieces"))) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    const auto before = std::filesystem::last_write_time(files.back());
    std::filesystem::remove(files.front());
    job.run({in(job.name), true}, second);
    EXPECT_TRUE(std::filesystem::exists(files.front()));
    EXPECT_EQ(std::filesystem::last_write_time(files.back()), before);
    put(files.front(), files.front().extension() == ".json" ? "{}" : "PK");
    try {
      job.run({in(job.name), true}, second);
      ADD_FAILURE() << "a damaged piece was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_file) << error.what();
      EXPECT_NE(std::string(error.what()).find(files.front().filename()), std::string::npos) << error.what();
    }
  }
}

TEST_F(SharedJobs, ARunOfAnotherJobOrWithOtherSettingsIsRefused) {
  const std::vector<SharedJobCase> all = cases();
  SharedHearing listener;
  all[0].run({in("run")}, listener);
  try {
    all[4].run({in("run", true), false, false}, listener);
    ADD_FAILURE() << "a run of another job was joined";
  } catch (const RequestError& error) {
    EXPECT_NE(std::string(error.what()).find("holds a run of \"perplexity\", not of bound"), std::string::npos) << error.what();
  }
  PerplexityRequest other;
  other.length = 50;
  other.sharing = in("run", true);
  try {
    perplexity(other, listener);
    ADD_FAILURE() << "other settings were joined";
  } catch (const RequestError& error) {
    EXPECT_NE(std::string(error.what()).find("fields.length is \"100\" there, \"50\" here"), std::string::npos) << error.what();
  }
  EXPECT_THROW(all[0].run({in("nowhere", true), false, false}, listener), RequestError);
  EXPECT_THROW(all[0].run({{.directory = "", .join = true}}, listener), RequestError);
}

TEST_F(SharedJobs, InputsMayStandElsewhereAndResultsNameTheFirst) {
  const SharedJobCase job = cases()[0];
  SharedHearing listener;
  const std::string expected = job.run({in("run")}, listener);
  std::filesystem::copy_file(tiny_.model(), tiny_.file("copy.gguf"));
  put(tiny_.file("copy.txt"), kTinyText);
  PerplexityRequest helper;
  helper.sharing = in("run", true);
  helper.model.model = tiny_.file("copy.gguf");
  helper.text.text = tiny_.file("copy.txt");
  EXPECT_EQ(stable_text(perplexity(helper, listener)), expected);
  put(tiny_.file("copy.txt"), kTinyText + "More of it.");
  EXPECT_THROW(perplexity(helper, listener), RequestError);
}

TEST_F(SharedJobs, ReadLayerByLayerHaveTheSameResults) {
  SharedHearing listener;
  AuditRequest audited = tiny_.audit();
  const std::string by_block = stable_text(audit_model(audited, listener));
  audited.order = {.by_layer = true, .checkpoint_seconds = 0};
  EXPECT_EQ(stable_text(audit_model(audited, listener)), by_block);
  audited.sharing = in("layers");
  SharedHearing impatient(10);  // in the second layer of the second excerpt, whose first is saved
  EXPECT_THROW(audit_model(audited, impatient), Interrupted);
  audited.saving.resume = true;
  EXPECT_EQ(stable_text(audit_model(audited, listener)), by_block);
}

}  // namespace
}  // namespace sharpmax::test
