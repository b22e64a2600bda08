// Prompts, message for message, and parsed answers as Python's dspy has them.
#include <gtest/gtest.h>

#include "dspy/adapters/chat_adapter.h"
#include "dspy/golden.h"
#include "dspy/python/python_format.h"

namespace inferflux::dspy {
namespace {

TEST(DspyGoldenTest, PromptsAreWhatPythonRenders) {
  const auto file = testing::ReadGolden("format.json");
  const NamedTypes types = testing::ReadTypes(file);
  size_t cases = 0;
  for (const auto& entry : file.at("cases").as_array()) {
    const std::string name = testing::TextOf(entry.at("name"));
    const Signature signature = testing::ReadSignature(entry.at("signature").as_object(), types);
    const auto demos = testing::ReadExamples(entry.at("demos"));
    const Values& inputs = entry.at("inputs").as_object();
    testing::ExpectSameMessages(ChatAdapter().Format(signature, demos, inputs), testing::ReadMessages(entry.at("chat")),
                                "ChatAdapter, " + name);
    testing::ExpectSameMessages(JSONAdapter().Format(signature, demos, inputs), testing::ReadMessages(entry.at("json")),
                                "JSONAdapter, " + name);
    EXPECT_EQ(JsonDumps(signature.DumpState()), JsonDumps(entry.at("state"))) << name;
    ++cases;
  }
  EXPECT_GE(cases, 100u);
}

TEST(DspyGoldenTest, AnswersThatPythonReadsAreReadAlike) {
  const auto file = testing::ReadGolden("parse.json");
  const NamedTypes types = testing::ReadTypes(file);
  size_t read = 0;
  for (const auto& entry : file.at("cases").as_array()) {
    const auto signature = Signature::Parse(testing::TextOf(entry.at("signature")), std::nullopt, types);
    ASSERT_TRUE(signature) << signature.error().message;
    const std::string answer = testing::TextOf(entry.at("answer"));
    const auto compare = [&](const Adapter& adapter, const boost::json::value& expected) {
      if (expected.is_null()) return;
      const auto values = adapter.ParseResponse(*signature, answer);
      ASSERT_TRUE(values) << adapter.name() << " of " << answer << ": " << values.error().message;
      EXPECT_EQ(JsonDumps(*values), JsonDumps(expected)) << adapter.name() << " of " << answer;
      ++read;
    };
    compare(ChatAdapter(), entry.at("chat"));
    compare(JSONAdapter(), entry.at("json"));
  }
  EXPECT_GE(read, 400u);
}

}  // namespace
}  // namespace inferflux::dspy
