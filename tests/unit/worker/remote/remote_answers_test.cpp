// What a RemoteScheduler makes of the answers of workers, whose bytes the test chooses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "scheduler/scheduler_driver.h"
#include "worker/contract/codec.h"
#include "worker/contract/generation_codec.h"
#include "worker/remote/scripted_worker.h"

namespace inferflux::worker {
namespace {

using ::testing::HasSubstr;

TEST_F(RemoteAnswersTest, AnAnswerIsItsEvents) {
  first_.body =
      "data: {\"type\":\"started\",\"request_id\":\"r\",\"worker_id\":\"w\"}\n\ndata: "
      "{\"type\":\"token\",\"text\":\"Hi\"}\n\n" +
      kEnd;
  EXPECT_EQ(Ask(), "Hi|stop");
  ASSERT_EQ(first_.asked().size(), 1u);
  const auto sent = FromText<ExecuteRequest>(first_.asked()[0].substr(9));
  ASSERT_TRUE(sent) << sent.error().Joined();
  EXPECT_EQ(sent->request_id, "w-1-1");
  EXPECT_EQ(sent->prompt, (std::vector<TokenId>{65, 66}));
  EXPECT_EQ(Ask(), "Hi|stop");
  EXPECT_THAT(first_.asked()[1], HasSubstr("\"request_id\":\"w-1-2\""));
  EXPECT_TRUE(Idle());
  EXPECT_EQ(directory_->retries, 0);
}

TEST_F(RemoteAnswersTest, ARefusalIsToldAsItIs) {
  first_.status = 400;
  first_.body =
      ToText(InvalidRequest{.errors = {{"prompt", "type", "must be an array"}, {"stop", "maxItems", "is too long"}}});
  EXPECT_EQ(Ask(), Code(ErrorCode::kInvalidArgument) + "prompt must be an array; stop is too long");
  first_.status = 429;
  first_.body = ToText(ToMessage(Error{ErrorCode::kResourceExhausted, "the queue is full"}));
  EXPECT_EQ(Ask(), Code(ErrorCode::kResourceExhausted) + "the queue is full");
  for (const char* other : {"{}", R"({"errors":[]})", "oops"}) {
    first_.status = 500;
    first_.body = other;
    EXPECT_EQ(Ask(), Code(ErrorCode::kInternal) + "worker w-1 answered 500") << other;
  }
  EXPECT_EQ(directory_->retries, 0) << "another worker would say the same";
  EXPECT_TRUE(second_.asked().empty());
}

TEST_F(RemoteAnswersTest, AnAnswerThatEndsEarlyIsAskedForAgainUnlessSomeOfItHasCome) {
  second_.body = "data: {\"type\":\"token\",\"text\":\"Ho\"}\n\n" + kEnd;
  first_.body = "";
  EXPECT_EQ(Ask(), "Ho|stop");
  EXPECT_EQ(directory_->retries, 1);
  first_.body = "data: {\"type\":\"token\",\"text\":\"Hi\"}\n\n";
  EXPECT_EQ(Ask(), "Hi" + Code(ErrorCode::kUnavailable) + "worker w-1 was lost: its answer ended early");
  EXPECT_EQ(directory_->retries, 1);
  first_.body = second_.body = "";
  EXPECT_EQ(Ask(), Code(ErrorCode::kUnavailable) + "worker w-2 was lost: its answer ended early") << "once is enough";
  EXPECT_EQ(directory_->retries, 2);
  directory_->links.pop_back();
  EXPECT_EQ(Ask(), Code(ErrorCode::kUnavailable) + "no worker serves");
}

TEST_F(RemoteAnswersTest, AnAnswerThatBreaksTheContractIsAnError) {
  first_.body = "data: {\"type\":\"token\"}\n\n" + kEnd;
  EXPECT_EQ(Ask(), Code(ErrorCode::kDataLoss) + "the worker sent a bad event: text is needed");
  first_.body = kEnd + kEnd;
  EXPECT_THAT(Ask(), HasSubstr("|")) << "the first end counts, or the second is an error";
  first_.body = "data: nothing\n\n" + kEnd;
  EXPECT_EQ(Ask(), Code(ErrorCode::kDataLoss) + "the worker sent an event without a type");
}

TEST_F(RemoteAnswersTest, APromptIsComputedElsewhereAndHandedOver) {
  directory_->prefill = directory_->links[1];
  first_.body = second_.body = kEnd;
  second_.sessions_body = R"({"sessions":[]})";
  GenerationRequest request = Request();
  request.account = "acc";
  request.cache_salt = 9;
  request.priority = 4;
  request.request_id = "client";
  EXPECT_EQ(Ask(request), "|stop");
  EXPECT_EQ(directory_->prefills, 1);
  ASSERT_EQ(second_.asked().size(), 2u);
  const auto prompt = FromText<ExecuteRequest>(second_.asked()[0].substr(9));
  ASSERT_TRUE(prompt) << prompt.error().Joined();
  EXPECT_EQ(prompt->request_id, "w-1-1-prompt");
  EXPECT_EQ(prompt->client_request_id, "client");
  EXPECT_EQ(prompt->prompt, request.prompt);
  EXPECT_EQ(prompt->max_tokens, 1);
  EXPECT_TRUE(prompt->ignore_eos);
  EXPECT_EQ(prompt->account, "acc");
  EXPECT_EQ(prompt->cache_salt, 9u);
  EXPECT_EQ(prompt->priority, 4);
  ASSERT_TRUE(prompt->session);
  EXPECT_EQ(prompt->session->id.substr(0, 7), "prompt ");
  EXPECT_EQ(prompt->session->ttl_seconds, 60);
  EXPECT_FALSE(prompt->session->once);
  EXPECT_EQ(
      second_.asked()[1],
      "/sessions " + ToText(scheduler::SessionCommand{
                         .action = scheduler::SessionCommand::Action::kSave, .id = prompt->session->id, .salt = 9}));
  const auto rest = FromText<ExecuteRequest>(first_.asked().at(0).substr(9));
  ASSERT_TRUE(rest && rest->session);
  EXPECT_EQ(rest->session->id, prompt->session->id);
  EXPECT_TRUE(rest->session->once);
  EXPECT_EQ(rest->max_tokens, 5);
  // A session of the client stays its own.
  request.session = scheduler::SessionUse{.id = "chat", .ttl = std::chrono::seconds(5)};
  EXPECT_EQ(Ask(request), "|stop");
  EXPECT_THAT(first_.asked().at(1), HasSubstr(R"("session":{"id":"chat","ttl_seconds":5,"once":false})"));
  // What cannot be handed over is computed again.
  request.session.reset();
  second_.sessions_status = 500;
  EXPECT_EQ(Ask(request), "|stop");
  second_.status = 503;
  EXPECT_EQ(Ask(request), "|stop");
  EXPECT_EQ(directory_->prefills, 2);
  EXPECT_THAT(first_.asked().at(3), ::testing::Not(HasSubstr("session")));
}

TEST_F(RemoteAnswersTest, SessionsAreThoseOfAllWorkersAndACommandIsForTheOneThatKnows) {
  using Action = scheduler::SessionCommand::Action;
  const auto list = [](const char* id) {
    SessionList out;
    for (const std::string& each : {std::string(id), "prompt " + std::string(id)}) out.sessions.push_back({.id = each});
    return ToText(out);
  };
  first_.sessions_body = list("a");
  second_.sessions_body = list("b");
  EXPECT_EQ(Sessions(Action::kList), "a b ");
  EXPECT_EQ(first_.asked().back(),
            "/sessions " + ToText(scheduler::SessionCommand{.action = Action::kList, .id = "s", .salt = 3}));
  EXPECT_EQ(Sessions(Action::kSave), "a ");
  EXPECT_EQ(second_.asked().size(), 1u) << "the first one knew it";
  first_.sessions_status = 404;
  first_.sessions_body = ToText(ToMessage(Error{ErrorCode::kNotFound, "no such session"}));
  EXPECT_EQ(Sessions(Action::kSave), "b ");
  second_.sessions_status = 404;
  second_.sessions_body = first_.sessions_body;
  EXPECT_EQ(Sessions(Action::kSave), "no such session");
  directory_->links.clear();
  EXPECT_EQ(Sessions(Action::kList), "no worker of the model serves");
}

TEST_F(RemoteAnswersTest, ADrainRefusesAndAStopEndsAll) {
  EXPECT_EQ(remote_->stats().queued, 7);
  first_.body = kEnd;
  EXPECT_EQ(Ask(), "|stop");
  remote_->Drain(false);
  EXPECT_EQ(Ask(), "refused: the server is stopping");
  remote_->Stop();
  EXPECT_TRUE(directory_->stopped);
  EXPECT_EQ(Ask(), "refused: the model is being unloaded");
  EXPECT_EQ(Sessions(scheduler::SessionCommand::Action::kList), "the model is being unloaded");
}

}  // namespace
}  // namespace inferflux::worker
