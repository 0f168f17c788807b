// One wrong table of normalizers per defect, each refused in words that say where.
#include <gtest/gtest.h>

#include "model/transformer/normalizer_table.h"
#include "sharpmax/error.h"

namespace sharpmax::test {
namespace {

struct WrongTable {
  const char* name;
  const char* text;  // "S" stands for the schema
  const char* says;
};

constexpr WrongTable kWrongTables[] = {
    {"not_json", "{\"schema\"", "not JSON at byte"},
    {"not_an_object", "[]", "the file must be an object"},
    {"no_schema", "{}", "\"schema\" must be \"sharpmax.normalizers/1\""},
    {"another_schema", R"({"schema": "x"})", "\"schema\" must be"},
    {"unknown_word", R"({S, "head": []})", "the file has 'head'"},
    {"layer_that_is_not_there", R"({S, "layers": [{"layer": 2, "normalizer": "hard"}]})",
     "layers[0]: there is no layer 2; the model has layers 0 to 1"},
    {"head_that_is_not_there", R"({S, "heads": [{"layer": 1, "head": 4, "normalizer": "hard"}]})",
     "heads[0]: there is no head 4 in layer 1; the model has layers 0 to 1 of heads 0 to 3"},
    {"negative_head", R"({S, "heads": [{"layer": 1, "head": -1, "normalizer": "hard"}]})",
     "there is no head -1"},
    {"head_as_text", R"({S, "heads": [{"layer": 1, "head": "1", "normalizer": "hard"}]})",
     "heads[0]: \"head\" must be a whole number"},
    {"no_normalizer", R"({S, "heads": [{"layer": 1, "head": 1}]})", "heads[0]: the normalizer must be text"},
    {"unknown_normalizer", R"({S, "default": "softmaxx"})", "default: "},
    {"per_head_values_for_one_head",
     R"({S, "heads": [{"layer": 1, "head": 1, "normalizer": "softmax:beta=1/2"}]})", "heads[0]: "},
    {"wrong_number_of_values", R"({S, "layers": [{"layer": 1, "normalizer": "softmax:beta=1/2"}]})",
     "layers[0]: "},
    {"twice",
     R"({S, "heads": [{"layer": 1, "head": 1, "normalizer": "hard"}, {"layer": 1, "head": 1, "normalizer": "hard"}]})",
     "heads[1] is named twice"},
    {"another_model", R"({S, "model": {"layers": 30, "heads": 9}})",
     "the table is for 30 layers of 9 heads; this model has 2 of 4"},
    {"layers_no_list", R"({S, "layers": {}})", "\"layers\" must be a list"},
    {"entry_no_object", R"({S, "layers": [3]})", "layers[0] must be an object"},
};

class NormalizerTableFiles : public testing::TestWithParam<WrongTable> {};

TEST_P(NormalizerTableFiles, AreRefused) {
  std::string text = GetParam().text;
  if (const auto at = text.find("{S"); at != std::string::npos)
    text.replace(at + 1, 1, "\"schema\": \"sharpmax.normalizers/1\"");
  try {
    model::parse_normalizer_table(text, "table.json", 2, 4);
    FAIL() << "was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_file);
    EXPECT_EQ(std::string(error.what()).substr(0, 12), "table.json: ");
    EXPECT_NE(std::string(error.what()).find(GetParam().says), std::string::npos) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Defects, NormalizerTableFiles, testing::ValuesIn(kWrongTables),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace sharpmax::test
