// Commands of inferctl against a server with written answers: what they send, and what a person sees.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio/awaitable.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/inferctl/chat/chat_commands.h"
#include "apps/inferctl/chat/conversation.h"
#include "apps/inferctl/command.h"
#include "apps/inferctl/models/model_table.h"
#include "config/resolve.h"
#include "net/http_message.h"
#include "net/server.h"

namespace inferflux::apps {

namespace {

namespace json = boost::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using Answers = std::map<std::string, std::string>;  // by path

// Answers each path with its text, and keeps the last body.
struct WrittenServer {
  explicit WrittenServer(Answers answers, int ready = 200) {
    net::Router router;
    for (const auto& [target, text] : answers) {
      const int status = target == "/readyz" ? ready : 200;
      const auto answer = [this, text = text, status](const net::Request& request,
                                                      net::ResponseWriter& writer) -> boost::asio::awaitable<void> {
        body = request.body;
        co_await writer.Send({status, "text/event-stream", text});
      };
      router.Add("GET", target, answer);
      router.Add("POST", target, answer);
    }
    auto started = net::Server::Start({}, std::move(router));
    EXPECT_TRUE(started) << started.error().message;
    server = std::move(*started);
  }
  ApiClient client() const { return ApiClient({"127.0.0.1", server->port(), ""}, ""); }

