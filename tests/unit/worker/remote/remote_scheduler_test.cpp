// The RemoteScheduler and a worker's endpoints over real sockets, with the toy engine in the worker.
#include "worker/remote/remote_scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/collectable.h>
#include <prometheus/text_serializer.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <chrono>
#include <semaphore>
#include <thread>

#include "metrics/registry.h"
#include "worker/test_worker.h"

namespace inferflux::worker {
namespace {

using namespace std::chrono_literals;
using scheduler::FinishReason;
using scheduler::GenerationRequest;
using scheduler::Received;
using ::testing::HasSubstr;

class Directory final : public WorkerDirectory {
 public:
  Result<std::shared_ptr<WorkerLink>> Route(const GenerationRequest&, const WorkerLink* except) override {
    for (const auto& link : links) {
      if (link.get() != except) return link;
    }
    return Fail(ErrorCode::kUnavailable, "no worker serves");
  }
  std::vector<std::shared_ptr<WorkerLink>> Links() const override { return links; }
  scheduler::SchedulerStats stats() const override { return {}; }
  void CountRetry() override { ++retries; }
  std::shared_ptr<WorkerLink> RoutePrefill(const GenerationRequest&) override { return prefill; }

  std::vector<std::shared_ptr<WorkerLink>> links;
  std::shared_ptr<WorkerLink> prefill;
  std::atomic<int> retries{0};
};

class RemoteSchedulerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (TestWorker* worker : {&first_, &second_}) {
      auto link = std::make_shared<WorkerLink>();
      link->worker_id = worker->status().worker_id();
      link->client = std::make_shared<net::AsyncClient>(io_, worker->address());
      link->headers = Token(kSecret).Headers();
      directory_->links.push_back(link);
    }
    remote_ =
        std::make_unique<RemoteScheduler>(io_, directory_, first_.info, metrics::ModelMetrics(registry_, "m", "cpu"));
  }
  void TearDown() override {
    remote_.reset();
    work_.reset();
    io_.stop();
    thread_.join();
  }

  static GenerationRequest Request(const std::string& prompt, int32_t max_tokens = 40) {
    GenerationRequest out{.prompt = scheduler::Bytes(prompt), .max_tokens = max_tokens};
    out.sampling.seed = 11;
    return out;
  }

  Received ReadAll(scheduler::TokenStream& stream) {
    std::counting_semaphore<> wake(0);
    stream.SetNotify([&] { wake.release(); });
    Received received;
    while (!received.done()) {
      Read(stream, received);
      if (!received.done() && !wake.try_acquire_for(20s)) {
        ADD_FAILURE() << "no event in 20 s";
        break;
      }
    }
    stream.SetNotify({});
    return received;
  }

  template <class Condition>
  static bool Eventually(Condition condition) {
    for (int i = 0; i < 5000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(1ms);
    }
    return false;
  }

  metrics::Registry registry_;
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{boost::asio::make_work_guard(io_)};
  TestWorker first_{"w-1"};
  TestWorker second_{"w-2"};
  std::shared_ptr<Directory> directory_ = std::make_shared<Directory>();
  std::unique_ptr<RemoteScheduler> remote_;
  std::thread thread_{[this] { io_.run(); }};
};

TEST_F(RemoteSchedulerTest, GivesWhatTheSchedulerGivesInTheSameProcess) {
  std::vector<std::shared_ptr<scheduler::TokenStream>> streams;
  for (int i = 0; i < 8; ++i) streams.push_back(*remote_->Submit(Request("client " + std::to_string(i))));
  for (int i = 0; i < 8; ++i) {
    const Received received = ReadAll(*streams[static_cast<size_t>(i)]);
    EXPECT_EQ(received.text,
              scheduler::SchedulerDriver::Alone(scheduler::Babble, Request("client " + std::to_string(i))));
    EXPECT_EQ(received.finishes, 1);
    EXPECT_EQ(received.finish->usage.prompt_tokens, 8);
  }
}

