// inferctl show, complete and tokenize: what they print of a server's answer, and the fields that flags become.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "apps/inferctl/command_testing.h"

namespace inferflux::apps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ShowTest, EachKnownFactIsALine) {
  const std::string model =
      R"({"id":"m","status":{"value":"failed","error":"no room"},"path":"/m.gguf","format":"gguf","details":)"
      R"({"architecture":"llama","parameters":123,"quantization":"Q4_K","context":4096,"vocab_size":3072,)"
      R"("embedding_dimensions":64,"kv_dtype":"f16","kv_tokens":8192,"notes":["slow","old"]},"backend_exposure":)"
      R"({"exposed_backend":"cpu","provider":"native","requested_backend":"auto","fallback_reason":"no GPU"},)"
      R"("capabilities":{"chat":true,"embeddings":false,"odd":1,"tools":true}})";
  ScriptedServer server(Answers{{"GET /v1/models/a?b", model},
                                {"GET /v1/models/bare", R"({"id":"bare","capabilities":{"chat":false}})"},
                                {"GET /v1/models/odd", R"({"id":"odd","capabilities":[],"details":{"notes":"x"}})"}});
  EXPECT_EQ(Called(AddShow, {"show", "a?b"}, {.url = server.url()}),
            "id             m\n"
            "state          failed\n"
            "error          no room\n"
            "path           /m.gguf\n"
            "format         gguf\n"
            "architecture   llama\n"
            "parameters     123\n"
            "weights        Q4_K\n"
            "context        4096\n"
            "vocabulary     3072\n"
            "embedding      64\n"
            "KV type        f16\n"
            "KV tokens      8192\n"
            "backend        cpu\n"
            "provider       native\n"
            "asked for      auto\n"
            "fallback       no GPU\n"
            "can            chat, tools\n"
            "note           slow\n"
            "note           old\n||0");
  EXPECT_EQ(Called(AddShow, {"show", "bare"}, {.url = server.url()}), "id             bare\n||0");
  EXPECT_EQ(Called(AddShow, {"show", "odd"}, {.url = server.url()}), "id             odd\n||0");
  EXPECT_EQ(Called(AddShow, {"show", "a?b"}, {.url = server.url(), .json = true}), model + "\n||0");
  EXPECT_EQ(Called(AddShow, {"show", "none"}, {.url = server.url()}), kRefused);
}

TEST(ShowTest, AChatTemplateIsPrintedAlone) {
  ScriptedServer server(Answers{{"POST /api/show", R"({"template":"{{ x }}"})"}});
  EXPECT_EQ(Called(AddShow, {"show", "m", "--template"}, {.url = server.url()}), "{{ x }}\n||0");
  EXPECT_EQ(Called(AddShow, {"show", "m", "--template"}, {.url = server.url(), .json = true}),
            "{\"template\":\"{{ x }}\"}\n||0");
  EXPECT_THAT(server.TakeAsked(), ElementsAre(R"(POST /api/show {"model":"m"})", R"(POST /api/show {"model":"m"})"));
  ScriptedServer without(Answers{{"POST /api/show", R"({"template":""})"}});
  EXPECT_EQ(Called(AddShow, {"show", "m", "--template"}, {.url = without.url()}),
            "|inferctl: the model 'm' has no chat template\n|1");
  ScriptedServer refusing(Answers{});
  EXPECT_EQ(Called(AddShow, {"show", "m", "--template"}, {.url = refusing.url()}), kRefused);
}

std::string Event(const std::string& data) { return "data: " + data + "\n\n"; }

TEST(CompleteTest, TheTextComesAsItIsWritten) {
  const std::string stream = Event(R"({"choices":[{"text":"Hel"}]})") + Event(R"({"choices":[]})") +
                             Event(R"({"choices":1})") + Event(R"({"choices":[5]})") +
                             Event(R"({"choices":[{"text":1}]})") + Event(R"({"choices":[{}]})") + Event("{}") +
                             Event(R"({"choices":[{"text":"lo"}]})") + Event("[DONE]");
  ScriptedServer server(Answers{{"POST /v1/completions", stream}});
  EXPECT_EQ(Called(AddComplete, {"complete", "Once", "upon"}, {.url = server.url()}), "Hello\n||0");
  EXPECT_EQ(Called(AddComplete, {"complete"}, {.url = server.url(), .input = "a\nb\n"}), "Hello\n||0");
  EXPECT_EQ(Called(AddComplete, {"complete", "-"}, {.url = server.url(), .input = "c"}), "Hello\n||0");
  EXPECT_THAT(server.TakeAsked(), ElementsAre(R"(POST /v1/completions {"prompt":"Once upon","stream":true})",
                                              R"(POST /v1/completions {"prompt":"a\nb\n","stream":true})",
                                              R"(POST /v1/completions {"prompt":"c","stream":true})"));
  ScriptedServer refusing(Answers{});
  EXPECT_EQ(Called(AddComplete, {"complete", "x"}, {.url = refusing.url()}), std::string("\n") + kRefused);
  EXPECT_EQ(Called(AddComplete, {"complete", "x"}, {.url = refusing.url(), .json = true}), kRefused);
}