  std::string body;
  std::unique_ptr<net::Server> server;
};

std::string Event(const std::string& data) { return "data: " + data + "\n\n"; }

std::string Streamed() {
  return Event(R"({"choices":[{"delta":{"content":"Hel"}}]})") + Event(R"({"choices":[{"delta":{"content":"lo"}}]})") +
         Event(R"({"choices":[],"usage":{"completion_tokens":9}})") + Event("[DONE]");
}

TEST(ConversationTest, EachQuestionCarriesWhatWasSaidBefore) {
  const WrittenServer server(Answers{{"/v1/chat/completions", Streamed()}});
  ApiClient client = server.client();
  Conversation conversation(client, {{"model", "m"}, {"top_k", 3}}, "Be brief.");
  EXPECT_EQ(conversation.model(), "m");
  std::string shown;
  AnswerReport report;
  const auto ask = [&](const char* text) {
    return conversation.Ask(
        text, [&](std::string_view piece) { shown += piece; }, report);
  };
  ASSERT_TRUE(ask("One"));
  EXPECT_EQ(shown, "Hello");
  EXPECT_EQ(report.tokens, 9) << "as the server counts them";
  EXPECT_FALSE(report.stopped);
  EXPECT_GT(report.first, 0.0);
  EXPECT_EQ(conversation.size(), 2u);
  ASSERT_TRUE(ask("Two"));
  EXPECT_EQ(json::parse(server.body), json::parse(R"({"model":"m","top_k":3,"stream":true,
      "stream_options":{"include_usage":true},"messages":[{"role":"system","content":"Be brief."},
      {"role":"user","content":"One"},{"role":"assistant","content":"Hello"},{"role":"user","content":"Two"}]})"));
  conversation.Reset();
  EXPECT_EQ(conversation.size(), 0u);
  EXPECT_EQ(conversation.system(), "Be brief.");
  conversation.SetSystem("");
  ASSERT_TRUE(ask("Three"));
  EXPECT_EQ(json::parse(server.body).at("messages"), json::parse(R"([{"role":"user","content":"Three"}])"));
  const WrittenServer cut(Answers{{"/v1/chat/completions", Event(R"({"choices":[{"delta":{"content":"Hel"}}]})")}});
  ApiClient other = cut.client();
  Conversation failed(other, {}, "");
  EXPECT_FALSE(failed.Ask(
      "x", [](std::string_view) {}, report));
  EXPECT_EQ(report.tokens, 1);
  EXPECT_EQ(failed.size(), 0u) << "a question that failed is not kept";
  EXPECT_EQ(failed.model(), "");
}

TEST(ConversationTest, AWholeAnswerIsKeptWhereItHasText) {
  for (const auto& [answer, kept] : {std::pair{R"({"choices":[{"message":{"content":"Hi"}}]})", 2u},
                                     {R"({"choices":[{"message":{"content":null}}]})", 0u},
                                     {R"({"choices":[]})", 0u},
                                     {R"({"choices":1})", 0u}}) {
    const WrittenServer server(Answers{{"/v1/chat/completions", answer}});
    ApiClient client = server.client();
    Conversation conversation(client, {}, "");
    ASSERT_TRUE(conversation.AskWhole("x"));
    EXPECT_EQ(conversation.size(), kept) << answer;
    EXPECT_EQ(json::parse(server.body), json::parse(R"({"messages":[{"role":"user","content":"x"}]})"));
  }
}

TEST(ConversationTest, AReportCountsTokensAfterTheFirst) {
  EXPECT_EQ(Describe({.tokens = 41, .first = 0.125, .seconds = 2.0}), "(41 tokens, 20.0 tokens/s, first after 0.12 s)");
  EXPECT_EQ(Describe({.tokens = 2, .first = 0.5, .seconds = 0.5}), "(2 tokens, 2.0 tokens/s, first after 0.50 s)");
  EXPECT_EQ(Describe({.tokens = 1, .first = 0.5, .seconds = 1.0}), "(1 token, first after 0.50 s)");
  EXPECT_EQ(Describe({.tokens = 3, .first = 0.5}), "(3 tokens, first after 0.50 s)");
  EXPECT_EQ(Describe({.tokens = 3, .stopped = true}), "(stopped after about 3 tokens)");
}

TEST(ConversationTest, ASavedConversationGoesOn) {
  const std::string path = ::testing::TempDir() + "conversation_" + std::to_string(::getpid());
  const WrittenServer server(Answers{{"/v1/chat/completions", Streamed()}});
  ApiClient client = server.client();
  Conversation first(client, {{"top_k", 3}}, "s");
  AnswerReport report;
  ASSERT_TRUE(first.Ask(
      "One", [](std::string_view) {}, report));
  ASSERT_TRUE(first.Save(path));
  ASSERT_TRUE(first.Save(path)) << "its own file is replaced";
  Conversation second(client, {}, "");
  ASSERT_TRUE(second.Load(path));
  EXPECT_EQ(second.size(), 2u);
  EXPECT_EQ(second.system(), "s");
  EXPECT_EQ(json::serialize(second.fields()), R"({"top_k":3})");
  const auto error = [&](const char* text) {
    std::ofstream(path) << text;
    const Status loaded = second.Load(path);
    return loaded ? "" : loaded.error().message;
  };
  EXPECT_EQ(error("{}"), path + " is no saved conversation");
  EXPECT_EQ(error("["), path + " is no saved conversation");
  EXPECT_EQ(first.Save(path).error().message, path + " is there, and is no saved conversation; name another file");
  EXPECT_EQ(error(R"({"format":"inferctl chat 1"})"), path + " has no list of at most 100000 messages");
  EXPECT_EQ(error(R"({"format":"inferctl chat 1","messages":[{"role":"user","content":"x"},{"role":"user"}]})"),
            path + ": message 2 has no role and content");
  EXPECT_EQ(error(R"({"format":"inferctl chat 1","messages":[{"role":1,"content":"x"}]})"),
            path + ": message 1 has no role and content");
  EXPECT_EQ(second.size(), 2u) << "nothing has changed";
  EXPECT_EQ(error(R"({"format":"inferctl chat 1","messages":[]})"), "");
  EXPECT_EQ(second.system() + json::serialize(second.fields()), "{}");
  std::remove(path.c_str());
}

// What a line at the prompt prints, and what it leaves.
class ChatCommandsTest : public ::testing::Test {
 protected:
  std::string Typed(const std::string& line) {
    ::testing::internal::CaptureStdout();
    RunChatCommand(line, state_);
    return ::testing::internal::GetCapturedStdout();
  }
  std::string Fields() { return json::serialize(conversation_.fields()); }

