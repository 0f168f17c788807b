// Laws of jobs: sentences in three languages, fields as text and back, results as JSON and back, jobs side by side.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "job/call_files.h"
#include "job/field_values.h"
#include "job/json_members.h"
#include "job/saved_results.h"
#include "sharpmax/generate.h"
#include "sharpmax/inspect.h"
#include "sharpmax/perplexity.h"
#include "sharpmax/tokenize.h"
#include "storage/files.h"
#include "support/tiny_model.h"

namespace sharpmax::test {
namespace {

struct Asked {
  std::int64_t count = 3;
  double share = 0.5;
  std::optional<std::int64_t> most;
  std::string kind = "plain";
  std::vector<std::int64_t> sizes;
  std::vector<std::string> names;
  bool all = false;

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    visit({"count", "N", "", "Number of things", range(1, 9)}, self.count);
    visit({"share", "X", "", "Share of things", range(0)}, self.share);
    visit({"most_of_them", "N", "", "Most things"}, self.most);
    visit({"kind", "WORD", "", "Kind of things", one_of({"plain", "round", "square"})}, self.kind);
    visit({"sizes", "N,…", "", "Sizes of things", range(2)}, self.sizes);
    visit({"names", "TEXT", "", "Names of things"}, self.names);
    visit({"all", "", "", "All things"}, self.all);
  }
};

std::string sentence_of(const Asked& asked, Speech speech) {
  try {
    check_fields(asked);
  } catch (const RequestError& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_argument);
    return error.spoken(speech);
  }
  return "";
}

TEST(JobLaws, ASentenceNamesItsFieldsAsEachLanguageDoes) {
  const std::string sentence = named("text") + ", " + named("cache", "float16") + ", " + flagged("resume") + ", " +
                               given("json", "FILE") + ", " + named("for_") + ", " + named("least_size") + ".";
  EXPECT_EQ(spoken(sentence, Speech::cpp), "text, cache = float16, resume, json, for_, least_size.");
  EXPECT_EQ(spoken(sentence, Speech::python), "text, cache='float16', resume=True, json=, for_, least_size.");
  EXPECT_EQ(spoken(sentence, Speech::command_line),
            "--text, --cache float16, --resume, --json FILE, --for, --least-size.");
  EXPECT_EQ(spoken(named("model") + named("report"), Speech::command_line), "MODEL-o");
  EXPECT_EQ(spoken("no name at all", Speech::python), "no name at all");
  EXPECT_EQ(spoken(named("length", "9999"), Speech::python), "length=9999");
}

TEST(JobLaws, TheSameWrongRequestGivesTheSameSentenceInEveryLanguage) {
  EXPECT_EQ(sentence_of({.count = 10}, Speech::cpp), "count is 10; it must be from 1 to 9");
  EXPECT_EQ(sentence_of({.count = 10}, Speech::command_line), "--count is 10; it must be from 1 to 9");
  EXPECT_EQ(sentence_of({.kind = "oval"}, Speech::python), "kind is 'oval'; it must be plain, round or square");
  EXPECT_EQ(sentence_of({.sizes = {4, 1}}, Speech::command_line), "--sizes is 1; it must be at least 2");
  EXPECT_EQ(sentence_of({.share = -1}, Speech::cpp), "share is -1; it must be at least 0");
  EXPECT_EQ(sentence_of({.share = std::nan("")}, Speech::cpp), "share is nan; it must be at least 0");
  EXPECT_EQ(sentence_of({.most = -5}, Speech::cpp), "");
}

TEST(JobLaws, TextsOfFieldsReadBackAsTheSameValues) {
  const Asked asked{.count = 7, .share = 0.1, .most = -3, .kind = "round", .sizes = {2, 3, 5}, .names = {"a", "b c"}};
  Asked read;
  std::map<std::string, std::string> texts;
  Asked::each_field(asked, [&](const Field& field, const auto& value) { texts[std::string(field.name)] = field_text(value); });
  Asked::each_field(read, [&](const Field& field, auto& value) {
    if (!texts[std::string(field.name)].empty()) read_field(field, texts[std::string(field.name)], value);
  });
  EXPECT_EQ(read.count, asked.count);
  EXPECT_EQ(read.share, asked.share);
  EXPECT_EQ(read.most, asked.most);
  EXPECT_EQ(read.kind, asked.kind);
  EXPECT_EQ(read.sizes, asked.sizes);
  EXPECT_EQ(read.names, asked.names);
}

