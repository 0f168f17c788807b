// Laws of probes: the answer is where it is said to be, lengths are met with any vocabulary, answers are
// judged alike however they come.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "audit/probe/question.h"
#include "model/tokenizer/gguf_tokenizer.h"
#include "sharpmax/error.h"
#include "support/random.h"
#include "support/vocabularies.h"

namespace sharpmax::test {
namespace {

using audit::ProbeKind;
using audit::ProbeText;
using audit::Question;
using audit::Verdict;

TEST(ProbeLaws, TheItemThatIsNamedHoldsTheAnswer) {
  for_each_seed(40, [](Random& random) {
    for (const ProbeKind kind : {ProbeKind::max, ProbeKind::lookup}) {
      const auto items = static_cast<std::int64_t>(random.size(1, 60));
      const auto asked = static_cast<std::int64_t>(random.size(0, static_cast<std::size_t>(items) - 1));
      const ProbeText text =
          audit::probe_text(kind, random.size(0, 1000), random.size(0, 1000), items, asked);
      EXPECT_EQ(text.items.substr(text.item_begin, text.item_end - text.item_begin), text.answer);
    }
  });
}

TEST(ProbeLaws, AKeyIsThereOnceAndItsLineHoldsTheAnswer) {
  for_each_seed(40, [](Random& random) {
    const auto items = static_cast<std::int64_t>(random.size(1, 200));
    const auto asked = static_cast<std::int64_t>(random.size(0, static_cast<std::size_t>(items) - 1));
    const ProbeText text = audit::probe_text(ProbeKind::lookup, random.size(0, 1000), 3, items, asked);
    const std::size_t at = text.items.find(text.opening + " ");
    ASSERT_NE(at, std::string::npos);
    EXPECT_EQ(at + text.opening.size() + 1, text.item_begin);
    EXPECT_EQ(text.items.find(text.opening + " ", at + 1), std::string::npos) << "the key is there twice";
    EXPECT_EQ(std::count(text.items.begin(), text.items.end(), '\n'), items + 1);
  });
}

TEST(ProbeLaws, TheMaximumIsTheLargestNumberAndStandsOnce) {
  for_each_seed(60, [](Random& random) {
    const auto items = static_cast<std::int64_t>(random.size(1, 2000));
    const ProbeText text = audit::probe_text(ProbeKind::max, random.size(0, 1000), 5, items, 0);
    std::vector<int> numbers;
    for (std::size_t at = text.items.find(':'); at < text.items.size(); at = text.items.find(',', at))
      numbers.push_back(std::stoi(text.items.substr(++at)));
    EXPECT_EQ(static_cast<std::int64_t>(numbers.size()), items);
    const int largest = *std::max_element(numbers.begin(), numbers.end());
    EXPECT_EQ(std::to_string(largest), text.answer);
    EXPECT_EQ(std::count(numbers.begin(), numbers.end(), largest), 1);
    EXPECT_GE(*std::min_element(numbers.begin(), numbers.end()), 1);
  });
}

TEST(ProbeLaws, AskedItemsAreDifferentAndSpreadOverAll) {
  for_each_seed(60, [](Random& random) {
    const auto items = static_cast<std::int64_t>(random.size(1, 500));
    const auto count = static_cast<std::int64_t>(random.size(1, 30));
    const auto asked = audit::asked_items(random.size(0, 99), random.size(0, 99), items, count);
    ASSERT_EQ(static_cast<std::int64_t>(asked.size()), std::min(items, count));
    EXPECT_EQ(std::set<std::int64_t>(asked.begin(), asked.end()).size(), asked.size());
    for (std::size_t i = 0; i < asked.size(); ++i) {
      EXPECT_GE(asked[i] * static_cast<std::int64_t>(asked.size()),
                static_cast<std::int64_t>(i) * items - items);
      EXPECT_LT(asked[i], items);
    }
  });
}

std::unique_ptr<const model::Tokenizer> some_tokenizer(Random& random) {
  if (random.uniform() < 0.5) {
    const char* kPre[] = {"default", "gpt-2", "smollm", "llama-bpe", "qwen2"};
    return model::make_byte_level_bpe(byte_level_vocabulary(random, 60, kPre[random.size(0, 4)]));
  }
  model::GgufVocabulary vocabulary = sentencepiece_vocabulary(random, 60);
  vocabulary.add_space_prefix = random.uniform() < 0.5;
  for (char digit = '0'; digit <= '9'; ++digit) {  // an item joined with what comes after it
    for (const char after : {'.', ','}) {
      vocabulary.texts.push_back({digit, after});
      vocabulary.types.push_back(1);
      vocabulary.scores.push_back(0);
    }
  }
  return model::make_sentencepiece_bpe(vocabulary);
}

std::string bytes_of(const model::Tokenizer& tokenizer, std::span<const model::Token> tokens) {
  std::string text;
  for (const model::Token token : tokens) text += tokenizer.bytes_of(token);
  return text;
}

TEST(ProbeLaws, LengthsAreMetAndItemsFoundWithAnyVocabulary) {
  for_each_seed(12, [](Random& random) {
    const auto tokenizer = some_tokenizer(random);
    audit::Probe probe{.kind = random.uniform() < 0.3 ? ProbeKind::max : ProbeKind::lookup,
                       .seed = random.size(0, 99)};
    std::optional<model::ChatTemplate> chat;
    if (random.uniform() < 0.3) chat = model::ChatTemplate("Be brief.\n{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}[answer] ");
    probe.chat = chat.has_value();
    const auto length = static_cast<std::int64_t>(random.size(300, 1500));
    const auto questions = audit::probe_questions(*tokenizer, chat, probe, length, 5);
    ASSERT_EQ(questions.size(), 5u);
    // Every byte may be a token, so an item may take as many as it has bytes.
    const std::int64_t item = 45;
    for (const Question& question : questions) {
      const auto tokens = static_cast<std::int64_t>(question.prompt.size());
      EXPECT_LE(tokens, length);
      EXPECT_GT(tokens, length - 2 * item);
      ASSERT_LT(question.item_begin, question.item_end);
      ASSERT_LE(question.item_end, tokens);
      const auto begin = static_cast<std::size_t>(question.item_begin),
                 end = static_cast<std::size_t>(question.item_end);
      const auto place = std::span(question.prompt).subspan(begin, end - begin);
      EXPECT_NE(bytes_of(*tokenizer, place).find(question.answer), std::string::npos)
          << bytes_of(*tokenizer, place);
      // None of it lies outside.
      const std::string inner = bytes_of(
          *tokenizer, place.subspan(place.size() > 1 ? 1 : 0, place.size() > 2 ? place.size() - 2 : 0));
      EXPECT_LT(inner.size(), std::max<std::size_t>(question.answer.size(), 1));
    }
  });
}

TEST(ProbeLaws, TheSameSeedGivesTheSameQuestionsAndAnotherContextOthers) {
  Random random(7);
  const auto tokenizer = some_tokenizer(random);
  const audit::Probe probe{.seed = 3};
  const auto first = audit::probe_questions(*tokenizer, std::nullopt, probe, 700, 4);
  const auto again = audit::probe_questions(*tokenizer, std::nullopt, probe, 700, 4);
  const auto others = audit::probe_questions(*tokenizer, std::nullopt, probe, 700, 4, 100);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(first[i].prompt, again[i].prompt);
    EXPECT_EQ(first[i].answer, again[i].answer);
    EXPECT_NE(first[i].prompt, others[i].prompt);
  }
  EXPECT_NE(first[0].prompt, audit::probe_questions(*tokenizer, std::nullopt, {.seed = 4}, 700, 1)[0].prompt);
}

TEST(ProbeLaws, APromptThatNoItemFitsIntoIsRefused) {
  Random random(7);
  const auto tokenizer = some_tokenizer(random);
  EXPECT_THROW(audit::probe_questions(*tokenizer, std::nullopt, {}, 10, 1), Error);
  EXPECT_THROW(audit::probe_text(ProbeKind::lookup, 0, 0, 0, 0), Error);
  EXPECT_THROW(audit::probe_text(ProbeKind::lookup, 0, 0, audit::most_items(ProbeKind::lookup) + 1, 0),
               Error);
  EXPECT_THROW(audit::probe_text(ProbeKind::lookup, 0, 0, 4, 4), Error);
}

TEST(ProbeLaws, AnAnswerIsJudgedAlikeHoweverItIsCutIntoTokens) {
  const std::string alphabet = "12a. \n";
  for_each_seed(400, [&](Random& random) {
    std::string answer, given;
    for (std::size_t n = random.size(1, 3); answer.size() < n;) answer += alphabet[random.size(0, 2)];
    for (std::size_t n = random.size(0, 6); given.size() < n;) given += alphabet[random.size(0, 5)];
    // Right if, white space before it aside, it is the answer and then nothing that goes on a word.
    const std::size_t start = std::min(given.find_first_not_of(" \n"), given.size());
    const std::string trimmed = given.substr(start);
    const bool ends = trimmed.size() <= answer.size() ||
                      std::isalnum(static_cast<unsigned char>(trimmed[answer.size()])) == 0;
    const bool wanted = trimmed.starts_with(answer) && ends;
    Verdict verdict = Verdict::open;
    for (std::size_t end = 0; end < given.size() && verdict == Verdict::open; end += random.size(1, 2))
      verdict = audit::judge(given.substr(0, end), answer, false);
    if (verdict == Verdict::open) verdict = audit::judge(given, answer, true);
    EXPECT_EQ(verdict == Verdict::right, wanted) << "'" << given << "' for '" << answer << "'";
    EXPECT_NE(verdict, Verdict::open);
  });
}

}  // namespace
}  // namespace sharpmax::test