  WrittenServer server_{Answers{{"/v1/models", R"({"data":[{"id":"a","status":{"value":"loaded"}},{"id":"b"}]})"},
                                {"/v1/models/b", R"({"id":"b"})"}}};
  ApiClient client_ = server_.client();
  Conversation conversation_{client_, {}, ""};
  ChatState state_{client_, conversation_};
};

TEST_F(ChatCommandsTest, ASettingIsAFieldOfTheRequests) {
  EXPECT_EQ(Typed("/set temperature 0.5"), "");
  EXPECT_EQ(Typed("/set parameter top_k 3"), "") << "as Ollama has it";
  EXPECT_EQ(Typed("/set stop [\"x\"]"), "");
  EXPECT_EQ(Typed("/set reasoning_effort low"), "");
  EXPECT_EQ(Fields(), R"({"temperature":5E-1,"top_k":3,"stop":["x"],"reasoning_effort":"low"})");
  EXPECT_EQ(Typed("/set stop"), "(stop is the server's default)\n");
  EXPECT_EQ(Fields(), R"({"temperature":5E-1,"top_k":3,"reasoning_effort":"low"})");
  EXPECT_EQ(Typed("/set temprature 1"),
            "no such setting: 'temprature'; did you mean 'temperature'?; /set lists them\n");
  EXPECT_THAT(Typed("/set"), StartsWith("temperature = 5E-1\ntop_k = 3\nreasoning_effort = \"low\"\nstats = off\n"
                                        "(/set NAME VALUE sets, /set NAME removes: max_tokens, stop, "));
  EXPECT_EQ(Typed("/set stats on"), "");
  EXPECT_TRUE(state_.stats);
  EXPECT_EQ(Typed("/set stats"), "write /set stats on, or /set stats off\n");
  EXPECT_EQ(Typed("/set stats off"), "");
  EXPECT_FALSE(state_.stats);
  EXPECT_EQ(Typed("/set system be kind"), "(a new conversation)\n");
  EXPECT_EQ(conversation_.system(), "be kind");
}

TEST_F(ChatCommandsTest, EachCommandSaysWhatItDid) {
  EXPECT_EQ(Typed("/system"), "(there is no system message)\n");
  EXPECT_EQ(Typed("/system   be  brief"), "(a new conversation)\n");
  EXPECT_EQ(Typed("/system"), "be  brief\n");
  EXPECT_EQ(Typed("/model"), "  a  loaded\n  b  -\n(the server's default answers; /model NAME chooses)\n");
  EXPECT_EQ(Typed("/model b"), "(b answers from now on)\n");
  EXPECT_EQ(Typed("/model"), "  a  loaded\n* b  -\n");
  EXPECT_EQ(Typed("/reset"), "(a new conversation)\n");
  EXPECT_EQ(Typed("/save"), "write /save FILE\n");
  EXPECT_EQ(Typed("/load"), "write /load FILE\n");
  const std::string path = ::testing::TempDir() + "chat_" + std::to_string(::getpid());
  EXPECT_EQ(Typed("/save " + path), "(0 messages are in " + path + ")\n");
  EXPECT_EQ(Typed("/load " + path), "(0 messages from " + path + ")\n");
  std::remove(path.c_str());
  EXPECT_EQ(Typed("/sytem x"), "no such command: '/sytem'; did you mean '/system'?; /? lists them\n");
  EXPECT_THAT(Typed("/help"), HasSubstr("  /reset, /clear         forget the conversation\n"));
  EXPECT_FALSE(state_.leave);
  EXPECT_EQ(Typed("/quit"), "");
  EXPECT_TRUE(state_.leave);
}

TEST_F(ChatCommandsTest, APathIsNoCommand) {
  for (const char* command : {"/set", "/set x y", "/clear", "/?", "/nothing-like-it", "/sytem be brief"}) {
    EXPECT_TRUE(IsChatCommand(command)) << command;
  }
  for (const char* text : {"hello", "", "/home/me", "/zzzzzzzz is there", "set x"})
    EXPECT_FALSE(IsChatCommand(text)) << text;
}

TEST(ModelTableTest, ARowHasTheModelsStateInWords) {
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(PrintModelTable(json::parse(R"({"data":[
      {"id":"a","ready":true,"backend_exposure":{"exposed_backend":"cpu","requested_backend":"auto","provider":"native",
       "fallback":false},"details":{"architecture":"llama","quantization":"Q4_K","context":4096}},
      {"id":"b","backend":"cuda","requested_backend":"cuda","provider":"native","progress":0.256},
      {"id":"c","state":"failed","status":{"value":"unloaded"}},
      {"id":"d","status":{"value":"unloaded"}}]})")),
            kOk);
  EXPECT_EQ(
      ::testing::internal::GetCapturedStdout(),
      "ID                       EXPOSED   REQUESTED  PROVIDER   FALLBACK  READY    FAMILY     WEIGHTS   CONTEXT\n"
      "a                        cpu       auto       native     no        yes      llama      Q4_K         4096\n"
      "b                        cuda      cuda       native     -         26%      -          -               -\n"
      "c                        -         -          -          -         failed   -          -               -\n"
      "d                        -         -          -          -         unloaded -          -               -\n");
  EXPECT_EQ(PrintModelTable(json::parse("{}")), kFailed);
}

// What a command prints, and its exit code.
std::string Printed(Run (*add)(Command&), const WrittenServer& server, std::vector<std::string> words, bool as_json) {
  CommandLine line("inferctl", "asks");
  const Run run = add(line);
  const auto parsed = line.Parse(words);
  EXPECT_TRUE(parsed) << parsed.error().message;
  const auto settings =
      config::Resolve({}, {{"INFERFLUX_CLIENT_URL", fmt::format("http://127.0.0.1:{}", server.server->port())}});
  ::testing::internal::CaptureStdout();
  const int code = run({.settings = *settings, .json = as_json});
  std::string out = ::testing::internal::GetCapturedStdout();
  const std::string url = settings->Text("client.url");
  if (const size_t at = out.find(url); at != std::string::npos) out.replace(at, url.size(), "URL");
  return out + std::to_string(code);
}

TEST(StatusTest, AServerIsReadyOrSaysWhyNot) {
  const Answers answers = {{"/readyz", "a is loading\nb is loading\n"},
                           {"/version", R"({"name":"InferFlux","version":"1.2"})"},
                           {"/healthz", R"({"models":[{"id":"a","backend":"cpu","running":1,"queued":2}]})"}};
  const WrittenServer ready(answers), loading(answers, 503),
      other(Answers{{"/readyz", ""}, {"/version", "{}"}, {"/healthz", "{}"}});
  EXPECT_EQ(Printed(AddStatus, ready, {"status"}, false),
            "InferFlux 1.2 at URL: ready\n  a on cpu: 1 running, 2 waiting\n0");
  EXPECT_EQ(Printed(AddStatus, loading, {"status", "--ready"}, false),
            "InferFlux 1.2 at URL: not ready: a is loading b is loading\n  a on cpu: 1 running, 2 waiting\n1");
  EXPECT_THAT(Printed(AddStatus, loading, {"status"}, false), ::testing::EndsWith("waiting\n0"));
  EXPECT_EQ(Printed(AddStatus, ready, {"status", "--ready"}, true),
            R"({"url":"URL","version":{"name":"InferFlux","version":"1.2"},"ready":true,)"
            R"("models":[{"id":"a","backend":"cpu","running":1,"queued":2}]})"
            "\n0");
  EXPECT_EQ(Printed(AddStatus, other, {"status"}, false), "1");
}

TEST(PsTest, ARowJoinsSizesAndLoad) {
  const WrittenServer server(
      Answers{{"/api/ps", R"({"models":[
      {"name":"a","size":2500000000,"context_length":4096,"expires_at":"9999-01-01T00:00:00Z"},
      {"name":"b","size":2500000,"expires_at":"2001-01-01T00:00:00Z"},{"name":"c","expires_at":"odd"},5]})"},
              {"/healthz", R"({"models":[{"id":"a","backend":"cpu","running":1,"queued":2}]})"}});
  EXPECT_EQ(Printed(AddPs, server, {"ps"}, false),
            "ID                       BACKEND          SIZE  CONTEXT  RUNNING  WAITING  STAYS UNTIL\n"
            "a                        cpu            2.5 GB     4096        1        2  it is unloaded\n"
            "b                        -              2.5 MB        -        -        -  its last request ends\n"
            "c                        -                   -        -        -        -  odd\n0");
}

}  // namespace
}  // namespace inferflux::apps