TEST(JobLaws, TheCommandHasWhatDiffersFromTheDefaults) {
  EXPECT_EQ(command_of("ask", Asked{}), "sharpmax ask");
  EXPECT_EQ(command_of("ask", Asked{.most = -3, .kind = "round", .sizes = {2, 3}, .names = {"it's"}, .all = true}),
            "sharpmax ask --most-of-them=-3 --kind round --sizes 2,3 --names 'it'\\''s' --all");
}

// A model that reads bytes, in a folder of its own.
class JobsOnAModel : public testing::Test {
 protected:
  JobsOnAModel() {
    TinyModel{.context = 64, .vocabulary = 260, .reads_bytes = true}.write(folder_ / "m.gguf");
    std::string text;
    for (int i = 0; i < 6; ++i) text += "to be or not to be, that is the question; ";
    put(folder_ / "text.txt", text);
  }

  PerplexityRequest perplexity_request(const std::string& normalizer = "") const {
    PerplexityRequest request;
    request.model.model = (folder_ / "m.gguf").string();
    request.model.normalizer = normalizer;
    request.text.text = (folder_ / "text.txt").string();
    request.length = 32;
    return request;
  }

  Folder folder_{"jobs"};
};

std::string without_times(Json json) {
  json.erase("created");
  json.erase("seconds");
  return json.dump();
}

TEST_F(JobsOnAModel, EveryPromptOfSeveralIsAnsweredAsIfAlone) {
  GenerateRequest request{.model = perplexity_request().model, .tokens = 12, .temperature = 1.5, .seed = 3};
  request.prompt = {"to be or not", "question", "to be or not"};
  const GenerateResult together = generate(request);
  std::vector<GenerateAnswer> answers = {together};
  answers.insert(answers.end(), together.further.value().begin(), together.further.value().end());
  ASSERT_EQ(answers.size(), 3u);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    GenerateRequest one = request;
    one.prompt = {request.prompt[i]};
    const GenerateResult alone = generate(one);
    EXPECT_FALSE(alone.further);
    EXPECT_EQ(answers[i].prompt_tokens, alone.prompt_tokens);
    EXPECT_EQ(answers[i].tokens, alone.tokens);
    EXPECT_EQ(answers[i].text, alone.text);
    EXPECT_EQ(answers[i].ending, alone.ending);
  }
  EXPECT_NE(answers[0].tokens, answers[1].tokens);
}

TEST_F(JobsOnAModel, AResultReadFromItsJsonWritesTheSameJson) {
  const Json losses = to_json(perplexity(perplexity_request()));
  EXPECT_EQ(to_json(perplexity_result(losses)).dump(), losses.dump());
  EXPECT_TRUE(losses.at("complete").get<bool>());

  GenerateRequest generation{.model = perplexity_request().model, .prompt = {"to be"}, .tokens = 5};
  const Json text = to_json(generate(generation));
  EXPECT_EQ(results_text(to_json(generate_result(text))), results_text(text));  // its bytes need not be UTF-8
  EXPECT_EQ(text.at("tokens").size(), 5u);

  const Json split = to_json(tokenize({.model = generation.model, .text = {.text_string = "to be\xc3\xa9"}}));
  EXPECT_EQ(to_json(tokenize_result(split)).dump(), split.dump());
  EXPECT_TRUE(split.at("comes_back").get<bool>());

  const Json found = to_json(inspect({.model = generation.model, .check = true}));
  EXPECT_EQ(to_json(inspect_result(found)).dump(), found.dump());
  EXPECT_TRUE(found.at("check").at("bad").empty());
}

TEST_F(JobsOnAModel, TwoJobsOnTwoThreadsAreEachAsAlone) {
  const std::vector<std::string> normalizers = {"softmax:beta=1.5", "entmax:alpha=1.3"};
  std::vector<std::string> alone, together(normalizers.size());
  for (const std::string& normalizer : normalizers)
    alone.push_back(without_times(to_json(perplexity(perplexity_request(normalizer)))));
  const Model shared(perplexity_request().model);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < normalizers.size(); ++i)
      threads.emplace_back([&, i] {
        PerplexityRequest request = perplexity_request(normalizers[i]);
        request.model.opened = shared.request().opened;
        together[i] = without_times(to_json(perplexity(request)));
      });
  }
  EXPECT_EQ(together, alone);
  EXPECT_NE(alone[0], alone[1]);
}