TEST_F(RemoteSchedulerTest, KeepsItsConnections) {
  for (int i = 0; i < 5; ++i) ReadAll(**remote_->Submit(Request("again")));
  // An answer may still be read to its end when the next request begins, and after the last one.
  size_t kept = 0;
  for (int tries = 0; kept == 0 && tries < 200; ++tries) {
    std::binary_semaphore seen(0);
    boost::asio::post(io_, [&] {
      kept = directory_->links[0]->client->kept();
      seen.release();
    });
    seen.acquire();
    if (kept == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_GE(kept, 1u);
  EXPECT_LE(kept, 2u);
}

TEST_F(RemoteSchedulerTest, EachTokenArrivesWithItsBytes) {
  GenerationRequest request = Request("logprobs", 5);
  request.top_logprobs = 2;
  const Received received = ReadAll(**remote_->Submit(std::move(request)));
  ASSERT_FALSE(received.tokens.empty());
  EXPECT_FALSE(received.tokens[0].chosen.bytes.empty());
}

TEST_F(RemoteSchedulerTest, ARequestThatCannotFitIsRefusedAtOnce) {
  const auto refused = remote_->Submit(Request(std::string(5000, 'x')));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
}

TEST_F(RemoteSchedulerTest, ACancelledRequestLeavesTheWorkerWithinAStep) {
  first_.slow = true;
  const auto stream = *remote_->Submit(Request("cancel me", 3000));
  ASSERT_TRUE(Eventually([&] { return first_.stats().running == 1; }));
  stream->Cancel();
  EXPECT_TRUE(Eventually([&] { return first_.stats().running == 0; }));
  const Received received = ReadAll(*stream);
  EXPECT_EQ(received.finish->reason, FinishReason::kCancelled);
  EXPECT_EQ(received.finish->usage.prompt_tokens, 9) << "the worker was told, and said what it had done";
}

TEST_F(RemoteSchedulerTest, ACancelledRequestEndsThoughItsWorkerHangs) {
  first_.closed = true;
  const int steps = first_.steps;
  const auto stream = *remote_->Submit(Request("cancel me", 3000));
  ASSERT_TRUE(Eventually([&] { return first_.steps > steps; }));
  stream->Cancel();
  const Received received = ReadAll(*stream);
  first_.closed = false;
  ASSERT_TRUE(received.finish);
  EXPECT_EQ(received.finish->reason, FinishReason::kCancelled);
}

TEST_F(RemoteSchedulerTest, ARequestIsInFlightUntilItHasEnded) {
  first_.slow = true;
  const auto stream = *remote_->Submit(Request("count me", 3000));
  ASSERT_TRUE(Eventually([&] { return first_.stats().running == 1; }));
  const auto running = [&] {
    return prometheus::TextSerializer()
               .Serialize(registry_.Collectable().Collect())
               .find("inferflux_running_sequences{backend=\"cpu\",model=\"m\"} 1\n") != std::string::npos;
  };
  EXPECT_EQ(directory_->links[0]->in_flight, 1);
  EXPECT_EQ(directory_->links[1]->in_flight, 0);
  EXPECT_TRUE(running());
  stream->Cancel();
  ReadAll(*stream);
  EXPECT_TRUE(Eventually([&] { return directory_->links[0]->in_flight == 0 && !running(); }));
}

TEST_F(RemoteSchedulerTest, ADrainOfAllEndsRunningRequestsAsUnavailable) {
  first_.slow = true;
  const auto stream = *remote_->Submit(Request("drain all", 3000));
  ASSERT_TRUE(Eventually([&] { return first_.stats().running == 1; }));
  remote_->Drain(true);
  const Received received = ReadAll(*stream);
  EXPECT_EQ(received.finishes, 1);
  EXPECT_EQ(received.finish->reason, FinishReason::kError);
  EXPECT_EQ(received.finish->error.code, ErrorCode::kUnavailable);
  EXPECT_EQ(received.finish->error.message, "the server is stopping");
  EXPECT_TRUE(Eventually([&] { return first_.stats().running == 0; })) << "the worker sees that nobody reads";
  EXPECT_EQ(directory_->retries, 0);
  remote_->Drain(true);
  EXPECT_EQ(remote_->Submit(Request("late")).error().message, "the server is stopping");
}

TEST_F(RemoteSchedulerTest, WhatWaitsForItsPromptCanBeEndedInEachWay) {
  enum class How { kCancel, kDrain, kStop };
  second_.closed = true;
  directory_->prefill = directory_->links[1];
  const int steps = first_.steps;
  for (const How how : {How::kCancel, How::kDrain, How::kStop}) {
    if (how == How::kStop) {  // a scheduler that has not been drained
      remote_ = std::make_unique<RemoteScheduler>(io_, directory_, first_.info, metrics::ModelMetrics());
    }
    const auto stream = *remote_->Submit(Request("prompt"));
    ASSERT_TRUE(Eventually([&] { return directory_->links[1]->in_flight == 1; }));
    std::this_thread::sleep_for(100ms);  // until it waits for the prompt
    if (how == How::kCancel) stream->Cancel();
    if (how == How::kDrain) remote_->Drain(true);
    if (how == How::kStop) remote_->Stop();
    const Received received = ReadAll(*stream);
    ASSERT_TRUE(received.finish);
    EXPECT_EQ(received.finish->reason, how == How::kDrain ? FinishReason::kError : FinishReason::kCancelled);
    EXPECT_TRUE(Eventually([&] { return directory_->links[1]->in_flight == 0; }));
    EXPECT_EQ(first_.steps, steps) << "the other worker never gets it";
  }
  second_.closed = false;
}

TEST_F(RemoteSchedulerTest, ARequestWhoseWorkerIsLostBeforeItsFirstTokenGoesToAnother) {
  first_.closed = true;
  const auto stream = *remote_->Submit(Request("retry"));
  ASSERT_TRUE(Eventually([&] { return first_.steps > 1; }));
  first_.Kill();
  const Received received = ReadAll(*stream);
  EXPECT_EQ(received.text, scheduler::SchedulerDriver::Alone(scheduler::Babble, Request("retry")));
  EXPECT_EQ(received.finishes, 1);
  EXPECT_EQ(directory_->retries, 1);
}

TEST_F(RemoteSchedulerTest, AfterTheFirstTokenTheStreamEndsWithOneError) {
  first_.slow = true;
  const auto stream = *remote_->Submit(Request("lost", 3000));
  Received received;
  ASSERT_TRUE(Eventually([&] {
    Read(*stream, received);
    return !received.text.empty();
  }));
  first_.Kill();
  const Received rest = ReadAll(*stream);
  EXPECT_EQ(rest.finishes, 1);
  EXPECT_EQ(rest.finish->reason, FinishReason::kError);
  EXPECT_EQ(rest.finish->error.code, ErrorCode::kUnavailable);
  EXPECT_THAT(rest.finish->error.message, HasSubstr("w-1"));
  EXPECT_EQ(directory_->retries, 0);
}

TEST_F(RemoteSchedulerTest, WithoutAnotherWorkerItFailsAtOnce) {
  directory_->links.pop_back();
  first_.closed = true;
  const auto stream = *remote_->Submit(Request("alone"));
  ASSERT_TRUE(Eventually([&] { return first_.steps > 1; }));
  const auto began = std::chrono::steady_clock::now();
  first_.Kill();
  const Received received = ReadAll(*stream);
  EXPECT_EQ(received.finish->error.code, ErrorCode::kUnavailable);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 8s);
}

TEST_F(RemoteSchedulerTest, ADrainingWorkersRequestsGoToAnother) {
  first_.status().SetDraining();
  const Received received = ReadAll(**remote_->Submit(Request("drain")));
  EXPECT_EQ(received.finish->reason, FinishReason::kLength);
  EXPECT_EQ(directory_->retries, 1);
}

TEST_F(RemoteSchedulerTest, AClientThatDoesNotReadLosesNothing) {
  const auto stream = *remote_->Submit(Request("slow reader", 2000));
  std::this_thread::sleep_for(300ms);
  const Received received = ReadAll(*stream);
  EXPECT_EQ(received.text, scheduler::SchedulerDriver::Alone(scheduler::Babble, Request("slow reader", 2000)));
}

TEST_F(RemoteSchedulerTest, ADrainOfWhatWaitsLeavesRunningRequestsAlone) {
  first_.slow = true;
  const auto stream = *remote_->Submit(Request("drain", 40));
  ASSERT_TRUE(Eventually([&] { return first_.stats().running == 1; }));
  remote_->Drain(false);
  EXPECT_EQ(ReadAll(*stream).finish->reason, FinishReason::kLength);
}

TEST_F(RemoteSchedulerTest, StopEndsRunningRequests) {
  first_.slow = true;
  const auto stream = *remote_->Submit(Request("stop", 3000));
  ASSERT_TRUE(Eventually([&] { return first_.stats().running == 1; }));
  remote_->Stop();
  EXPECT_EQ(ReadAll(*stream).finish->reason, FinishReason::kCancelled);
  EXPECT_FALSE(remote_->Submit(Request("late")));
}

}  // namespace
}  // namespace inferflux::worker
