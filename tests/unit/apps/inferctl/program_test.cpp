// inferctl as a whole: its commands by their names, its settings, and how it ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "apps/inferctl/command_testing.h"
#include "apps/inferctl/pseudo_terminal.h"
#include "apps/run_main.h"

int InferctlMain(int argc, char** argv);

namespace inferflux::apps {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string Ran(std::vector<std::string> words) {
  const NoInput nothing;
  return apps::Ran(InferctlMain, std::move(words));
}

TEST(InferctlTest, EachCommandHasItsName) {
  const std::string chat = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"text\":\"b\"}]}\n\ndata: [DONE]\n\n";
  ScriptedServer server(Answers{{"POST /v1/chat/completions", chat}, {"POST /v1/completions", chat}});
  struct Case {
    std::vector<std::string> words;
    std::string asked;
  };
  const Case cases[] = {
      {{"admin", "cache"}, "GET /v1/admin/cache"},
      {{"chat", "x"}, R"(POST /v1/chat/completions {"messages")"},
      {{"complete", "x"}, R"(POST /v1/completions {"prompt":"x")"},
      {{"list"}, "GET /v1/models"},
      {{"models"}, "GET /v1/models"},
      {{"ps"}, "GET /api/ps"},
      {{"rm", "m"}, R"(DELETE /api/delete {"model":"m"})"},
      {{"run", "m", "x"}, "GET /livez"},
      {{"show", "m"}, "GET /v1/models/m"},
      {{"status"}, "GET /readyz"},
      {{"stop", "m"}, "DELETE /v1/admin/models/m?grace_seconds=30"},
      {{"tokenize", "m", "x"}, R"(POST /tokenize {"model":"m","content":"x"})"},
      {{"workers", "list"}, "GET /v1/admin/workers"},
      {{"bench", "-n", "1"}, "GET /livez"},
  };
  for (const Case& each : cases) {
    std::vector<std::string> words = each.words;
    words.insert(words.end(), {"--url", server.url()});
    Ran(words);
    const auto asked = server.TakeAsked();
    ASSERT_FALSE(asked.empty()) << each.words[0];
    EXPECT_THAT(asked[0], StartsWith(each.asked));
  }
  EXPECT_THAT(Ran({"keys", "list", "--file", "/no/keys"}), AllOf(HasSubstr("/no/keys"), EndsWith("\n|1")));
  EXPECT_THAT(Ran({"parity", "--model", "/no/file"}), AllOf(HasSubstr("/no/file"), EndsWith("\n|1")));
  EXPECT_THAT(Ran({"template", "/no/file", "/no/file"}), AllOf(HasSubstr("cannot read /no/file"), EndsWith("\n|1")));
  EXPECT_THAT(Ran({"quickstart", "--model", "/no/file", "--output", "/no/output"}),
              AllOf(HasSubstr("/no/file"), EndsWith("\n|1")));
  EXPECT_THAT(Ran({"backends", "--markdown"}), AllOf(StartsWith("| target | provider |"), EndsWith("||0")));
}

TEST(InferctlTest, JsonAndTheServerAreForAnyCommand) {
  ScriptedServer server(Answers{{"GET /v1/models", R"({"data":[]})"}});
  EXPECT_EQ(Ran({"models", "--url", server.url(), "--json"}), "{\"data\":[]}\n||0");
  const Variables named{{"INFERFLUX_CLIENT_URL", server.url()}};
  EXPECT_EQ(Ran({"--json", "models"}), "{\"data\":[]}\n||0");
  EXPECT_THAT(Ran({"models"}), StartsWith("ID  "));
  EXPECT_THAT(Ran({"tokenize", "/no/file", "x"}), HasSubstr("/no/file")) << "only a flag names a model's server";
  EXPECT_THAT(Ran({"chat", "x"}), Not(HasSubstr("starting one")));
}

TEST(InferctlTest, ItsSettingsArePrinted) {
  const std::string settings = Ran({"--print-config", "--log-level", "error"});
  EXPECT_THAT(settings, AllOf(StartsWith("client.url = http://127.0.0.1:8080  # default\n"),
                              HasSubstr("log.level = error  # flag --log-level\n"), EndsWith("||0")));
  EXPECT_THAT(settings, Not(HasSubstr("server.port")));
  const std::string wrong = Ran({"--print-config", "--log-level", "loud"});
  EXPECT_THAT(wrong, AllOf(StartsWith("|inferctl: log.level = 'loud'"), EndsWith("\n|2")));
}

TEST(InferctlTest, ItEndsWhereNothingIsAsked) {
  EXPECT_EQ(Ran({}), "|inferctl: which command? see --help\n|2");
  EXPECT_THAT(Ran({"lst"}), AllOf(HasSubstr("did you mean 'list'?"), EndsWith("\n|2")));
  EXPECT_THAT(Ran({"--help"}),
              AllOf(HasSubstr("\nExamples:\n  inferctl quickstart "),
                    EndsWith("Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no server answers, 130 interrupted.\n"
                             "'inferctl COMMAND --help' says more about each.\n||0")));
  EXPECT_THAT(Ran({"--version"}), AllOf(StartsWith("inferctl "), EndsWith("\n||0")));
  EXPECT_THAT(Ran({"--print-man"}), StartsWith(".TH INFERCTL 1 "));
  EXPECT_EQ(Ran({"status", "--url", "http://127.0.0.1:1"}).back(), '3');
}

}  // namespace
}  // namespace inferflux::apps
