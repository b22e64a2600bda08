// Streams: their chunks, their single end, and clients that disconnect.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <set>

#include "net/raw_client.h"
#include "net/sse.h"
#include "server/fake_model.h"

namespace inferflux::testing {
namespace {

using ::testing::HasSubstr;

struct Stream {
  std::vector<boost::json::value> chunks;
  int done = 0;  // [DONE] lines
};

Stream Read(FakeServer& fake, const std::string& target, std::string body) {
  const net::ClientResponse response = fake.Post(target, std::move(body));
  EXPECT_EQ(response.status, 200) << response.body;
  EXPECT_THAT(std::string(net::FindHeader(response.headers, "Content-Type")), HasSubstr("text/event-stream"));
  Stream out;
  net::SseParser parser;
  const Status fed = parser.Feed(response.body, [&](const net::SseParser::Event& event) {
    EXPECT_EQ(out.done, 0) << "nothing comes after [DONE]";
    if (event.data == "[DONE]") {
      ++out.done;
    } else {
      out.chunks.push_back(boost::json::parse(event.data));
    }
  });
  EXPECT_TRUE(fed.has_value());
  return out;
}

std::string ChatBody(std::string_view more) {
  return fmt::format(R"({{"messages":[{{"role":"user","content":"Hi"}}],"stream":true{}}})", more);
}

void Count(const GenerationRequest&, TokenStream& stream) {
  for (const char* text : {"one", " two", " three"}) stream.Push(Piece(text));
  stream.Push(End(FinishReason::kLength, 9, 3, 4));
}

TEST(StreamingTest, AChatStreamHasARoleItsTextOneTerminalChunkAndDone) {
  FakeServer fake(Count);
  const Stream stream = Read(fake, "/v1/chat/completions", ChatBody(""));
  EXPECT_EQ(stream.done, 1);
  std::string text;
  std::set<std::string> ids;
  int terminal = 0;
  for (const boost::json::value& chunk : stream.chunks) {
    EXPECT_EQ(chunk.at("object"), "chat.completion.chunk");
    EXPECT_FALSE(chunk.as_object().contains("usage")) << "only where it was asked for";
    ids.insert(std::string(chunk.at("id").as_string()));
    const boost::json::value& choice = chunk.at("choices").at(0);
    if (const auto* content = choice.at("delta").as_object().if_contains("content")) text += content->as_string();
    terminal += choice.at("finish_reason").is_null() ? 0 : 1;
  }
  EXPECT_EQ(stream.chunks.front().at("choices").at(0).at("delta").at("role"), "assistant");
  EXPECT_EQ(text, "one two three");
  EXPECT_EQ(ids.size(), 1u) << "one id a response";
  EXPECT_EQ(terminal, 1);
  EXPECT_EQ(stream.chunks.back().at("choices").at(0).at("finish_reason"), "length");
  const Stream again = Read(fake, "/v1/chat/completions", ChatBody(""));
  EXPECT_FALSE(ids.contains(std::string(again.chunks[0].at("id").as_string()))) << "and another one the next time";
}

TEST(StreamingTest, UsageComesLastWhereItWasAskedFor) {
  FakeServer fake(Count);
  const Stream stream =
      Read(fake, "/v1/chat/completions", ChatBody(R"(,"stream_options":{"include_usage":true},"n":2)"));
  const boost::json::value& last = stream.chunks.back();
  EXPECT_TRUE(last.at("choices").as_array().empty());
  EXPECT_EQ(last.at("usage").at("prompt_tokens"), 9);
  EXPECT_EQ(last.at("usage").at("completion_tokens"), 6);
  EXPECT_EQ(last.at("usage").at("prompt_tokens_details").at("cached_tokens"), 4) << "once, like the prompt";
  for (size_t i = 0; i + 1 < stream.chunks.size(); ++i) EXPECT_TRUE(stream.chunks[i].at("usage").is_null());
}

TEST(StreamingTest, ACompletionStreamHasTextsAndOneEnd) {
  FakeServer fake(Count);
  const Stream stream = Read(fake, "/v1/completions", R"({"prompt":["a","b"],"stream":true})");
  std::vector<std::string> texts(2);
  std::vector<int> ends(2);
  for (const boost::json::value& chunk : stream.chunks) {
    const boost::json::value& choice = chunk.at("choices").at(0);
    const auto index = static_cast<size_t>(choice.at("index").as_int64());
    EXPECT_EQ(ends[index], 0) << "nothing comes after a choice's end";
    texts[index] += choice.at("text").as_string();
    ends[index] += choice.at("finish_reason").is_null() ? 0 : 1;
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"one two three", "one two three"}));
  EXPECT_EQ(ends, (std::vector<int>{1, 1}));
  EXPECT_EQ(stream.done, 1);
}

