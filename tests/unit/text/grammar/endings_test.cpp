// Grammars and schemas that end early, and parts of schemas that close themselves.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "text/grammar/grammar_text.h"

namespace inferflux::text {
namespace {

using testing::ErrorOf;
using testing::ExpectMatches;
using testing::Gbnf;
using testing::Regex;
using testing::Schema;

GrammarSpec LarkOf(std::string source) { return {.kind = GrammarSpec::Kind::kLark, .source = std::move(source)}; }

TEST(GrammarEndings, ALarkGrammarThatEndsEarlySaysWhatIsMissing) {
  for (const auto& [source, message] :
       {std::pair{"start: /a\\", "line 1: the line ends inside a regular expression"},
        {"start: /a", "line 1: the line ends inside a regular expression"},
        {"%llguidance {}\nstart: %json {\"a\\", "line 2: a JSON object must follow '%json'"},
        {"%llguidance {}\nstart: %json {\"a\": [1}]",
         "line 2: the schema of '%json': the schema is not valid JSON: syntax error"},
        {"%llguidance {}\nstart: %json {\"a", "line 2: a JSON object must follow '%json'"},
        {"%llguidance {}\nstart: %json", "line 2: a JSON object must follow '%json'"},
        {"%llguidance {}\nstart: %json ]", "line 2: a JSON object must follow '%json'"},
        {"%llguidance {}\nstart: %json [1]", "line 2: a JSON object must follow '%json'"},
        {"%llguidance {}\nstart: %json true", "line 2: a JSON object must follow '%json'"}}) {
    EXPECT_EQ(ErrorOf(LarkOf(source)), message) << source;
  }
  EXPECT_EQ(ErrorOf(LarkOf("%llguidance {}\nstart: %json {\"const\": \"]}\\\"{\"} \"x\"")), "");
}

// What the part names is evaluated by the part alone.
TEST(GrammarEndings, APartOfASchemaClosesItself) {
  ExpectMatches(R"({"allOf":[{"properties":{"a":{"const":1}},"unevaluatedProperties":false}],"type":"object"})",
                {"{}", R"({"a":1})"}, {R"({"b":1})", R"({"a":2})"});
  ExpectMatches(R"({"allOf":[{"properties":{"a":{"const":1}},"unevaluatedProperties":false,
                               "additionalProperties":{"const":2}}],"type":"object"})",
                {"{}", R"({"a":1,"b":2})"}, {R"({"b":1})"});
  const std::string part = R"("properties":{"a":true},"unevaluatedProperties":false)";
  const auto in_part = [](const std::string& keywords) {
    return ErrorOf(Schema(R"({"allOf":[{)" + keywords + R"(}],"type":"object"})"));
  };
  EXPECT_EQ(in_part(part + R"(,"anyOf":[{"required":["a"]}])"),
            "at #/allOf/0/unevaluatedProperties: is not supported beside 'anyOf' and 'oneOf' in a part of a schema");
  EXPECT_EQ(in_part(part + R"(,"oneOf":[{"required":["a"]}])"),
            "at #/allOf/0/unevaluatedProperties: is not supported beside 'oneOf'");
  EXPECT_EQ(in_part(part + R"(,"not":{"required":["a"]})"),
            "at #/allOf/0/unevaluatedProperties: is not supported beside 'not'");
}

}  // namespace
}  // namespace inferflux::text