TEST(CompleteTest, EachFlagIsAFieldOfTheRequest) {
  ScriptedServer server(Answers{{"POST /v1/completions", R"({"id":"c"})"}});
  EXPECT_EQ(
      Called(AddComplete, {"complete", "x",  "--model", "m",    "--max-tokens", "7", "--temperature",        "0.5",
                           "--top-k",  "3",  "--min-p", "0.25", "--mirostat",   "2", "--dry-allowed-length", "4",
                           "--seed",   "-9", "--stop",  "a",    "--stop",       "b"},
             {.url = server.url(), .json = true}),
      "{\"id\":\"c\"}\n||0");
  EXPECT_THAT(
      server.TakeAsked(),
      ElementsAre(R"(POST /v1/completions {"model":"m","max_tokens":7,"temperature":5E-1,"top_k":3,"min_p":2.5E-1,)"
                  R"("dry_allowed_length":4,"mirostat":2,"seed":-9,"stop":["a","b"],"prompt":"x"})"));
  for (const char* flag : {"--logit-bias", "--dry-sequence-breakers"}) {
    EXPECT_THAT(Called(AddComplete, {"complete", "x", flag, "1"}, {.url = server.url()}), HasSubstr(flag))
        << "lists have no flag";
  }
  CommandLine line("inferctl", "asks");
  (void)AddComplete(line);
  const auto help = line.Parse({"complete", "--help"});
  ASSERT_TRUE(help && *help);
  EXPECT_THAT(**help, HasSubstr("without it, the server's default"));
  EXPECT_THAT(**help, HasSubstr("the server's default is random"));
  EXPECT_THAT(**help, ::testing::Not(HasSubstr("`"))) << "marks of Markdown";
}

const std::string kTiny = std::string(INFERFLUX_SOURCE_DIR) + "/models/tiny/inferflux-tiny.gguf";

TEST(TokenizeTest, AFileHasTheVocabulary) {
  EXPECT_EQ(Called(AddTokenize, {"tokenize", kTiny, "Hello", "world"}), "867 2003\n||0");
  EXPECT_EQ(Called(AddTokenize, {"tokenize", kTiny, "Hello world"}, {.json = true}), "{\"tokens\":[867,2003]}\n||0");
  EXPECT_EQ(Called(AddTokenize, {"tokenize", kTiny}, {.input = "Hello world"}), "867 2003\n||0");
  for (const char* ids : {"867 2003", "867,2003", "[867, 2003]", "[867,\t2003]\r\n"}) {
    EXPECT_EQ(Called(AddTokenize, {"tokenize", kTiny, "-d", ids}), "Hello world\n||0") << ids;
  }
  EXPECT_EQ(Called(AddTokenize, {"tokenize", kTiny, "--decode", "867", "2003"}, {.json = true}),
            "{\"text\":\"Hello world\"}\n||0");
  EXPECT_EQ(Called(AddTokenize, {"tokenize", kTiny, "-d"}, {.input = " "}), "\n||0");
}

TEST(TokenizeTest, WhatIsNoTokenIsRefused) {
  const std::string range = ": ids are from 0 to 3071\n|1";
  EXPECT_EQ(Called(AddTokenize, {"tokenize", kTiny, "-d", "3072"}),
            "|inferctl: " + kTiny + " has no token 3072" + range);
  EXPECT_EQ(Called(AddTokenize, {"tokenize", kTiny, "-d"}, {.input = "-1"}),
            "|inferctl: " + kTiny + " has no token -1" + range);
  EXPECT_EQ(Called(AddTokenize, {"tokenize", kTiny, "-d", "3071"}).back(), '0');
  EXPECT_EQ(Called(AddTokenize, {"tokenize", kTiny, "-d", "0"}).back(), '0');
  for (const char* word : {"x", "1x", "1.5", "99999999999"}) {
    EXPECT_EQ(Called(AddTokenize, {"tokenize", kTiny, "-d", std::string("5 ") + word}),
              fmt::format("|inferctl: '{}' is no token id: write integers\n|2", word));
  }
  EXPECT_EQ(Called(AddTokenize, {"tokenize", kTiny, "-d", std::string(65, 'y')}),
            fmt::format("|inferctl: '{}' is no token id: write integers\n|2", std::string(64, 'y')));
  EXPECT_EQ(Called(AddTokenize, {"tokenize", "/no/file", "x"}).back(), '1');
}

TEST(TokenizeTest, AServersModelIsAskedWhereTheUserNamesTheServer) {
  ScriptedServer server(
      Answers{{"POST /tokenize", R"({"tokens":[1,"odd",2]})"}, {"POST /detokenize", R"({"content":"Hi"})"}});
  const auto called = [](const ScriptedServer& asked, std::vector<std::string> words) {
    words.insert(words.begin(), {"tokenize", "m"});
    return Called(AddTokenize, words, {.url = asked.url(), .url_is_flag = true});
  };
  EXPECT_EQ(called(server, {"a", "b"}), "1 2\n||0");
  EXPECT_EQ(called(server, {"-d", "5", "6"}), "Hi\n||0");
  EXPECT_THAT(server.TakeAsked(), ElementsAre(R"(POST /tokenize {"model":"m","content":"a b"})",
                                              R"(POST /detokenize {"model":"m","tokens":[5,6]})"));
  ScriptedServer refusing(Answers{});
  EXPECT_EQ(called(refusing, {"x"}), kRefused);
  EXPECT_EQ(called(refusing, {"-d", "1"}), kRefused);
  for (const char* answer : {"{}", "[]", R"({"tokens":1,"content":1})"}) {
    ScriptedServer other(Answers{{"POST /tokenize", answer}, {"POST /detokenize", answer}});
    EXPECT_EQ(called(other, {"x"}), "|inferctl: the server answered no tokens\n|1") << answer;
    EXPECT_EQ(called(other, {"-d", "1"}), "|inferctl: the server answered no text\n|1") << answer;
  }
}

}  // namespace
}  // namespace inferflux::apps
