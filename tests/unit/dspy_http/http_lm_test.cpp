// What the client of a remote model sends, and how it takes streams that end in other ways than they should.
#include "dspy_http/http_lm.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>
#include <utility>

#include "net/http_message.h"
#include "net/server.h"

namespace inferflux::dspy {
namespace {

using ::testing::HasSubstr;

constexpr const char* kPiece = "data: {\"choices\":[{\"delta\":{\"content\":\"Once\"}}]}\n\n";
constexpr const char* kDone = "data: [DONE]\n\n";

// A server whose answers are this text, and what it was asked last.
struct ScriptedServer {
  explicit ScriptedServer(std::string text, int status = 200) {
    net::Router router;
    for (const char* target : {"/chat/completions", "/completions"}) {
      router.Add("POST", target,
                 [this, text, status, target](const net::Request& request,
                                              net::ResponseWriter& writer) -> boost::asio::awaitable<void> {
                   asked = target;
                   key = std::string(net::FindHeader(request.headers, "authorization"));
                   co_await writer.Send({status, "text/event-stream", text});
                 });
    }
    auto started = net::Server::Start({}, std::move(router));
    EXPECT_TRUE(started) << started.error().message;
    server = std::move(*started);
  }
  // Streams an answer. The text so far is in `streamed`.
  Result<LmResponse> Ask(LmRequest request = {.messages = {{"user", "Hello"}}}, const std::string& api_key = "") {
    request.on_text = [this](std::string_view piece) { streamed += piece; };
    const auto lm = ConnectLm({.url = fmt::format("http://127.0.0.1:{}", server->port()), .api_key = api_key});
    if (!lm) return tl::make_unexpected(lm.error());
    return (*lm)->Generate(request);
  }

  std::string asked, key, streamed;
  std::unique_ptr<net::Server> server;
};

TEST(HttpLmTest, AStreamThatIsCutIsNoAnswer) {
  ScriptedServer cut(kPiece);
  const auto answer = cut.Ask();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kBackendError);
  EXPECT_THAT(answer.error().message, HasSubstr("cut off"));
  EXPECT_EQ(cut.streamed, "Once") << "what had come was handed out";
}

TEST(HttpLmTest, NothingBehindTheEndOrAnErrorIsRead) {
  ScriptedServer talks(std::string(kPiece) + kDone + kPiece + "data: {\n\n");
  const auto answer = talks.Ask();
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->text, "Once");
  EXPECT_EQ(talks.streamed, "Once");
  ScriptedServer fails(std::string(kPiece) + "data: {\"error\":{\"message\":\"it broke\"}}\n\n" + kPiece + kDone);
  const auto broken = fails.Ask();
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().message, HasSubstr("it broke"));
  EXPECT_EQ(fails.streamed, "Once");
}

TEST(HttpLmTest, ARefusalOfAStreamIsReadWhole) {
  ScriptedServer refuses(R"({"error":{"message":"no such field","param":"top_k"}})", 400);
  const auto answer = refuses.Ask();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().field, "top_k");
  EXPECT_EQ(refuses.streamed, "");
}

TEST(HttpLmTest, TheKeyIsSentOnlyWhereThereIsOne) {
  ScriptedServer server(std::string(kPiece) + kDone);
  ASSERT_TRUE(server.Ask({.messages = {{"user", "Hello"}}}, "secret"));
  EXPECT_EQ(server.key, "Bearer secret");
  EXPECT_EQ(server.asked, "/chat/completions");
  ASSERT_TRUE(server.Ask({.prompt = "Once"}));
  EXPECT_EQ(server.key, "");
  EXPECT_EQ(server.asked, "/completions") << "a prompt without messages";
}

}  // namespace
}  // namespace inferflux::dspy
