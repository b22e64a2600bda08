// What a grammar lets a model write parses, with the types of the signature; and what adapters write as demonstrations
// is what the grammar lets a model write.
#include <gtest/gtest.h>

#include <random>

#include "dspy/adapters/chat_adapter.h"
#include "dspy/adapters/llama_cpp_adapter.h"
#include "dspy/golden.h"
#include "dspy/python/python_format.h"
#include "dspy/python/python_text.h"
#include "dspy/signature/convert.h"
#include "text/grammar/grammar_text.h"

namespace inferflux::dspy {
namespace {

constexpr uint32_t kSeed = 20261123;

std::shared_ptr<const text::CompiledGrammar> CompiledFor(const Adapter& adapter, const Signature& signature) {
  const auto constraint = adapter.ConstraintFor(signature);
  if (!constraint) ADD_FAILURE() << signature.ToString() << ": " << constraint.error().message;
  if (!constraint) return nullptr;
  return text::testing::CompileOrFail(constraint->kind == Constraint::Kind::kGbnf
                                          ? text::testing::Gbnf(constraint->source)
                                          : text::testing::Schema(constraint->source));
}

// A walk that prefers bytes which end lines, begin markers and close brackets: others would go on for ever.
std::string Walk(const std::shared_ptr<const text::CompiledGrammar>& grammar, std::mt19937& random,
                 const std::string& preferred) {
  text::Pushdown run(grammar);
  text::ConfigId at = run.Start();
  std::string out;
  while (out.size() < 4000 && (!run.CanEnd(at) || (run.CanGoOn(at) && random() % 4 != 0))) {
    std::vector<std::pair<char, text::ConfigId>> ways;
    std::vector<std::pair<char, text::ConfigId>> good;
    for (int byte = 0; byte < 256; ++byte) {
      const text::ConfigId to = run.Next(at, static_cast<uint8_t>(byte));
      if (to == text::Pushdown::kDead) continue;
      ways.emplace_back(static_cast<char>(byte), to);
      if (preferred.find(static_cast<char>(byte)) != std::string::npos) good.push_back(ways.back());
    }
    if (ways.empty()) break;
    const auto& from = !good.empty() && random() % 5 != 0 ? good : ways;
    const auto& [byte, to] = from[random() % from.size()];
    out += byte;
    at = to;
  }
  return run.CanEnd(at) ? out : std::string();
}

NamedTypes Types() { return testing::ReadTypes(testing::ReadGolden("parse.json")); }

const char* const kSignatures[] = {
    "q -> a",
    "q -> a, b",
    "q -> answer: int",
    "q -> why, n: int, x: float, ok: bool",
    "q -> l: Literal['good', 'not so good', ' padded ', \"it's\"], m: Literal[1, 2, True]",
    "q -> c: Color, v: Level, cs: list[Color]",
    "q -> l: list[int], d: dict[str, list[float]], b: list[bool]",
    "q -> o: Optional[int], s: Optional[str], u: int | str",
    "q -> p: Person, ps: list[Person]",
    "q -> t: Team",
    "q -> any: Any, l: list, d: dict",
    "q -> größe, ä: float",
};

void ExpectAllWalksParse(const Adapter& adapter, const std::string& preferred, size_t walks) {
  const NamedTypes types = Types();
  std::mt19937 random(kSeed);
  for (const char* text : kSignatures) {
    const auto signature = Signature::Parse(text, std::nullopt, types);
    ASSERT_TRUE(signature) << signature.error().message;
    const auto grammar = CompiledFor(adapter, *signature);
    ASSERT_TRUE(grammar);
    size_t whole = 0;
    for (size_t i = 0; i < walks; ++i) {
      const std::string answer = Walk(grammar, random, preferred);
      if (answer.empty()) continue;
      ++whole;
      const auto values = adapter.ParseResponse(*signature, answer);
      ASSERT_TRUE(values) << adapter.name() << ", " << text << ": " << answer << ": " << values.error().message;
      ASSERT_EQ(values->size(), signature->outputs().size());
      for (const Field& field : signature->outputs()) {
        const auto exact = CheckInput(field, values->at(field.name));
        ASSERT_TRUE(exact) << answer << ": " << exact.error().message;
      }
    }
    EXPECT_GE(whole, 5u) << adapter.name() << ", " << text;
  }
}

TEST(DspyConstraintTest, AnyHeaderAnswerParses) { ExpectAllWalksParse(ChatAdapter(), "\n\n[[}]\"", 40); }
TEST(DspyConstraintTest, AnyLineAnswerParses) {
  ExpectAllWalksParse(LlamaCppAdapter(), "\nabhlmnqoxsut:}]\"\xC3\xA4", 40);
}
TEST(DspyConstraintTest, AnyJsonAnswerParses) { ExpectAllWalksParse(JSONAdapter(), "}]\"", 40); }

TEST(DspyConstraintTest, DemonstrationsAreWhatMayBeWritten) {
  const auto signature = Signature::Parse(
      "q -> why, n: int, x: float, ok: bool, l: Literal['good', 'it is'], c: Color, ns: list[int], p: Person", {},
      Types());
  ASSERT_TRUE(signature);
  const Values demo = {{"q", "?"},
                       {"why", "Two lines,\n  [one] and [[two.\n\n: end"},
                       {"n", -42},
                       {"x", 2.5},
                       {"ok", true},
                       {"l", "it is"},
                       {"c", "grün"},
                       {"ns", {1, 2, 3}},
                       {"p", {{"name", "Änn \"x\"\n"}, {"age", 4}, {"tags", boost::json::array()}}}};
  const ChatAdapter chat;
  const JSONAdapter json;
  const LlamaCppAdapter plain;
  for (const Adapter* adapter :
       {static_cast<const Adapter*>(&chat), static_cast<const Adapter*>(&json), static_cast<const Adapter*>(&plain)}) {
    const std::vector<Example> demos = {Example(demo)};
    const auto messages = adapter->Format(*signature, demos, {{"q", "?"}});
    const std::string answer(Strip(messages[2].content));
    EXPECT_TRUE(text::testing::Matches(CompiledFor(*adapter, *signature), answer)) << adapter->name() << ": " << answer;
    const auto values = adapter->ParseResponse(*signature, answer);
    ASSERT_TRUE(values) << values.error().message;
    Values expected = demo;
    expected.stable_erase(expected.find("q"));
    EXPECT_EQ(JsonDumps(*values), JsonDumps(expected)) << adapter->name();
  }
}

TEST(DspyConstraintTest, MarkersCannotBeWrittenAsText) {
  const auto signature = Signature::Parse("q -> a, b: int");
  const auto lines = CompiledFor(LlamaCppAdapter(), *signature);
  EXPECT_TRUE(text::testing::Matches(lines, "a: b: stays in the line\nba: b:\nb: 4"));
  EXPECT_FALSE(text::testing::Matches(lines, "a: x\n  B: no\nb: 4"));
  const auto headers = CompiledFor(ChatAdapter(), *signature);
  const auto with = [](std::string text) {
    return "[[ ## a ## ]]\n" + text + "\n\n[[ ## b ## ]]\n4\n\n[[ ## completed ## ]]";
  };
  EXPECT_TRUE(text::testing::Matches(headers, with("in a [[ ## b ## ]] line\n[x]\n")));
  EXPECT_FALSE(text::testing::Matches(headers, with("x\n [[ ## b ## ]]\n5")));
  EXPECT_FALSE(text::testing::Matches(headers, with("x\r[[ ## b ## ]]\n5")));
}

TEST(DspyConstraintTest, WhatHasNoGrammarIsNamed) {
  const boost::json::object schema = {{"type", "object"},
                                      {"properties", {{"age", {{"type", "integer"}, {"minimum", 0}}}}}};
  const auto signature = SignatureBuilder().Input("q").Output("p", FieldType::Object("P", schema)).Build();
  ASSERT_TRUE(signature);
  const auto constraint = ChatAdapter().ConstraintFor(*signature);
  ASSERT_FALSE(constraint);
  EXPECT_EQ(constraint.error().code, ErrorCode::kInvalidConfig);
  EXPECT_EQ(constraint.error().field, "p");
  EXPECT_NE(constraint.error().message.find("minimum"), std::string::npos);
  EXPECT_TRUE(JSONAdapter().ConstraintFor(*signature));
}

TEST(DspyConstraintTest, ObjectsThatContainThemselvesEnd) {
  boost::json::object node = {{"type", "object"},
                              {"properties", {{"value", {{"type", "integer"}}}, {"next", {{"$ref", "#/$defs/Node"}}}}},
                              {"required", {"value"}}};
  const boost::json::object schema = {{"$ref", "#/$defs/Node"}, {"$defs", {{"Node", node}}}};
  const auto signature = SignatureBuilder().Input("q").Output("n", FieldType::Object("Node", schema)).Build();
  ASSERT_TRUE(signature) << signature.error().message;
  const auto grammar = CompiledFor(ChatAdapter(), *signature);
  EXPECT_TRUE(text::testing::Matches(grammar, "[[ ## n ## ]]\n{\"value\": 1}\n\n[[ ## completed ## ]]"));
  EXPECT_TRUE(text::testing::Matches(CompiledFor(JSONAdapter(), *signature),
                                     R"({"n": {"value": 1, "next": {"value": 2, "next": {"value": 3}}}})"));
  const auto values =
      ChatAdapter().ParseResponse(*signature, R"({"n": {"value": 1, "next": {"value": 2, "next": {"value": "3"}}}})");
  ASSERT_FALSE(values);
  EXPECT_NE(values.error().message.find("$.next.next.value"), std::string::npos) << values.error().message;
}

}  // namespace
}  // namespace inferflux::dspy
