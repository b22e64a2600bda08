// The endpoints of a worker, over real sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "base/log.h"
#include "net/client.h"
#include "worker/contract/codec.h"
#include "worker/service/execute.h"
#include "worker/test_worker.h"

namespace inferflux::worker {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

using ::testing::StartsWith;

// The body of a refusal for one field.
std::string Wrong(const std::string& field, const std::string& constraint, const std::string& message) {
  return ToText(InvalidRequest{.errors = {{field, constraint, message}}});
}

net::ClientResponse Ask(const net::ServerAddress& to, const std::string& path, const std::string& body,
                        bool token = true) {
  net::ClientRequest request{.method = body.empty() ? "GET" : "POST", .target = path, .headers = {}, .body = body};
  if (token) request.headers = Token(kSecret).Headers();
  auto answer = net::Client(to).Send(request);
  EXPECT_TRUE(answer);
  return answer.value_or(net::ClientResponse{});
}

class EndpointsTest : public ::testing::Test {
 protected:
  net::ClientResponse Post(const std::string& path, const std::string& body, bool token = true) {
    return Ask(worker_.address(), path, body, token);
  }
  template <class Condition>
  static bool Eventually(Condition condition) {
    for (int i = 0; i < 10'000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(1ms);
    }
    return false;
  }

  TestWorker worker_{"w-1"};
};

TEST(RefusalOf, AnErrorHasItsStatusAndWhetherToTryAgain) {
  const auto text = [](const WireError& error) {
    const net::Response answer = RefusalOf(error);
    EXPECT_EQ(answer.content_type, "application/json");
    EXPECT_EQ(answer.body, ToText(error));
    return std::to_string(answer.status) + " " + std::string(net::FindHeader(answer.headers, "Retry-After"));
  };
  EXPECT_EQ(text(ToMessage(Error{ErrorCode::kResourceExhausted, "the queue is full"})), "429 1");
  EXPECT_EQ(text(ToMessage(Error{ErrorCode::kResourceExhausted, "its deadline passed"})), "504 1");
  EXPECT_EQ(text(ToMessage(Error{ErrorCode::kUnavailable, "it drains"})), "503 1");
  EXPECT_EQ(text(ToMessage(Error{ErrorCode::kInvalidArgument, "wrong"})), "400 ");
  EXPECT_EQ(text(ToMessage(Error{ErrorCode::kInternal, "a bug"})), "500 ");
  const WireError own = ErrorOf(WorkerErrorCode::kInvalidRequest, "why");
  EXPECT_EQ(ToText(own),
            R"({"type":"error","code":"INVALID_REQUEST","message":"why","retriable":false,"kind":"unavailable"})");
  EXPECT_TRUE(ErrorOf(WorkerErrorCode::kWorkerUnhealthy, "").retriable);
  FieldErrors errors;
  errors.Add("a", "type", "is wrong");
  errors.Add("b", "maximum", "is large");
  const net::Response fields = RefusalOf(errors);
  EXPECT_EQ(fields.status, 400);
  EXPECT_EQ(fields.content_type, "application/json");
  EXPECT_EQ(fields.body, ToText(InvalidRequest{.errors = {{"a", "type", "is wrong"}, {"b", "maximum", "is large"}}}));
}

TEST(RefusalOf, OnlyAWorkerThatIsReadyOrBusyTakesRequests) {
  for (const auto& [state, word, takes] :
       std::vector<std::tuple<WorkerState, std::string, bool>>{{WorkerState::kStarting, "starting", false},
                                                               {WorkerState::kLoading, "loading", false},
                                                               {WorkerState::kReady, "ready", true},
                                                               {WorkerState::kBusy, "busy", true},
                                                               {WorkerState::kDraining, "draining", false},
                                                               {WorkerState::kFailed, "failed", false}}) {
    EXPECT_EQ(TakesRequests(state), takes) << word;
    const net::Response answer = NotServing(state);
    EXPECT_EQ(answer.status, 503);
    EXPECT_EQ(answer.body, R"({"type":"error","code":"WORKER_UNHEALTHY","message":"the worker is )" + word +
                               R"(","retriable":true,"kind":"unavailable"})");
  }
}