TEST_F(JobsOnAModel, AnInterruptedJobGoesOnToTheSameResult) {
  PerplexityRequest request = perplexity_request();
  const Json whole = to_json(perplexity(request));
  request.saving.json = (folder_ / "saved.json").string();
  class Impatient : public Listener {
   public:
    void on_pause() override {
      if (++calls > 8) throw Interrupted{};  // in the fourth of eight chunks
    }
    int calls = 0;
  } impatient;
  EXPECT_THROW(perplexity(request, impatient), Interrupted);
  const std::size_t saved = Json::parse(read_text(request.saving.json)).at("chunks").size();
  EXPECT_GT(saved, 0u);
  EXPECT_LT(saved, whole.at("chunks").size());
  request.saving.resume = true;
  const PerplexityResult resumed = perplexity(request);
  EXPECT_EQ(json_of(resumed.chunks).dump(), whole.at("chunks").dump());
  EXPECT_EQ(Json::parse(read_text(request.saving.json)).at("chunks").dump(), whole.at("chunks").dump());
}

TEST_F(JobsOnAModel, TokensThatAreSkippedAreNotReadAndTheOthersHaveTheSameLosses) {
  PerplexityRequest request = perplexity_request();
  const PerplexityResult whole = perplexity(request);
  ASSERT_GT(whole.chunks.size(), 4u);
  request.skip = 2 * *whole.settings.length;
  request.text.tokens = request.skip;
  const PerplexityResult part = perplexity(request);
  ASSERT_EQ(part.chunks.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(part.chunks[i].first, whole.chunks[i + 2].first);
    EXPECT_EQ(part.chunks[i].losses, whole.chunks[i + 2].losses);
  }
  request.saving = {.json = (folder_ / "part.json").string()};
  perplexity(request);
  request.saving.resume = true;
  request.skip += 1;  // another part is not resumed
  EXPECT_THROW(perplexity(request), RequestError);
  request.skip = *whole.settings.text.tokens - 1;  // one is left
  EXPECT_THROW(perplexity(request), Error);
}

TEST_F(JobsOnAModel, ATextInMemoryGivesTheResultsOfItsFile) {
  PerplexityRequest request = perplexity_request();
  const Json of_file = to_json(perplexity(request));
  request.text.text_string = read_text(request.text.text);
  EXPECT_THROW(perplexity(request), RequestError);  // both
  request.text.text.clear();
  const PerplexityResult result = perplexity(request);
  EXPECT_EQ(to_json(result).at("chunks").dump(), of_file.at("chunks").dump());
  EXPECT_EQ(result.settings.text.text, "-");
  EXPECT_NE(result.provenance.command.find(" --text=- "), std::string::npos) << result.provenance.command;
}

TEST_F(JobsOnAModel, AnOutputNeverReplacesAnInput) {
  PerplexityRequest request = perplexity_request();
  for (const std::string& input : {request.model.model, request.text.text}) {
    request.saving.json = input;
    request.saving.overwrite = true;
    const std::string before = read_text(input);
    EXPECT_THROW(perplexity(request), RequestError);
    EXPECT_EQ(read_text(input), before);
  }
}

TEST_F(JobsOnAModel, JsonThatIsNoResultIsRefusedInWords) {
  const Json losses = to_json(perplexity(perplexity_request()));
  const auto refusal = [](const Json& json) -> std::string {
    try {
      perplexity_result(json);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_file);
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal({{"schema", "sharpmax.fit/1"}}),
            "these are results of schema sharpmax.fit/1; expected sharpmax.perplexity/1");
  for (const char* key : {"settings", "chunks", "created"}) {
    Json broken = losses;
    broken.erase(key);
    EXPECT_NE(refusal(broken).find(key), std::string::npos) << refusal(broken);
  }
  EXPECT_NE(refusal(Json::array()), "");
}

}  // namespace
}  // namespace sharpmax::test
