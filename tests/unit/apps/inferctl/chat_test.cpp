// inferctl chat and run: single messages, conversations from a pipe and at a terminal, and what they say of a server
// that is not there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "apps/inferctl/command_testing.h"
#include "apps/inferctl/pseudo_terminal.h"

namespace inferflux::apps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kStreamed[] =
    "data: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\ndata: "
    "{\"choices\":[{\"delta\":{\"content\":\"lo\"}}]}\n\n"
    "data: {\"choices\":[],\"usage\":{\"completion_tokens\":9}}\n\ndata: [DONE]\n\n";
constexpr char kWhole[] = R"({"choices":[{"message":{"content":"Hi"}}]})";
constexpr char kSpeed[] = "\\(9 tokens, [0-9.]+ tokens/s, first after [0-9.]+ s\\)\n";
constexpr char kNowhere[] = "http://127.0.0.1:1";

std::string Asked(const std::string& members, const std::string& messages, bool stream = true) {
  return "POST /v1/chat/completions {" + members + R"("messages":[)" + messages + "]" +
         (stream ? R"(,"stream_options":{"include_usage":true},"stream":true})" : "}");
}
std::string User(const std::string& text) { return R"({"role":"user","content":")" + text + "\"}"; }
std::string Assistant(const std::string& text) { return R"({"role":"assistant","content":")" + text + "\"}"; }

class ChatTest : public ::testing::Test {
 protected:
  const NoInput nothing_;
  ScriptedServer server_{Answers{{"POST /v1/chat/completions", kStreamed}}};
  ScriptedServer whole_{Answers{{"POST /v1/chat/completions", kWhole}}};
};

TEST_F(ChatTest, AMessageIsAnsweredAndThatIsAll) {
  EXPECT_EQ(Called(AddChat, {"chat", "What", "is it?"}, {.url = server_.url()}), "Hello\n||0");
  EXPECT_EQ(Called(AddChat, {"chat", "-m", "What?", "--system", "Be brief.", "--top-k", "3"}, {.url = server_.url()}),
            "Hello\n||0");
  EXPECT_EQ(Called(AddChat, {"chat", "-"}, {.url = server_.url(), .input = "a\nb\n"}), "Hello\n||0");
  EXPECT_THAT(server_.TakeAsked(),
              ElementsAre(Asked("", User("What is it?")),
                          Asked(R"("top_k":3,)", R"({"role":"system","content":"Be brief."},)" + User("What?")),
                          Asked("", User("a\\nb\\n"))));
  EXPECT_EQ(Called(AddChat, {"chat", "x"}, {.url = whole_.url(), .json = true}), std::string(kWhole) + "\n||0");
  EXPECT_THAT(whole_.TakeAsked(), ElementsAre(Asked("", User("x"), false)));
  EXPECT_THAT(Called(AddChat, {"chat", "x", "--stats"}, {.url = server_.url()}),
              MatchesRegex(std::string("Hello\n\\|") + kSpeed + "\\|0"));
  EXPECT_EQ(Called(AddChat, {"chat", "x", "-m", "y"}, {.url = server_.url()}),
            "|inferctl: the message is there twice: as --message and as a word; write it once\n|2");
}

TEST_F(ChatTest, AnErrorIsSaidWithItsCode) {
  ScriptedServer refusing(Answers{});
  EXPECT_EQ(Called(AddChat, {"chat", "x", "--stats"}, {.url = refusing.url()}), std::string("\n") + kRefused);
  EXPECT_EQ(Called(AddChat, {"chat", "x"}, {.url = refusing.url(), .json = true}), kRefused);
  ScriptedServer cut(Answers{{"POST /v1/chat/completions", "data: {\"choices\":[]}\n\n"}});
  EXPECT_EQ(Called(AddChat, {"chat", "x"}, {.url = cut.url()}),
            "\n|inferctl: the server ended the answer in the middle\n|3");
  EXPECT_EQ(Called(AddChat, {"chat", "x"}, {.url = "ftp://x"}).back(), '1');
  EXPECT_EQ(Called(AddRun, {"run", "m", "x"}, {.url = "ftp://x"}).back(), '1');
}