TEST_F(EndpointsTest, AWholeAnswerIsAStreamOfEvents) {
  log::SetLevel(log::Level::kInfo);
  ::testing::internal::CaptureStderr();
  const auto answer = Post(
      "/execute", R"({"request_id":"a","client_request_id":"c","trace_parent":"tp","prompt":[65,66],"max_tokens":3})");
  EXPECT_TRUE(Eventually([&] { return worker_.status().answering == 0; }));
  const std::string log = ::testing::internal::GetCapturedStderr();
  log::SetLevel(log::Level::kWarning);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(net::FindHeader(answer.headers, "Content-Type"), "text/event-stream; charset=utf-8");
  EXPECT_EQ(net::FindHeader(answer.headers, "Cache-Control"), "no-cache");
  EXPECT_THAT(answer.body, StartsWith("data: {\"type\":\"started\",\"request_id\":\"a\",\"worker_id\":\"w-1\"}\n\n"
                                      "data: {\"type\":\"token\",\"text\":\""));
  EXPECT_THAT(answer.body,
              HasSubstr(R"({"type":"metrics","prompt_tokens":2,"completion_tokens":3,"cached_tokens":0,)"));
  EXPECT_THAT(answer.body, HasSubstr(R"({"type":"end","tokens_out":3,)"));
  EXPECT_THAT(answer.body, ::testing::EndsWith("\"stop_reason\":\"MAX_TOKENS\"}\n\n"));
  EXPECT_THAT(log, ::testing::ContainsRegex(" info generation request_id=c generation_id=a prompt_tokens=2 "
                                            "completion_tokens=3 ms=[0-9.]+ trace_parent=tp\n"));
}

TEST_F(EndpointsTest, AGenerationIsAnsweredUntilItEndsOrItsReaderLeaves) {
  worker_.slow = true;
  EXPECT_EQ(worker_.status().answering, 0);
  {
    net::Client client(worker_.address());
    client.should_stop = [&] { return worker_.status().answering == 1 && worker_.stats().running == 1; };
    const auto left = client.Send({.method = "POST",
                                   .target = "/execute",
                                   .headers = Token(kSecret).Headers(),
                                   .body = R"({"request_id":"a","prompt":[65],"max_tokens":3000})"});
    ASSERT_FALSE(left);
    EXPECT_EQ(left.error().code, ErrorCode::kCancelled);
  }
  EXPECT_TRUE(Eventually([&] { return worker_.status().answering == 0 && worker_.stats().running == 0; }));
  EXPECT_EQ(Post("/execute", R"({"request_id":"a","prompt":[65],"max_tokens":1})").status, 200) << "its name is free";
}

