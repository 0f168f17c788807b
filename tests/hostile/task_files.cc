// Files of questions, one defect each: refused with the line's number.
#include <gtest/gtest.h>

#include "audit/fix/fix_run.h"
#include "model/tokenizer/gguf_tokenizer.h"
#include "sharpmax/error.h"
#include "support/vocabularies.h"

namespace sharpmax::test {
namespace {

const std::string kGood = R"({"prompt": "The sky is", "answer": "blue"})";

std::string task_refusal(const std::string& text) {
  Random random(1);
  const auto tokenizer = model::make_byte_level_bpe(byte_level_vocabulary(random, 20, "gpt-2"));
  audit::Material material;
  try {
    audit::add_task_file(material, *tokenizer, text, "tasks", 0);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_file);
    return error.what();
  }
  return "";
}

TEST(TaskFiles, ADefectIsNamedWithItsLine) {
  const std::pair<std::string, std::string> kDefects[] = {
      {"{", "not JSON"},
      {"[1]", "not an object"},
      {"7", "not an object"},
      {R"({"prompt": "a"})", "no text for \"answer\""},
      {R"({"answer": "a"})", "no text for \"prompt\""},
      {R"({"prompt": "", "answer": "a"})", "no text for \"prompt\""},
      {R"({"prompt": "a", "answer": 3})", "no text for \"answer\""},
      {R"({"prompt": "a", "answer": " \n"})", "white space"},
      {R"({"prompt": "a", "answer": "b", "anwser": "c"})", "'anwser' is unknown"},
      {"{\"prompt\": \"\xff\", \"answer\": \"b\"}", "not UTF-8"},
  };
  for (const auto& [line, words] : kDefects) {
    const std::string sentence = task_refusal(kGood + "\n\n" + line + "\n" + kGood + "\n");
    EXPECT_NE(sentence.find("tasks, line 3: "), std::string::npos) << line << " gave " << sentence;
    EXPECT_NE(sentence.find(words), std::string::npos) << sentence;
    for (const char c : sentence) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << sentence;
  }
}

TEST(TaskFiles, OneQuestionCannotBeParted) {
  EXPECT_NE(task_refusal("").find("0 questions"), std::string::npos);
  EXPECT_NE(task_refusal(kGood).find("1 questions"), std::string::npos);
  EXPECT_EQ(task_refusal(kGood + "\n" + kGood), "");
  EXPECT_EQ(task_refusal(kGood + "\r\n" + kGood + "\r\n\r\n"), "");
}

TEST(TaskFiles, PartsShareNoQuestionAndHaveAll) {
  Random random(1);
  const auto tokenizer = model::make_byte_level_bpe(byte_level_vocabulary(random, 20, "gpt-2"));
  std::string text;
  for (int i = 0; i < 21; ++i) text += "{\"prompt\": \"p\", \"answer\": \"a" + std::to_string(i) + "\"}\n";
  std::vector<std::string> orders[2];
  for (const std::uint64_t seed : {0, 1}) {
    audit::Material material;
    audit::add_task_file(material, *tokenizer, text, "tasks", seed);
    EXPECT_EQ(material.tasks[0].tuning.size(), 11u);
    EXPECT_EQ(material.tasks[0].held_out.size(), 10u);
    for (const auto* part : {&material.tasks[0].tuning, &material.tasks[0].held_out})
      for (const auto& question : *part) orders[seed].push_back(question.answer);
  }
  EXPECT_NE(orders[0], orders[1]);
  for (auto& order : orders) std::sort(order.begin(), order.end());
  EXPECT_EQ(orders[0], orders[1]);
  EXPECT_EQ(std::unique(orders[0].begin(), orders[0].end()), orders[0].end());
}

}  // namespace
}  // namespace sharpmax::test
