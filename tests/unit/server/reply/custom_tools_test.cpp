// Tools whose input is a text: the function that stands for one, and what is wrong with a format.
#include "server/reply/custom_tools.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <string>

namespace inferflux::server {
namespace {

namespace json = boost::json;

std::string FormatError(const char* format) {
  CustomTool tool;
  const ApiStatus read = ReadCustomFormat(json::parse(format), "format", tool);
  if (read) return tool.syntax + "/" + tool.definition;
  EXPECT_EQ(read.error().status, 400);
  return read.error().param + ": " + read.error().message;
}

TEST(CustomToolsTest, AFormatIsTextOrAGrammar) {
  EXPECT_EQ(FormatError(R"({"type":"text"})"), "/");
  EXPECT_EQ(FormatError(R"({"type":"grammar","syntax":"regex","definition":"a+"})"), "regex/a+");
  EXPECT_EQ(FormatError(R"({"type":"grammar","grammar":{"syntax":"regex","definition":"a+"}})"), "regex/a+");
  EXPECT_EQ(FormatError(R"({"type":"grammar","syntax":"lark","definition":"start: \"a\""})"), "lark/start: \"a\"");
  EXPECT_EQ(FormatError("{}"), "format.type: 'format.type' must be \"text\" or \"grammar\"");
  EXPECT_EQ(FormatError(R"({"type":"grammar","definition":"a"})"),
            "format.syntax: 'format.syntax' must be \"lark\" or \"regex\"");
  EXPECT_EQ(FormatError(R"({"type":"grammar","grammar":{"syntax":"gbnf","definition":"a"}})"),
            "format.grammar.syntax: 'format.grammar.syntax' must be \"lark\" or \"regex\"");
  EXPECT_EQ(FormatError(R"({"type":"grammar","syntax":"regex"})"), "format.definition: 'format.definition' is missing");
  EXPECT_EQ(FormatError(R"({"type":"grammar","grammar":{"syntax":"lark"}})"),
            "format.grammar.definition: 'format.grammar.definition' is missing");
  EXPECT_EQ(FormatError(R"({"type":"grammar","syntax":"regex","definition":"("})").substr(0, 54),
            "format.definition: 'format.definition' cannot be used:");
  EXPECT_EQ(FormatError(R"({"type":"grammar","syntax":"lark","definition":"("})").substr(0, 54),
            "format.definition: 'format.definition' cannot be used:");
}

std::string PatternOf(const std::string& definition) {
  const auto function = FunctionOfCustom({.name = "f", .syntax = "regex", .definition = definition});
  return std::string(
      json::parse(function.parameters).at("properties").as_object().begin()->value().at("pattern").as_string());
}

TEST(CustomToolsTest, AnExpressionIsOfTheWholeText) {
  EXPECT_EQ(PatternOf("a|b"), "^(?:a|b)$");
  EXPECT_EQ(PatternOf("^a|b$"), "^(?:a|b)$");
  EXPECT_EQ(PatternOf("^a"), "^(?:a)$");
  EXPECT_EQ(PatternOf("a$"), "^(?:a)$");
  EXPECT_EQ(PatternOf("a\\$"), "^(?:a\\$)$") << "a dollar sign";
  EXPECT_EQ(PatternOf("^$"), "^(?:)$");
}

TEST(CustomToolsTest, AFunctionStandsForEachKind) {
  const auto text = FunctionOfCustom({.name = "f", .description = "d"});
  EXPECT_EQ(text.name, "f");
  EXPECT_EQ(text.description, "d");
  EXPECT_FALSE(text.strict);
  EXPECT_TRUE(text.custom);
  EXPECT_EQ(text.lark, "");
  const auto regex = FunctionOfCustom({.name = "f", .description = "d", .syntax = "regex", .definition = "a+"});
  EXPECT_EQ(regex.description, "d\n\nThe input must match this regular expression:\na+");
  EXPECT_TRUE(regex.strict);
  EXPECT_EQ(regex.lark, "");
  const auto lark = FunctionOfCustom({.name = "g", .syntax = "lark", .definition = "start: \"a\""});
  EXPECT_EQ(lark.description, "The input must match this grammar, in Lark's notation:\nstart: \"a\"");
  EXPECT_TRUE(lark.strict);
  EXPECT_EQ(lark.lark, "start: \"a\"");
  EXPECT_EQ(lark.parameters, text.parameters) << "the schema does not tell the grammar";
  const json::value schema = json::parse(text.parameters);
  EXPECT_EQ(schema.at("type"), "object");
  EXPECT_EQ(schema.at("additionalProperties"), false);
  EXPECT_EQ(schema.at("required").as_array().size(), 1u);
  const std::string input(schema.at("required").at(0).as_string());
  EXPECT_EQ(json::serialize(schema.at("properties")), "{\"" + input + "\":{\"type\":\"string\"}}");
  EXPECT_EQ(json::serialize(ArgumentsOfCustom("x\"y")), "{\"" + input + "\":\"x\\\"y\"}");
  EXPECT_EQ(CustomNames({text, {.name = "plain"}, lark}), (std::vector<std::string>{"f", "g"}));
}

TEST(CustomToolsTest, ATemplateSeesAFunction) {
  const json::object bare = TemplateToolOfCustom({.name = "f"});
  EXPECT_EQ(bare.at("type"), "function");
  EXPECT_EQ(bare.at("function").at("name"), "f");
  EXPECT_FALSE(bare.at("function").as_object().contains("description"));
  const json::object told = TemplateToolOfCustom({.name = "f", .description = "d"});
  EXPECT_EQ(told.at("function").at("description"), "d");
  EXPECT_EQ(json::serialize(told.at("function").at("parameters")), FunctionOfCustom({.name = "f"}).parameters);
}

}  // namespace
}  // namespace inferflux::server