TEST_F(ChatTest, APipeIsAConversationLineByLine) {
  EXPECT_EQ(
      Called(AddChat, {"chat"},
             {.url = server_.url(), .input = "One\n\n/set top_k 3\nTwo\n/reset\n\"\"\"a\nb\"\"\"\n/bye\nnever\n"}),
      "Hello\nHello\n(a new conversation)\nHello\n||0");
  EXPECT_THAT(server_.TakeAsked(),
              ElementsAre(Asked("", User("One")),
                          Asked(R"("top_k":3,)", User("One") + "," + Assistant("Hello") + "," + User("Two")),
                          Asked(R"("top_k":3,)", User("a\\nb"))));
  EXPECT_THAT(Called(AddChat, {"chat", "--stats"}, {.url = server_.url(), .input = "One\n/set stats off\nTwo\n"}),
              MatchesRegex(std::string("Hello\nHello\n\\|") + kSpeed + "\\|0"));
  ScriptedServer refusing(Answers{});
  EXPECT_EQ(Called(AddChat, {"chat"}, {.url = refusing.url(), .input = "One\nTwo\n"}),
            "\n\n|inferctl: the server says (404): no\ninferctl: the server says (404): no\n|0")
      << "an error does not end a conversation";
  EXPECT_EQ(Called(AddChat, {"chat"}, {.url = whole_.url(), .json = true, .input = "One\n"}),
            std::string(kWhole) + "\n||0");
}

TEST_F(ChatTest, AtATerminalEachAnswerHasItsSpeed) {
  if (!PseudoTerminal::Available()) GTEST_SKIP() << "there are no pseudo terminals";
  const std::string home = ::testing::TempDir() + "chat_home_" + std::to_string(::getpid());
  const Variables variables{{"HOME", home}, {"XDG_STATE_HOME", home}, {"TERM", "xterm"}};
  CommandLine line("inferctl", "asks");
  const auto run = AddChat(line);
  ASSERT_TRUE(line.Parse({"chat"}));
  const auto settings = config::Resolve({}, {{"INFERFLUX_CLIENT_URL", server_.url()}});
  std::string seen;
  int code = -1;
  ::testing::internal::CaptureStderr();
  {
    const PseudoTerminal terminal({STDIN_FILENO, STDOUT_FILENO});
    terminal.Type("One\r/set stats off\rTwo\r\x04");
    code = run({.settings = *settings});
    seen = terminal.Seen();
  }
  const std::string said = ::testing::internal::GetCapturedStderr();
  std::filesystem::remove_all(home);
  EXPECT_EQ(code, 0);
  EXPECT_THAT(seen, StartsWith("Type a message; /? lists commands.\n"));
  EXPECT_THAT(seen, HasSubstr("Hello\r\n"));
  EXPECT_THAT(said, MatchesRegex(kSpeed)) << "once";
  EXPECT_EQ(server_.TakeAsked().size(), 2u);
}

TEST_F(ChatTest, ARunNamesItsModelFirst) {
  EXPECT_EQ(Called(AddRun, {"run", "m", "What", "is it?", "--system", "s"}, {.url = server_.url()}), "Hello\n||0");
  EXPECT_EQ(Called(AddRun, {"run", "m"}, {.url = server_.url(), .input = "a\nb"}), "Hello\n||0")
      << "a pipe is one message";
  EXPECT_THAT(
      server_.TakeAsked(),
      ElementsAre("GET /livez", Asked(R"("model":"m",)", R"({"role":"system","content":"s"},)" + User("What is it?")),
                  "GET /livez", Asked(R"("model":"m",)", User("a\\nb"))));
  EXPECT_THAT(Called(AddRun, {"run", "m", "x", "--stats"}, {.url = server_.url()}),
              MatchesRegex(std::string("Hello\n\\|") + kSpeed + "\\|0"));
  EXPECT_EQ(Called(AddRun, {"run"}, {.url = server_.url()}), "--model is required; see --help");
  const std::string down = Called(AddRun, {"run", "m.gguf", "x"}, {.url = kNowhere});
  EXPECT_THAT(down, StartsWith("|inferctl: "));
  EXPECT_TRUE(
      down.ends_with("; start a server with: inferfluxd m.gguf (or 'inferctl chat', which starts one on the model "
                     "that comes with InferFlux)\n|3"))
      << down;
}

TEST_F(ChatTest, OnlyWhoNamesNoServerGetsOne) {
  EXPECT_EQ(Called(AddChat, {"chat", "x"}, {.url = server_.url(), .url_is_default = true}), "Hello\n||0")
      << "one that answers is taken";
  for (const auto& [words, is_default] :
       {std::pair<std::vector<std::string>, bool>{{"chat", "x"}, false}, {{"chat", "x", "--no-start"}, true}}) {
    const std::string said = Called(AddChat, words, {.url = kNowhere, .url_is_default = is_default});
    EXPECT_EQ(said.back(), '3') << said;
    EXPECT_THAT(said, Not(HasSubstr("starting one")));
  }
}

}  // namespace
}  // namespace inferflux::apps
