#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "apps/inferctl/chat/read_message.h"

namespace inferflux::apps {
namespace {

// The messages that a person types as these lines. "^C" is Ctrl-C.
std::vector<std::string> Messages(std::vector<std::string> lines) {
  size_t at = 0;
  const auto read = [&](const char*) -> std::optional<InputLine> {
    if (at == lines.size()) return std::nullopt;
    const std::string& line = lines[at++];
    if (line == "^C") return InputLine{.text = "", .interrupted = true};
    return InputLine{.text = line};
  };
  std::vector<std::string> out;
  while (auto message = ReadMessage(read)) out.push_back(std::move(*message));
  return out;
}

using Texts = std::vector<std::string>;

TEST(ReadMessageTest, ALineIsAMessage) { EXPECT_EQ(Messages({"one", "", "two"}), (Texts{"one", "", "two"})); }

TEST(ReadMessageTest, TripleQuotesHoldSeveralLines) {
  EXPECT_EQ(Messages({"\"\"\"first", "", "  third\"\"\"", "next"}), (Texts{"first\n\n  third", "next"}));
  EXPECT_EQ(Messages({"\"\"\"", "alone", "\"\"\""}), (Texts{"alone"}));
  EXPECT_EQ(Messages({"\"\"\"on one line\"\"\""}), (Texts{"on one line"}));
}

TEST(ReadMessageTest, ACommandsArgumentMayHaveSeveralLines) {
  EXPECT_EQ(Messages({"/system \"\"\"be brief", "be kind\"\"\""}), (Texts{"/system be brief\nbe kind"}));
}

TEST(ReadMessageTest, QuotesInsideAMessageAreItsText) {
  EXPECT_EQ(Messages({"what does \"\"\" mean?"}), (Texts{"what does \"\"\" mean?"}));
}

TEST(ReadMessageTest, CtrlCGivesTheMessageUp) {
  EXPECT_EQ(Messages({"\"\"\"half", "^C", "next"}), (Texts{"", "next"}));
}

TEST(ReadMessageTest, TheEndOfTheInputClosesTheQuotes) { EXPECT_EQ(Messages({"\"\"\"a", "b"}), (Texts{"a\nb"})); }

}  // namespace
}  // namespace inferflux::apps
