#include "text/tool_calls/marker_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "text/detokenizer.h"
#include "text/grammar/grammar_compiler.h"
#include "text/grammar/grammar_matcher.h"
#include "text/tokenizer/vocab_builders.h"
#include "text/tool_calls/syntax_of.h"
#include "text/tool_calls/tool_call_parser.h"
#include "text/tool_calls/tool_call_samples.h"

namespace inferflux::text {
namespace {

using testing::AddToken;
using ::testing::ElementsAre;
using testing::SyntaxOf;

struct Model {
  std::shared_ptr<const Tokenizer> tokenizer;
  TokenId begin, sep, end, calls_begin, calls_end, other, eos;
};

// Byte tokens, and the control tokens of DeepSeek's calls.
Model DeepSeek() {
  Model out;
  VocabSpec spec = testing::ByteLevelSpec({});
  out.calls_begin = AddToken(spec, "<｜tool▁calls▁begin｜>", TokenKind::kControl);
  out.begin = AddToken(spec, "<｜tool▁call▁begin｜>", TokenKind::kControl);
  out.sep = AddToken(spec, "<｜tool▁sep｜>", TokenKind::kControl);
  out.end = AddToken(spec, "<｜tool▁call▁end｜>", TokenKind::kControl);
  out.calls_end = AddToken(spec, "<｜tool▁calls▁end｜>", TokenKind::kControl);
  out.other = AddToken(spec, "<｜User｜>", TokenKind::kControl);
  out.eos = AddToken(spec, "<｜end▁of▁sentence｜>", TokenKind::kControl);
  spec.end_of_generation = {out.eos};
  out.tokenizer = *Tokenizer::Create(std::move(spec), {});
  return out;
}

ToolCallSpec Spec(const ToolCallSyntax& syntax, const Tokenizer& tokenizer, bool forced) {
  return {.syntax = &syntax,
          .tokens = MarkerTokensOf(syntax, tokenizer),
          .tools = {{"look_up", R"({"type":"object","properties":{"word":{"type":"string"}},"required":["word"]})"}},
          .forced = forced,
          .several = true};
}

TEST(MarkerTokensTest, ControlTokensAreFoundWithinMarkers) {
  const Model model = DeepSeek();
  const MarkerTokens tokens = MarkerTokensOf(SyntaxOf("deepseek 3"), *model.tokenizer);
  EXPECT_THAT(tokens.shown, ElementsAre(model.calls_begin, model.begin, model.sep, model.end, model.calls_end));
  EXPECT_TRUE(tokens.ends.empty());
  EXPECT_TRUE(MarkerTokensOf(HermesSyntax(), *model.tokenizer).shown.empty());
}

// A forced marker that is one token is written as that token, not as its letters. An argument's text contains no
// control token. The parser finds the call in the sampled text.
TEST(MarkerTokensTest, AForcedMarkerIsItsToken) {
  const Model model = DeepSeek();
  const ToolCallSyntax& syntax = SyntaxOf("deepseek 3");
  const ToolCallSpec spec = Spec(syntax, *model.tokenizer, true);
  GrammarCompiler compiler(model.tokenizer);
  const auto grammar = compiler.Compile({.kind = GrammarSpec::Kind::kToolCalls, .tool_calls = spec});
  ASSERT_TRUE(grammar) << grammar.error().message;
  GrammarMatcher matcher(*grammar, true);
  Detokenizer detokenizer(model.tokenizer, {.shown_control = spec.tokens.shown});
  std::string text;
  const auto take = [&](TokenId id) {
    const auto mask = matcher.Mask();
    ASSERT_TRUE(mask);
    EXPECT_TRUE((*mask)->Allows(id)) << text;
    ASSERT_TRUE(matcher.Accept(id)) << text;
    text += detokenizer.Push(id);
  };
  const auto spell = [&](std::string_view letters) {
    for (const TokenId id : model.tokenizer->Encode(letters)) take(id);
  };
  EXPECT_EQ((*matcher.Mask())->count(), 1);
  take(model.calls_begin);
  EXPECT_EQ((*matcher.Mask())->count(), 1);
  take(model.begin);
  spell("function");
  take(model.sep);
  spell("look_up\n```json\n{\"word\": \"");
  const auto inside = *matcher.Mask();
  for (const TokenId id : {model.begin, model.calls_end, model.other, model.eos}) EXPECT_FALSE(inside->Allows(id));
  EXPECT_TRUE(inside->Allows('<'));
  spell("<｜tool▁call▁end｜>");  // these letters are text
  spell("\"}\n```");
  take(model.end);
  EXPECT_FALSE(matcher.can_end());
  take(model.calls_end);
  EXPECT_TRUE(matcher.must_end());
  EXPECT_FALSE((*matcher.Mask())->Allows(model.other));

  ToolCallParser parser(syntax, std::make_shared<const std::vector<OfferedTool>>(spec.tools), {});
  const auto found = parser.Feed(text);
  ASSERT_EQ(found.calls.size(), 1u);
  EXPECT_EQ(found.calls[0].arguments, R"({"word":"<｜tool▁call▁end｜>"})");
}

// If the model may also write text, the marker's token is allowed at any time, but its letters never are.
TEST(MarkerTokensTest, AMarkerMayStandBehindText) {
  const Model model = DeepSeek();
  GrammarCompiler compiler(model.tokenizer);
  const auto grammar = compiler.Compile(
      {.kind = GrammarSpec::Kind::kToolCalls, .tool_calls = Spec(SyntaxOf("deepseek 3.1"), *model.tokenizer, false)});
  ASSERT_TRUE(grammar) << grammar.error().message;
  GrammarMatcher matcher(*grammar, true);
  for (const TokenId id : model.tokenizer->Encode("Well, <｜tool▁calls▁begin｜")) ASSERT_TRUE(matcher.Accept(id));
  const auto mask = *matcher.Mask();
  EXPECT_TRUE(mask->Allows(model.calls_begin));
  EXPECT_FALSE(mask->Allows(model.begin));
  EXPECT_FALSE(mask->Allows(model.other));
  EXPECT_FALSE(mask->Allows(*model.tokenizer->Find(">")));
  EXPECT_TRUE(mask->Allows(*model.tokenizer->Find("<")));
  EXPECT_TRUE(mask->Allows(model.eos));
}

// A closing marker that is an end-of-generation token is never text: the answer ends with it.
TEST(MarkerTokensTest, AnEndTokenClosesTheCalls) {
  VocabSpec spec = testing::ByteLevelSpec({});
  const TokenId calls = AddToken(spec, "<|calls|>", TokenKind::kControl);
  spec.end_of_generation = {calls};
  const std::shared_ptr<const Tokenizer> tokenizer = *Tokenizer::Create(std::move(spec), {});
  const ToolCallSyntax& syntax = SyntaxOf("solar");
  GrammarCompiler compiler(tokenizer);
  const auto grammar =
      compiler.Compile({.kind = GrammarSpec::Kind::kToolCalls, .tool_calls = Spec(syntax, *tokenizer, true)});
  ASSERT_TRUE(grammar) << grammar.error().message;
  GrammarMatcher matcher(*grammar, true);
  const std::string text =
      "<|tool_calls|><|tool_call:begin|>a1<|tool_call:name|>look_up<|tool_call:args|>{\"word\": "
      "\"a\"}<|tool_call:end|>";
  for (const TokenId id : tokenizer->Encode(text)) ASSERT_TRUE(matcher.Accept(id));
  EXPECT_TRUE((*matcher.Mask())->Allows(calls));
  ToolCallParser parser(syntax, std::make_shared<const std::vector<OfferedTool>>(1, OfferedTool{"look_up", ""}), {});
  EXPECT_EQ(parser.Feed(text).calls.size() + parser.Finish().calls.size(), 1u);
}

// Marks around strings are such tokens too: a string contains neither another mark nor its letters.
TEST(MarkerTokensTest, TheMarksOfStringsAreTokens) {
  VocabSpec spec = testing::ByteLevelSpec({});
  const TokenId opens = AddToken(spec, "<|tool_call>", TokenKind::kControl);
  const TokenId closes = AddToken(spec, "<tool_call|>", TokenKind::kControl);
  const TokenId mark = AddToken(spec, "<|\"|>", TokenKind::kControl);
  const TokenId eos = AddToken(spec, "<turn|>", TokenKind::kControl);
  spec.end_of_generation = {eos};
  const std::shared_ptr<const Tokenizer> tokenizer = *Tokenizer::Create(std::move(spec), {});
  const ToolCallSyntax& syntax = SyntaxOf("gemma 4");
  const ToolCallSpec calls = Spec(syntax, *tokenizer, true);
  EXPECT_THAT(calls.tokens.shown, ElementsAre(opens, closes, mark));
  GrammarCompiler compiler(tokenizer);
  const auto grammar = compiler.Compile({.kind = GrammarSpec::Kind::kToolCalls, .tool_calls = calls});
  ASSERT_TRUE(grammar) << grammar.error().message;
  GrammarMatcher matcher(*grammar, true);
  Detokenizer detokenizer(tokenizer, {.shown_control = calls.tokens.shown});
  std::string text;
  const auto take = [&](TokenId id) {
    ASSERT_TRUE(matcher.Accept(id)) << text;
    text += detokenizer.Push(id);
  };
  const auto spell = [&](std::string_view letters) {
    for (const TokenId id : tokenizer->Encode(letters)) take(id);
  };
  take(opens);
  spell("call:look_up{word:");
  EXPECT_FALSE((*matcher.Mask())->Allows(*tokenizer->Find("<"))) << "the mark is a token, not its letters";
  take(mark);
  spell("a <tool_call|> <|\"|");
  const auto inside = *matcher.Mask();
  EXPECT_FALSE(inside->Allows(*tokenizer->Find(">")));
  for (const TokenId id : {opens, closes, eos}) EXPECT_FALSE(inside->Allows(id));
  take(mark);
  spell("}");
  EXPECT_FALSE(matcher.can_end());
  take(closes);
  EXPECT_TRUE(matcher.can_end());

  ToolCallParser parser(syntax, std::make_shared<const std::vector<OfferedTool>>(calls.tools), {});
  const auto found = parser.Feed(text);
  ASSERT_EQ(found.calls.size(), 1u) << text;
  EXPECT_EQ(found.calls[0].arguments, R"({"word":"a <tool_call|> <|\"|"})");
}

// A complete call of each format whose arguments are not JSON. With the marks as tokens it is accepted and parsed; with
// their letters it is refused.
TEST(MarkerTokensTest, CallsInOtherSyntaxesAreForcedByTheirTokens) {
  const std::vector<std::pair<std::string_view, std::vector<const char*>>> syntaxes = {
      {"gemma 4", {"<|tool_call>", "<tool_call|>", "<|\"|>"}},
      {"lfm", {"<|tool_call_start|>", "<|tool_call_end|>"}},
      {"minimax 3", {"]<]minimax[>["}}};
  for (const auto& [id, controls] : syntaxes) {
    SCOPED_TRACE(id);
    VocabSpec vocabulary = testing::ByteLevelSpec({});
    for (const char* name : controls) AddToken(vocabulary, name, TokenKind::kControl);
    const std::shared_ptr<const Tokenizer> tokenizer = *Tokenizer::Create(std::move(vocabulary), {});
    ToolCallSpec calls = Spec(SyntaxOf(id), *tokenizer, true);
    calls.tools[0].parameters =
        R"({"type":"object","properties":{"word":{"type":"string"},"pages":{"type":"integer"}},"required":["word"]})";
    EXPECT_EQ(calls.tokens.shown.size(), controls.size());
    GrammarCompiler compiler(tokenizer);
    const auto grammar = compiler.Compile({.kind = GrammarSpec::Kind::kToolCalls, .tool_calls = calls});
    ASSERT_TRUE(grammar) << grammar.error().message;
    const auto sample = std::ranges::find(testing::kToolCallSamples, id, &testing::ToolCallSample::syntax);
    const TextSpan text{.text = testing::Written(*sample, {{"heron", "3"}, {"a < b", "4"}}), .trusted = true};

    GrammarMatcher by_letters(*grammar, true);
    EXPECT_FALSE(by_letters.Accept(tokenizer->Encode(text.text)[0]));

    GrammarMatcher matcher(*grammar, true);
    Detokenizer detokenizer(tokenizer, {.shown_control = calls.tokens.shown});
    ToolCallParser parser(SyntaxOf(id), std::make_shared<const std::vector<OfferedTool>>(calls.tools), {});
    size_t found = 0;
    for (const TokenId token : tokenizer->Encode(std::span(&text, 1))) {
      ASSERT_TRUE(matcher.Accept(token)) << tokenizer->Text(token);
      found += parser.Feed(detokenizer.Push(token)).calls.size();
    }
    EXPECT_TRUE(matcher.can_end());
    EXPECT_EQ(found + parser.Finish().calls.size(), 2u);
  }
}

}  // namespace
}  // namespace inferflux::text
