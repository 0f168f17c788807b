// Chat templates that mean harm: each ends in one sentence, after a bounded number of steps.
#include "model/chat/chat_template.h"

#include <gtest/gtest.h>

#include <string>

#include "sharpmax/error.h"

namespace sharpmax::test {
namespace {

using model::ChatTemplate;

std::string rendered(const std::string& jinja) { return ChatTemplate(jinja).render({{"system", "s"}, {"user", "u"}}, 0); }

// Error{unsupported} with these words.
void expect_refused_template(const std::string& jinja, const std::string& words) {
  SCOPED_TRACE(jinja.substr(0, 200));
  try {
    rendered(jinja);
    ADD_FAILURE() << "it was rendered";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

std::string repeated(const std::string& unit, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += unit;
  return text;
}

TEST(HostileChatTemplates, LoopsWithinLoopsRunOutOfSteps) {
  std::string loops = "{{ 1 }}";
  for (int i = 0; i < 5; ++i) loops = "{% for x in range(100000) %}" + loops + "{% endfor %}";
  expect_refused_template(loops, "more than 10000000 steps");
  expect_refused_template("{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}", "macros call each other more than 32 deep");
  expect_refused_template("{% for x in range(100001) %}{% endfor %}", "range has more than 100000 numbers");
}

TEST(HostileChatTemplates, TextsThatDoubleAreCutOff) {
  const std::string doubling = "{% set n = namespace(t='aaaaaaaaaaaaaaaa') %}{% for i in range(60) %}{% set n.t = n.t + n.t %}{% endfor %}";
  expect_refused_template(doubling, "more than 16777216 bytes");
  expect_refused_template("{% set n = namespace(l=[1]) %}{% for i in range(60) %}{% set n.l = n.l + n.l %}{% endfor %}", "");
  expect_refused_template("{% set n = namespace(l=[1]) %}{% for i in range(60) %}{% set n.l = [n.l, n.l] %}{% endfor %}", "holds more than");
  expect_refused_template("{% set n = namespace(l=[1]) %}{% for i in range(99) %}{% set n.l = [n.l] %}{% endfor %}", "lists or mappings deep");
  expect_refused_template("{% for i in range(99999) %}{{ 'abc' * 1 }}{% endfor %}", "is not supported");
  expect_refused_template("{% set n = namespace(t='a') %}{% for i in range(20) %}{% set n.t = n.t + n.t %}{% endfor %}"
                 "{% for i in range(9999) %}{{ n.t }}{% endfor %}", "writes more than 16777216 bytes");
}

TEST(HostileChatTemplates, SearchingTakesTimeThatGrowsWithTheTextAlone) {
  // With a step for each pair of bytes these take hours.
  const std::string texts = "{% set n = namespace(t='a', p='a') %}{% for i in range(21) %}{% set n.t = n.t + n.t %}{% endfor %}"
                            "{% for i in range(19) %}{% set n.p = n.p + n.p %}{% endfor %}{% set p = n.p + 'b' + n.p %}";
  EXPECT_EQ(rendered(texts + "{{ p in n.t }}{{ n.t.find(p) }}{{ n.t.split(p) | length }}"), "False-11");
  expect_refused_template(texts + "{% for i in range(1000) %}{% if n.t == n.t %}{% endif %}{% endfor %}", "steps");
}

TEST(HostileChatTemplates, DeepTreesAreRefusedBeforeTheyAreMade) {
  constexpr int kMany = 40'000;
  for (const auto& [open, middle, close] : {std::tuple{"(", "1", ")"}, {"[", "1", "]"}, {"not ", "1", ""}, {"-", "1", ""},
                                            {"", "1", "+1"}, {"", "a", ".b"}, {"", "a", "|trim"}, {"", "a", " is defined"},
                                            {"", "a", "[0]"}, {"1 if ", "1", ""}, {"{'a':", "1", "}"}})
    expect_refused_template("{{ " + repeated(open, kMany) + middle + repeated(close, kMany) + " }}", "levels deep");
  expect_refused_template(repeated("{% if true %}", kMany / 2) + repeated("{% endif %}", kMany / 2), "levels deep");
  EXPECT_NO_THROW(rendered("{{ " + repeated("(", 90) + "1" + repeated(")", 90) + " }}"));
  expect_refused_template(std::string((1 << 20) + 1, 'x'), "more than 1048576 bytes");
}

TEST(HostileChatTemplates, ANamespaceCannotHoldItself) {
  for (const char* jinja : {"{% set n = namespace() %}{% set n.a = n %}", "{% set n = namespace() %}{% set l = [n] %}",
                            "{% set n = namespace() %}{% set l = {'n': n} %}", "{% set n = namespace() %}{% set m = namespace(n=n) %}"})
    expect_refused_template(jinja, "a namespace within another value");
}

TEST(HostileChatTemplates, NumbersDoNotOverflow) {
  expect_refused_template("{{ 999999999999999999 * 999999999999999999 }}", "more than 18 digits");
  expect_refused_template("{{ 9999999999999999999 }}", "more than 18 digits");
  expect_refused_template("{{ '99999999999999999999' | int }}", "more than 18 digits");
  expect_refused_template("{{ 1 % 0 }}", "divided by 0");
  expect_refused_template("{{ 1 // 0 }}", "divided by 0");
  expect_refused_template("{{ [1][::0] }}", "step 0");
  EXPECT_EQ(rendered("{{ [1, 2][-999999999999999999:999999999999999999:999999999999999999] | length }}"), "1");
  EXPECT_EQ(rendered("{{ range(0, 10, 999999999999999999) | length }}"), "1");
}

TEST(HostileChatTemplates, TemplatesThatAreCutShortAnywhereRenderOrAreRefused) {
  const std::string whole =
      "{%- macro m(a, b='x') %}{{ a ~ b }}{% endmacro -%}{% for message in messages if message.role is string %}"
      "{{ '<|' + message['role'] + '\\n|>' + message.content[:5] | trim }}{% set x = loop.index %}{% else %}{% endfor %}"
      "{# a note #}{% if add_generation_prompt and not x is defined %}{{ m(\"a\\u00e9\", b=[1, {'k': none}] | tojson) }}{% endif %}";
  EXPECT_EQ(rendered(whole), "<|system\n|>s<|user\n|>ua\u00e9[1, {\"k\": null}]");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    SCOPED_TRACE(size);
    try {
      rendered(whole.substr(0, size));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported);
    }
  }
}

}  // namespace
}  // namespace sharpmax::test