TEST_F(EndpointsTest, AGrammarIsCompiledBesideTheSockets) {
  const auto answer = Post(
      "/execute",
      R"({"request_id":"a","prompt":[65],"max_tokens":3,"grammar":{"kind":"regex","source":"[a-z]{20}","choices":[]}})");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_THAT(answer.body, HasSubstr("\"stop_reason\":\"MAX_TOKENS\""));
  const auto wrong = Post("/execute", R"({"request_id":"a","prompt":[65],"grammar":{"kind":"regex","source":"("}})");
  EXPECT_EQ(wrong.status, 400);
  EXPECT_EQ(wrong.body, Wrong("grammar", "format", "cannot be compiled"));
  const auto large =
      Post("/execute", R"({"request_id":"a","text":")" + std::string(4097, 'a') + R"(","max_tokens":1})");
  EXPECT_EQ(large.status, 400) << "it is tokenised, and has too many tokens";
  EXPECT_THAT(large.body, HasSubstr("4097 tokens"));
}

TEST_F(EndpointsTest, WhatBreaksTheContractIsRefusedWithItsFields) {
  for (const char* path : {"/execute", "/cancel"}) {
    const auto answer = Post(path, "{}");
    EXPECT_EQ(answer.status, 400) << path;
    EXPECT_EQ(answer.body, Wrong("request_id", "required", "is needed")) << path;
  }
  EXPECT_EQ(Post("/execute", "{").status, 400);
  EXPECT_EQ(Post("/sessions", "[]").status, 400);
  EXPECT_EQ(Post("/nothing", "{}").status, 404);
}

TEST_F(EndpointsTest, SayHowTheWorkerIs) {
  const auto health = Post("/healthz", "");
  EXPECT_EQ(health.body, R"({"status":"ok"})");
  for (const char* path : {"/readyz", "/info"}) {
    const auto answer = Post(path, "");
    EXPECT_EQ(answer.status, 200) << path;
    EXPECT_THAT(answer.body, StartsWith(R"({"worker_id":"w-1",)")) << path;
    EXPECT_THAT(answer.body, HasSubstr(R"("state":"ready")")) << path;
    EXPECT_EQ(net::FindHeader(answer.headers, "Retry-After"), "");
  }
  worker_.status().SetDraining();
  const auto ready = Post("/readyz", ""), info = Post("/info", "");
  EXPECT_EQ(ready.status, 503);
  EXPECT_EQ(net::FindHeader(ready.headers, "Retry-After"), "1");
  EXPECT_THAT(ready.body, HasSubstr(R"("state":"draining")"));
  EXPECT_EQ(info.status, 200);
}

TEST_F(EndpointsTest, SessionsAreTheSchedulers) {
  const auto command = [&](scheduler::SessionCommand::Action action) {
    return Post("/sessions", ToText(scheduler::SessionCommand{.action = action, .id = "s", .salt = 3}));
  };
  using Action = scheduler::SessionCommand::Action;
  const auto none = command(Action::kList);
  EXPECT_EQ(none.status, 200);
  EXPECT_EQ(none.body, R"({"sessions":[]})");
  EXPECT_EQ(
      Post(
          "/execute",
          R"({"request_id":"a","prompt":[65,66],"max_tokens":2,"cache_salt":3,"session":{"id":"s","ttl_seconds":60,"once":false}})")
          .status,
      200);
  const auto one = command(Action::kList);
  EXPECT_EQ(one.status, 200);
  const auto list = FromText<SessionList>(one.body);
  ASSERT_TRUE(list) << one.body;
  ASSERT_EQ(list->sessions.size(), 1u);
  EXPECT_EQ(list->sessions[0].id, "s");
  EXPECT_EQ(command(Action::kDelete).status, 200);
  const auto gone = command(Action::kDelete);
  EXPECT_EQ(gone.status, 400);
  const auto error = FromText<WireError>(gone.body);
  ASSERT_TRUE(error) << gone.body;
  EXPECT_EQ(error->kind, ErrorCode::kNotFound);
}

TEST(EndpointsOfALoadingWorkerTest, ServeNothingYet) {
  WorkerStatus status("w-1", "m");
  WorkerService service{.status = status, .token = Token(kSecret), .shut_down = [] {}};
  const auto server = *net::Server::Start({}, MakeWorkerRoutes(service));
  const net::ServerAddress to{.host = "127.0.0.1", .port = server->port(), .base_path = ""};
  const std::string starting = ToText(ErrorOf(WorkerErrorCode::kWorkerUnhealthy, "the worker is starting"));
  for (const char* path : {"/execute", "/sessions"}) {
    const auto answer = Ask(to, path, "{}");
    EXPECT_EQ(answer.status, 503) << path;
    EXPECT_EQ(answer.body, starting) << path;
  }
  EXPECT_EQ(Ask(to, "/readyz", "").status, 503);
  const auto stranger = Ask(to, "/info", "", false);
  EXPECT_EQ(stranger.status, 401);
  EXPECT_EQ(stranger.body, ToText(ErrorOf(WorkerErrorCode::kInvalidRequest, "the request needs the pool's token")));
}

TEST_F(EndpointsTest, ServeOnlyWhoHasTheToken) {
  EXPECT_EQ(Post("/healthz", "", false).status, 200);
  for (const char* path : {"/readyz", "/info"}) EXPECT_EQ(Post(path, "", false).status, 401) << path;
  for (const char* path : {"/execute", "/cancel", "/sessions", "/shutdown"}) {
    EXPECT_EQ(Post(path, "{}", false).status, 401) << path;
  }
  EXPECT_FALSE(worker_.shut_down);
}

TEST_F(EndpointsTest, CancelOfAnUnknownRequestIsAccepted) {
  EXPECT_EQ(Post("/cancel", R"({"request_id":"unknown"})").status, 202);
}

TEST_F(EndpointsTest, ShutdownIsPassedOn) {
  EXPECT_EQ(Post("/shutdown", "{}").status, 202);
  EXPECT_TRUE(worker_.shut_down);
}

TEST_F(EndpointsTest, ADrainingWorkerAnswers503WithRetryAfter) {
  worker_.status().SetDraining();
  const auto answer = Post("/execute", R"({"request_id":"a","prompt":[65]})");
  EXPECT_EQ(answer.status, 503);
  EXPECT_FALSE(net::FindHeader(answer.headers, "Retry-After").empty());
  const auto error = FromText<WireError>(answer.body);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, WorkerErrorCode::kWorkerUnhealthy);
  EXPECT_TRUE(error->retriable);
}

