// Documents that PyPI's `jsonschema` accepts or rejects, and texts that Python's `re` matches or not.
// tools/grammar_golden.py makes the files.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "text/grammar/grammar_text.h"

namespace inferflux::text {
namespace {

namespace json = boost::json;
using testing::CompileOrFail;
using testing::Matches;

json::array Cases(const std::string& name) {
  std::ifstream file(std::filesystem::path(INFERFLUX_SOURCE_DIR) / "tests" / "data" / "grammar" / name);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  return json::parse(text).as_array();
}

std::string_view TextOf(const json::value& value) { return value.as_string(); }

TEST(GrammarGoldenTest, SchemasTakeWhatJsonschemaTakes) {
  size_t documents = 0;
  for (const auto& each : Cases("schemas.json")) {
    const std::string schema = json::serialize(each.at("schema"));
    const auto grammar = CompileOrFail(testing::Schema(schema));
    if (!grammar) continue;
    for (const auto& text : each.at("valid").as_array()) {
      EXPECT_TRUE(Matches(grammar, TextOf(text))) << schema << "\nrefuses " << TextOf(text);
      ++documents;
    }
    for (const auto& text : each.at("invalid").as_array()) {
      EXPECT_FALSE(Matches(grammar, TextOf(text))) << schema << "\ntakes " << TextOf(text);
      ++documents;
    }
  }
  EXPECT_GT(documents, 1000u);
}

// With keywords that exclude documents, a grammar may omit valid documents (other orders, unnamed members) or refuse a
// schema. It never accepts an invalid document.
TEST(GrammarGoldenTest, KeywordsThatExcludeExcludeAllThatJsonschemaRejects) {
  int schemas = 0, compiled = 0, valid = 0, taken = 0;
  for (const auto& each : Cases("keywords.json")) {
    const std::string schema = json::serialize(each.at("schema"));
    ++schemas;
    const auto grammar = CompileGrammar(testing::Schema(schema));
    if (!grammar) {
      EXPECT_FALSE(grammar.error().message.empty());
      continue;
    }
    ++compiled;
    for (const auto& text : each.at("invalid").as_array()) {
      EXPECT_FALSE(Matches(*grammar, TextOf(text))) << schema << "\ntakes " << TextOf(text);
    }
    for (const auto& text : each.at("valid").as_array()) {
      ++valid;
      taken += Matches(*grammar, TextOf(text)) ? 1 : 0;
    }
  }
  RecordProperty("compiled", compiled);
  RecordProperty("taken", taken);
  // What is left out is known: a change that takes more, or less, says so here.
  EXPECT_EQ(schemas, 240);
  EXPECT_EQ(compiled, 191);
  EXPECT_EQ(valid, 1057);
  EXPECT_EQ(taken, 929);
}

TEST(GrammarGoldenTest, PatternsMatchWhatPythonMatches) {
  size_t texts = 0;
  for (const auto& each : Cases("patterns.json")) {
    const std::string pattern(TextOf(each.at("pattern")));
    const auto grammar = CompileOrFail(testing::Regex(pattern));
    if (!grammar) continue;
    for (const auto& text : each.at("matches").as_array()) {
      EXPECT_TRUE(Matches(grammar, TextOf(text))) << pattern << " does not match '" << TextOf(text) << "'";
      ++texts;
    }
    for (const auto& text : each.at("others").as_array()) {
      EXPECT_FALSE(Matches(grammar, TextOf(text))) << pattern << " matches '" << TextOf(text) << "'";
      ++texts;
    }
  }
  EXPECT_GT(texts, 1000u);
}

}  // namespace
}  // namespace inferflux::text
