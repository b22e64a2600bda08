// The forms that answers must have, word for word, and what of an answer in pieces is handed out and when.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dspy/adapters/answer_grammar.h"
#include "dspy/adapters/chat_adapter.h"
#include "dspy/adapters/llama_cpp_adapter.h"
#include "dspy/programs/predict.h"
#include "dspy/python/python_format.h"
#include "dspy/scripted_lm.h"

namespace inferflux::dspy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::ScriptedLm;

Signature ColourAndCount() {
  return *SignatureBuilder()
              .Input("q")
              .Output("c", FieldType::Enum("Color", {{"RED", "r"}, {"BLUE", "b"}}), "", "Its colour:")
              .Output("n", FieldType::Bool(), "", "N")
              .Build();
}

TEST(AnswerFormTest, SectionsHaveTheirHeadersInOrder) {
  const auto grammar = HeaderGrammar(ColourAndCount());
  ASSERT_TRUE(grammar);
  EXPECT_EQ(grammar->kind, Constraint::Kind::kGbnf);
  const std::string& source = grammar->source;
  EXPECT_EQ(source.substr(source.find("root ::=")),
            R"(root ::= "[[ ## c ## ]]\x0A" ("r" | "b") "\x0A\x0A[[ ## n ## ]]\x0A" ("True" | "False") )"
            R"("\x0A\x0A[[ ## completed ## ]]")"
            "\n");
  EXPECT_EQ(source.find("[^\\n\\x0B\\x0C\\r\\x1C-\\x1E\\u0085\\u2028\\u2029]* (\"\\n\""), std::string::npos)
      << "the first line is no free one";
}

TEST(AnswerFormTest, LinesBeginWithANameOrAPrefixThatEndsInAColon) {
  const auto grammar = NameGrammar(ColourAndCount());
  ASSERT_TRUE(grammar);
  EXPECT_EQ(grammar->kind, Constraint::Kind::kGbnf);
  const std::string& source = grammar->source;
  EXPECT_EQ(source.substr(source.find("root ::=")), R"(root ::= "c: " ("r" | "b") "\x0An: " ("True" | "False") )"
                                                    "\n");
  // The beginnings of "c:", "its colour:" and "n:", and of nothing else.
  const size_t first = source.find("text-n0 ::= ");
  ASSERT_NE(first, std::string::npos);
  const std::string line = source.substr(first, source.find('\n', first) - first);
  EXPECT_NE(line.find("cCiInN] ["), std::string::npos) << line;
  EXPECT_NE(line.find("| [cC] text-n1 | [iI] text-n3 | [nN] text-n"), std::string::npos) << line;
}

TEST(AnswerFormTest, AnObjectHasEachFieldAndItsDefinitions) {
  const auto schema = AnswerSchema(ColourAndCount());
  ASSERT_TRUE(schema);
  EXPECT_EQ(schema->kind, Constraint::Kind::kJsonSchema);
  EXPECT_EQ(schema->source,
            R"({"type": "object", "properties": {"c": {"$ref": "#/$defs/Color"}, "n": {"type": "boolean"}}, )"
            R"("required": ["c", "n"], "additionalProperties": false, )"
            R"("$defs": {"Color": {"enum": ["r", "b"], "type": "string", "title": "Color"}}})");
  EXPECT_EQ(AnswerSchema(*Signature::Parse("q -> n: bool"))->source,
            R"({"type": "object", "properties": {"n": {"type": "boolean"}}, "required": ["n"], )"
            R"("additionalProperties": false})");
}

TEST(AnswerFormTest, AFieldWithoutAGrammarIsNamed) {
  const boost::json::object schema = {{"type", "integer"}, {"minimum", 0}};
  const auto signature = SignatureBuilder().Input("q").Output("a").Output("p", FieldType::Object("P", schema)).Build();
  for (const auto& grammar : {HeaderGrammar(*signature), NameGrammar(*signature)}) {
    ASSERT_FALSE(grammar);
    EXPECT_EQ(grammar.error().message,
              "the field 'p': no grammar can be made: the schema's 'minimum' is not regular here");
    EXPECT_EQ(grammar.error().field, "p");
  }
}

TEST(AnswerFormTest, AnObjectThatLacksFieldsIsReadForThoseItHas) {
  const auto signature = Signature::Parse("q -> a, n: int");
  EXPECT_EQ(JSONAdapter().ParseResponse(*signature, R"({"a": "x"})").error().message,
            R"(the answer lacks 'n' (int); it is "{"a": "x"}")");
  EXPECT_EQ(JSONAdapter().ParseResponse(*signature, "[[ ## n ## ]]\n4").error().message,
            "the answer lacks 'a' (str); it is \"[[ ## n ## ]]\n4\"");
  EXPECT_EQ(JSONAdapter().ParseResponse(*signature, "x").error().message,
            "the answer lacks 'a' (str), 'n' (int); it is \"x\"");
}

TEST(AnswerFormTest, AnAnswerThatWasCutButParsesIsGood) {
  ScriptedLm lm;
  lm.Say("[[ ## c ## ]]\nall of it", FinishReason::kLength);
  const auto prediction = ChatAdapter().Call(lm, *Signature::Parse("a -> c"), {{"a", "x"}}, {});
  ASSERT_TRUE(prediction) << prediction.error().message;
  EXPECT_EQ(prediction->Text("c"), "all of it");
}

TEST(AnswerFormTest, ACallsStopReachesTheModel) {
  ScriptedLm lm({"x", "x"});
  std::stop_source stop;
  const Signature signature = *Signature::Parse("a -> c");
  ASSERT_TRUE(ChatAdapter().Call(lm, signature, {{"a", "x"}}, {.cancel = stop.get_token()}));
  ASSERT_TRUE(ChatAdapter().Call(lm, signature, {{"a", "x"}}, {}));
  EXPECT_FALSE(lm.requests()[0].cancel.stop_requested());
  stop.request_stop();
  EXPECT_TRUE(lm.requests()[0].cancel.stop_requested());
  EXPECT_FALSE(lm.requests()[1].cancel.stop_possible());
}

std::vector<std::string> Turns(const Adapter& adapter, const Values& inputs) {
  std::vector<std::string> out;
  for (const Message& message : adapter.Format(*Signature::Parse("a, h: History -> c"), {}, inputs)) {
    out.push_back(message.role + " " + message.content);
  }
  out.erase(out.begin());
  return out;
}

TEST(HistoryTest, OnlyObjectsAreTurns) {
  const LlamaCppAdapter plain;
  const Values none[] = {{{"a", "now"}},
                         {{"a", "now"}, {"h", 1}},
                         {{"a", "now"}, {"h", boost::json::object()}},
                         {{"a", "now"}, {"h", {{"messages", 1}}}},
                         {{"a", "now"}, {"h", {{"messages", {1, "x"}}}}}};
  for (const Values& inputs : none) EXPECT_THAT(Turns(plain, inputs), ElementsAre("user a: now")) << JsonDumps(inputs);
  EXPECT_THAT(Turns(plain, {{"h", {{"messages", {1, {{"a", "then"}}}}}}}), ElementsAre("user a: then", "assistant "))
      << "nothing is asked";
}

TEST(HistoryTest, ATurnWithInputsIsRemindedOfTheForm) {
  const std::string reminder =
      "Respond with the corresponding output fields, starting with the field `[[ ## c ## ]]`, and then ending with the "
      "marker for `[[ ## completed ## ]]`.";
  const std::string end = "\n\n[[ ## completed ## ]]\n";
  EXPECT_THAT(Turns(ChatAdapter(), {{"a", "now"}, {"h", {{"messages", {{{"a", "then"}}, {{"c", "2"}}}}}}}),
              ElementsAre("user [[ ## a ## ]]\nthen\n\n" + reminder, "assistant [[ ## c ## ]]\nNone" + end,
                          "assistant [[ ## c ## ]]\n2" + end, "user [[ ## a ## ]]\nnow\n\n" + reminder));
}

std::vector<std::string> Shown(FieldStream& stream, std::string_view piece, bool finish = false) {
  std::vector<std::string> out;
  const FieldStream::Emit emit = [&](std::string_view field, std::string_view text) {
    if (text.empty()) return;
    const std::string head = std::string(field) + "=";
    if (out.empty() || !out.back().starts_with(head)) out.push_back(head);
    out.back() += text;
  };
  stream.Feed(piece, emit);
  if (finish) stream.Finish(emit);
  return out;
}

TEST(StreamStepsTest, ALineIsHandedOutAsSoonAsItIsNoMarker) {
  const auto signature = Signature::Parse("q -> a, b");
  const auto stream = NewMarkerStream(*signature, MatchHeader);
  EXPECT_THAT(Shown(*stream, "[[ ## a ## ]]\nx"), ElementsAre("a=x"));
  EXPECT_THAT(Shown(*stream, "y "), ElementsAre("a=y"));
  EXPECT_THAT(Shown(*stream, "z\r"), ElementsAre("a= z"));
  EXPECT_THAT(Shown(*stream, "\n  [[ ##"), IsEmpty());
  EXPECT_THAT(Shown(*stream, "!"), ElementsAre("a=\n  [[ ##!"));
  EXPECT_THAT(Shown(*stream, "\xEF\xBF\xBD"), ElementsAre("a=\xEF\xBF\xBD")) << "the character of broken text is whole";
  EXPECT_THAT(Shown(*stream,
                    "\xFF"
                    "abc"),
              ElementsAre("a=\xFF"
                          "abc"))
      << "no character has more than four bytes";
  EXPECT_THAT(Shown(*stream, "\xF0\x9F\x99"), IsEmpty());
  EXPECT_THAT(Shown(*stream, "\x82\n"), ElementsAre("a=\xF0\x9F\x99\x82"));
  EXPECT_THAT(Shown(*stream, "[[ ## b ## ]] "), IsEmpty());
  EXPECT_THAT(Shown(*stream, "2\n[["), ElementsAre("b=2"));
  EXPECT_THAT(Shown(*stream, "", true), ElementsAre("b=\n[["));
}

TEST(StreamStepsTest, MembersThatNobodyAskedForAreNotHandedOut) {
  const auto signature = Signature::Parse("q -> a, b");
  const auto stream = NewJsonStream(*signature);
  EXPECT_THAT(Shown(*stream, R"({"c": "text", "d": 12, "e": {"a": "no"}, "a": "yes", "b": 4 )"), ElementsAre("a=yes"));
  EXPECT_THAT(Shown(*stream, "", true), ElementsAre("b=4")) << "the end of the answer ends a number";
  EXPECT_THAT(Shown(*stream, R"({"a": "more"})", true), IsEmpty());
}

TEST(StreamStepsTest, WhatWasHeldBackIsHandedOutAtTheEnd) {
  ScriptedLm lm;
  lm.Do([](const LmRequest& request) -> Result<LmResponse> {
    request.on_text("[[ ## c ## ]]\n[[");
    return LmResponse{.text = "[[ ## c ## ]]\n[["};
  });
  std::vector<std::string> deltas;
  const auto prediction =
      ChatAdapter().Stream(lm, *Signature::Parse("a -> c"), {{"a", "x"}}, {},
                           [&](const FieldDelta& delta) { deltas.push_back(delta.field + "=" + delta.text); });
  ASSERT_TRUE(prediction) << prediction.error().message;
  EXPECT_THAT(deltas, ElementsAre("c=[["));
}

TEST(PlainFormTest, ASystemMessageHasInstructionsOrFieldsOrBoth) {
  const LlamaCppAdapter plain;
  const auto system = [&](const Signature& signature) { return plain.Format(signature, {}, {})[0].content; };
  const Signature signature = *SignatureBuilder()
                                   .Instruction("Do it.")
                                   .Input("q", FieldType::Int())
                                   .Input("d", FieldType::Str(), "a: ")
                                   .Output("n", FieldType::Int())
                                   .Output("e", FieldType::Str(), "e")
                                   .Output("s")
                                   .Build();
  EXPECT_EQ(system(signature), "Do it.\n\nd (str): a\nn (int)\ne (str): e");
  EXPECT_EQ(system(signature.WithInstructions("")), "d (str): a\nn (int)\ne (str): e");
  EXPECT_EQ(system(Signature::Parse("a -> b")->WithInstructions("Only.")), "Only.");
}

TEST(PlainFormTest, SettingsOutOfRangeAreRefusedWithAModel) {
  class Loaded : public LoadedModel {
   public:
    std::string_view name() const override { return "loaded"; }
    LmTraits traits() const override { return {}; }
    Result<LmResponse> Generate(const LmRequest&) override { return LmResponse{}; }
    const embedded::LoadOptions& load_options() const override { return options_; }

   private:
    embedded::LoadOptions options_;
  };
  const auto adapter = LlamaCppAdapter::FromLoadedModel(std::make_shared<Loaded>(), {.call = {.retries = -1}});
  ASSERT_FALSE(adapter);
  EXPECT_EQ(adapter.error().field, "retries");
}

}  // namespace
}  // namespace inferflux::dspy