TEST_F(EndpointsTest, ARequestThatDoesNotFitIsInvalid) {
  const auto answer = Post("/execute", R"({"request_id":"a","prompt":[65],"max_tokens":100000})");
  EXPECT_EQ(answer.status, 400);
  const auto error = FromText<WireError>(answer.body);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, WorkerErrorCode::kInvalidRequest);
}

TEST_F(EndpointsTest, APassedDeadlineEndsWithTimeout) {
  worker_.slow = true;
  const auto answer = Post("/execute", R"({"request_id":"a","prompt":[65],"max_tokens":3000,"deadline_ms":50})");
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.body, HasSubstr(R"("code":"TIMEOUT")"));
  EXPECT_THAT(answer.body, ::testing::Not(HasSubstr(R"("type":"end")")));
}

TEST_F(EndpointsTest, ACancelledRequestEndsWithCancelled) {
  worker_.slow = true;
  std::string body;
  std::thread client([&] { body = Post("/execute", R"({"request_id":"c1","prompt":[65],"max_tokens":3000})").body; });
  EXPECT_TRUE(Eventually([&] { return worker_.stats().running == 1; }));
  EXPECT_EQ(Post("/cancel", R"({"request_id":"c1"})").status, 202);
  client.join();
  EXPECT_THAT(body, HasSubstr(R"("stop_reason":"CANCELLED")"));
}

TEST_F(EndpointsTest, AFailedStepEndsWithInternal) {
  worker_.broken = true;
  const auto answer = Post("/execute", R"({"request_id":"a","prompt":[65],"max_tokens":3})");
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.body, HasSubstr(R"("code":"INTERNAL")"));
  EXPECT_THAT(answer.body, HasSubstr(R"("retriable":false)"));
}

TEST_F(EndpointsTest, TwoRunningRequestsMustNotShareAnId) {
  worker_.slow = true;
  std::thread client([&] { Post("/execute", R"({"request_id":"same","prompt":[65],"max_tokens":3000})"); });
  EXPECT_TRUE(Eventually([&] { return worker_.stats().running == 1; }));
  const auto second = Post("/execute", R"({"request_id":"same","prompt":[66],"max_tokens":3000})");
  EXPECT_EQ(second.status, 400);
  EXPECT_EQ(second.body, Wrong("request_id", "unique", "is that of a running generation"));
  const int before = worker_.steps;
  EXPECT_TRUE(Eventually([&] { return worker_.steps > before + 5; }));
  EXPECT_EQ(worker_.stats().running, 1) << "the second one is not generated";
  Post("/cancel", R"({"request_id":"same"})");
  client.join();
}

}  // namespace
}  // namespace inferflux::worker
