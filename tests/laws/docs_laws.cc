// docs/reference/normalizers.md has one section per member, in the family's order, that names its parameters.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "sharpmax/normalizer.h"
#include "support/files.h"

namespace sharpmax::test {
namespace {

TEST(DocsLaws, EveryMemberHasItsSection) {
  std::ifstream file(source_folder() / "docs/reference/normalizers.md");
  ASSERT_TRUE(file) << "docs/reference/normalizers.md is missing";
  std::stringstream text;
  text << file.rdbuf();
  const std::string page = text.str();
  ASSERT_NE(page.find("## Which normalizer for what"), std::string::npos);
  std::size_t after = page.find("## Which normalizer for what") + 1;
  for (const NormalizerInfo& member : family()) {
    SCOPED_TRACE(member.name);
    const std::size_t start = page.find("\n## ", after);
    ASSERT_NE(start, std::string::npos) << "no section left";
    const std::string section = page.substr(start + 1, page.find("\n## ", start + 1) - start);
    EXPECT_EQ(section.substr(0, section.find('\n')), fmt::format("## `{}`", member.name));
    std::vector<std::string_view> words;
    for (const ParameterInfo& parameter : member.parameters) {
      words.push_back(parameter.name);
      words.insert(words.end(), parameter.choices.begin(), parameter.choices.end());
    }
    words.insert(words.end(), member.aliases.begin(), member.aliases.end());
    for (const std::string_view word : words) {
      EXPECT_NE(section.find(fmt::format("`{}`", word)), std::string::npos) << word;
    }
    for (const char* part : {"**As n grows**", "Parameters:", "Source:"}) {
      EXPECT_NE(section.find(part), std::string::npos) << part;
    }
    after = start + 1;
  }
  EXPECT_EQ(page.find("\n## ", after), std::string::npos) << "a section of no member";
}

}  // namespace
}  // namespace sharpmax::test