// The deltas of a stream with tools: content, each call's name, and its arguments in pieces.
struct CallStream {
  std::string content;
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> arguments;
  boost::json::value finish_reason;
};

CallStream StreamCalls(FakeServer& fake, std::string_view more) {
  const std::string fields = R"(,"tools":[{"type":"function","function":{"name":"f"}},)"
                             R"({"type":"function","function":{"name":"g"}}])";
  const Stream stream = Read(fake, "/v1/chat/completions", ChatBody(fields + std::string(more)));
  CallStream out;
  for (const boost::json::value& chunk : stream.chunks) {
    const boost::json::object& delta = chunk.at("choices").at(0).at("delta").as_object();
    if (const auto* content = delta.if_contains("content")) out.content += content->as_string();
    out.finish_reason = chunk.at("choices").at(0).at("finish_reason");
    const auto* list = delta.if_contains("tool_calls");
    if (list == nullptr) continue;
    const boost::json::object& call = list->at(0).as_object();
    const boost::json::object& function = call.at("function").as_object();
    if (const auto* name = function.if_contains("name")) {
      EXPECT_EQ(call.at("type"), "function");
      EXPECT_TRUE(call.at("id").is_string());
      out.names.emplace_back(name->as_string());
      out.arguments.emplace_back();
    } else {
      EXPECT_FALSE(call.contains("id")) << "only a call's first delta names it";
    }
    EXPECT_EQ(call.at("index").as_int64() + 1, static_cast<int64_t>(out.names.size()));
    out.arguments.back().emplace_back(function.at("arguments").as_string());
  }
  return out;
}

FakeScheduler::Script SpellCalls(std::string text, FinishReason reason) {
  return [text = std::move(text), reason](const GenerationRequest&, TokenStream& stream) {
    for (const char c : text) stream.Push(Piece(std::string(1, c)));
    stream.Push(End(reason, 1, 1));
  };
}

TEST(StreamingTest, ArgumentsOfToolCallsGrow) {
  FakeServer fake(
      SpellCalls("Wait.\n<tool_call>{\"name\":\"f\",\"arguments\":{\"x\": \"a\\n\"}}</tool_call>\n"
                 "<tool_call>{\"name\":\"g\"}</tool_call>",
                 FinishReason::kStop));
  const CallStream stream = StreamCalls(fake, "");
  EXPECT_EQ(stream.content, "Wait.");
  EXPECT_EQ(stream.names, (std::vector<std::string>{"f", "g"}));
  ASSERT_EQ(stream.arguments.size(), 2u);
  EXPECT_EQ(stream.arguments[0], (std::vector<std::string>{"{", "\"", "x", "\"", ":", "\"", "a", "\\n", "\"", "}"}));
  EXPECT_EQ(stream.arguments[1], std::vector<std::string>{"{}"});
  EXPECT_EQ(stream.finish_reason, "tool_calls");
}

TEST(StreamingTest, TwoCallsInOneEventHaveTheirOwnIndices) {
  FakeServer fake([](const GenerationRequest&, TokenStream& stream) {
    stream.Push(
        Piece("<tool_call>{\"name\":\"f\",\"arguments\":{\"x\":1}}</tool_call>\n"
              "<tool_call>{\"name\":\"g\",\"arguments\":{\"y\":2}}</tool_call>"));
    stream.Push(End(FinishReason::kStop, 1, 1));
  });
  const CallStream stream = StreamCalls(fake, "");  // checks each delta's index
  EXPECT_EQ(stream.names, (std::vector<std::string>{"f", "g"}));
  EXPECT_EQ(stream.arguments, (std::vector<std::vector<std::string>>{{R"({"x":1})"}, {R"({"y":2})"}}));
}

