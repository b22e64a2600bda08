// Where a message of several lines begins and ends, and what stands before each line.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "apps/inferctl/chat/read_message.h"

namespace inferflux::apps {
namespace {

// The first message of these lines, and the prompts before what was read of them.
struct Typed {
  std::optional<std::string> message;
  std::vector<std::string> prompts;
};

Typed FirstOf(std::vector<std::string> lines) {
  Typed out;
  size_t at = 0;
  out.message = ReadMessage([&](const char* prompt) -> std::optional<InputLine> {
    out.prompts.emplace_back(prompt);
    if (at == lines.size()) return std::nullopt;
    return InputLine{.text = lines[at++]};
  });
  return out;
}

TEST(MessagesTest, QuotesOpenAMessageAtTheStartOrBehindACommand) {
  struct Case {
    std::vector<std::string> lines;
    std::string message;
    size_t read;
  };
  const std::string q = "\"\"\"";
  for (const Case& each : {Case{{"  " + q + "a" + q, "next"}, "a", 1},
                           {{"/set x " + q + "a", "b" + q}, "/set x a\nb", 2},
                           {{"  /set x " + q + "a" + q}, "/set x a", 1},
                           {{"/set x" + q + "a" + q}, "/set x" + q + "a" + q, 1},
                           {{"/path/to it" + q, "next"}, "/path/to it" + q, 1},
                           {{"   ", "next"}, "   ", 1},
                           {{"", "next"}, "", 1},
                           {{"\"\"a", "next"}, "\"\"a", 1},
                           {{q, "", "", "a", "", q}, "\n\na\n", 6},
                           {{q + q}, "", 1},
                           {{q + "a" + q + "ignored"}, "a", 1},
                           {{q + "a", "b\"\"", "c" + q}, "a\nb\"\"\nc", 3},
                           {{q + "a", ""}, "a", 3}}) {
    const Typed typed = FirstOf(each.lines);
    EXPECT_EQ(typed.message, each.message) << each.lines[0];
    std::vector<std::string> prompts(each.read, "... ");
    prompts[0] = "> ";
    EXPECT_EQ(typed.prompts, prompts) << each.lines[0];
  }
  EXPECT_EQ(FirstOf({}).message, std::nullopt);
}

}  // namespace
}  // namespace inferflux::apps
