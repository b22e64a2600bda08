// Fields as they grow: the pieces, however the answer was cut, are the fields that parsing the whole answer gives.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "dspy/adapters/chat_adapter.h"
#include "dspy/adapters/llama_cpp_adapter.h"
#include "dspy/python/python_format.h"
#include "dspy/python/python_text.h"
#include "dspy/scripted_lm.h"

namespace inferflux::dspy {
namespace {

using testing::ScriptedLm;
using Pieces = std::map<std::string, std::string>;

Pieces StreamInPieces(const Adapter& adapter, const Signature& signature, std::string_view answer,
                      std::mt19937& random) {
  Pieces pieces;
  const auto take = [&](std::string_view field, std::string_view text) {
    EXPECT_TRUE(EndsWithWholeChar(text)) << answer;
    pieces[std::string(field)] += text;
  };
  const auto stream = adapter.NewFieldStream(signature);
  while (!answer.empty()) {
    const size_t size = std::min<size_t>(1 + random() % 9, answer.size());
    stream->Feed(answer.substr(0, size), take);
    answer.remove_prefix(size);
  }
  stream->Finish(take);
  return pieces;
}

std::string RandomAnswer(std::mt19937& random) {
  static const char* const kParts[] = {"[[ ## a ## ]]",
                                       "[[ ## b ## ]]",
                                       "[[ ## completed ## ]]",
                                       "\n",
                                       "\n\n",
                                       " ",
                                       "x",
                                       "a:",
                                       "B:",
                                       "b :",
                                       "[[ ##",
                                       "[[ ## a",
                                       "[",
                                       "ü",
                                       "日本",
                                       "\r\n",
                                       "\t",
                                       "\u2028",
                                       "{\"a\": \"",
                                       "\", \"b\": \"",
                                       "\"}",
                                       "\\n",
                                       "\\u00e9",
                                       "\\ud83d\\ude42",
                                       "\\",
                                       "1"};
  std::string answer;
  for (size_t i = random() % 24; i > 0; --i) answer += kParts[random() % std::size(kParts)];
  return answer;
}

TEST(DspyStreamTest, PiecesAreTheParsedFields) {
  const auto signature = Signature::Parse("q -> a, b");
  const ChatAdapter chat;
  const LlamaCppAdapter plain;
  std::mt19937 random(20261123);
  size_t parsed = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string answer = RandomAnswer(random);
    for (const Adapter* adapter : {static_cast<const Adapter*>(&chat), static_cast<const Adapter*>(&plain)}) {
      const auto values = adapter->ParseResponse(*signature, answer);
      const Pieces pieces = StreamInPieces(*adapter, *signature, answer, random);
      if (!values || pieces.size() != 2) continue;
      EXPECT_EQ(pieces.at("a"), values->at("a").as_string()) << adapter->name() << " of " << answer;
      EXPECT_EQ(pieces.at("b"), values->at("b").as_string()) << adapter->name() << " of " << answer;
      ++parsed;
    }
  }
  EXPECT_GT(parsed, 300u);
}

TEST(DspyStreamTest, MembersOfJsonAreDecodedAsTheyGrow) {
  const auto signature = Signature::Parse("q -> a, b: list[int], c: float, d");
  const Values expected = {
      {"a", "x\n\"é\" 🙂 \\ end 日本語日本語日本語日本語日本語日本語日本語日本語日本語"},
      {"b", {1, 2}},
      {"c", 2.5},
      {"d", ""}};
  std::mt19937 random(1);
  for (const std::string& answer :
       {JsonDumps(expected), JsonDumps(expected, 2),
        std::string("```json\n{\"other\": {\"a\": [\"}\"]}, \"a\": \"x\\n\\\"\\u00e9\\\" \\ud83d\\ude42 \\\\ end "
                    "日本語日本語日本語日本語日本語日本語日本語日本語日本語\", "
                    "\"b\": [1, 2], \"c\":2.5, \"d\": \"\"}\n```")}) {
    for (int i = 0; i < 50; ++i) {
      const Pieces pieces = StreamInPieces(JSONAdapter(), *signature, answer, random);
      EXPECT_EQ(pieces.at("a"), expected.at("a").as_string()) << answer;
      EXPECT_EQ(pieces.at("b"), answer.find("[\n") == std::string::npos ? "[1, 2]" : "[\n    1,\n    2\n  ]");
      EXPECT_EQ(pieces.at("c"), "2.5");
      EXPECT_EQ(pieces.at("d"), "");
    }
  }
}

TEST(DspyStreamTest, CallbacksComeBeforeTheAnswerIsComplete) {
  ScriptedLm lm;
  std::vector<FieldDelta> deltas;
  lm.Do([&](const LmRequest& request) -> Result<LmResponse> {
    request.on_text("[[ ## reasoning ## ]]\nfirst");
    EXPECT_EQ(deltas.size(), 1u);
    request.on_text(" second\n\n[[ ## ans");
    EXPECT_EQ(deltas.size(), 2u);
    request.on_text("wer ## ]]\n4\n\n[[ ## completed ## ]]");
    return LmResponse{.text = "[[ ## reasoning ## ]]\nfirst second\n\n[[ ## answer ## ]]\n4\n\n[[ ## completed ## ]]"};
  });
  const auto signature = Signature::Parse("question -> reasoning, answer: int");
  const auto prediction = ChatAdapter().Stream(lm, *signature, {{"question", "?"}}, {},
                                               [&](const FieldDelta& delta) { deltas.push_back(delta); });
  ASSERT_TRUE(prediction) << prediction.error().message;
  ASSERT_EQ(deltas.size(), 3u);
  EXPECT_EQ(deltas[0].field + "=" + deltas[0].text, "reasoning=first");
  EXPECT_EQ(deltas[1].field + "=" + deltas[1].text, "reasoning= second");
  EXPECT_EQ(deltas[2].field + "=" + deltas[2].text, "answer=4");
  EXPECT_EQ(*prediction->Int("answer"), 4);
}

}  // namespace
}  // namespace inferflux::dspy