TEST(StreamingTest, AForcedCallThatIsCutHasNoContent) {
  for (const std::string text :
       {"<tool_c", "<tool_call>\n{\"name\": \"f", "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x"}) {
    FakeServer fake(SpellCalls(text, FinishReason::kLength), {}, [](serving::ServedModel& model) {
      auto compiled = text::ChatTemplate::Compile(
          "{% for m in messages %}{{ m.role }}: {{ m.content }}{% for c in m.tool_calls or [] "
          "%}<tool_call>\n{\"name\": "
          "\"{{ c.function.name }}\", \"arguments\": {{ c.function.arguments | tojson }}}\n</tool_call>{% endfor "
          "%}\n{% "
          "endfor %}>");
      model.chat_template = std::make_shared<const text::ChatTemplate>(std::move(*compiled));
    });
    const CallStream stream = StreamCalls(fake, R"(,"tool_choice":"required","max_tokens":12)");
    EXPECT_EQ(stream.content, "") << text;
    EXPECT_EQ(stream.finish_reason, "length");
    EXPECT_EQ(stream.names.size(), text.ends_with("\"x") ? 1u : 0u) << text;
  }
}

TEST(StreamingTest, AnErrorInTheMiddleIsTheTerminalEvent) {
  std::atomic<bool> begun{false};
  FakeServer fake([&](const GenerationRequest&, TokenStream& stream) {
    stream.Push(Piece("begun"));
    while (!begun) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    StreamEvent last;
    last.finish = scheduler::Finish{FinishReason::kError, {ErrorCode::kInternal, "the device is gone"}, {}};
    stream.Push(last);
  });
  RawClient client(fake.server->port());
  const std::string body = ChatBody("");
  client.Send(fmt::format("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{}",
                          body.size(), body));
  EXPECT_THAT(client.ReadUntil("begun"), HasSubstr("HTTP/1.1 200 OK"));
  begun = true;
  EXPECT_THAT(client.ReadUntil("data: [DONE]"), HasSubstr(R"(data: {"error":{"message":"the device is gone")"));
}

TEST(StreamingTest, AClientThatLeavesCancelsItsGeneration) {
  for (const bool streams : {true, false}) {
    std::atomic<int> cancelled{0};
    FakeServer fake([&](const GenerationRequest&, TokenStream& stream) {
      stream.Push(Piece("begun"));
      for (int i = 0; i < 5000 && !stream.cancelled(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      if (stream.cancelled()) ++cancelled;
      stream.Push(End(FinishReason::kCancelled, 1, 1));
    });
    {
      RawClient client(fake.server->port());
      const std::string body = streams ? ChatBody("") : R"({"messages":[{"role":"user","content":"Hi"}]})";
      client.Send(fmt::format("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{}",
                              body.size(), body));
      if (streams) {
        client.ReadUntil("begun");
      } else {
        while (fake.scheduler->requests().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
    for (int i = 0; i < 1000 && cancelled == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_EQ(cancelled, 1) << streams;
  }
}

TEST(StreamingTest, ManyStreamsAtOnceEachGetTheirOwnText) {
  FakeServer fake([](const GenerationRequest& request, TokenStream& stream) {
    for (const TokenId id : request.prompt) stream.Push(Piece(std::string(1, static_cast<char>(id))));
    stream.Push(End(FinishReason::kStop, 1, 1));
  });
  std::vector<std::thread> clients;
  std::atomic<int> right{0};
  for (int i = 0; i < 16; ++i) {
    clients.emplace_back([&, i] {
      const std::string text = fmt::format("client {} says {}", i, std::string(static_cast<size_t>(i), 'x'));
      const Stream stream = Read(fake, "/v1/completions", fmt::format(R"({{"prompt":"{}","stream":true}})", text));
      std::string got;
      for (const boost::json::value& chunk : stream.chunks) got += chunk.at("choices").at(0).at("text").as_string();
      if (got == text && stream.done == 1) ++right;
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(right, 16);
}

}  // namespace
}  // namespace inferflux::testing
