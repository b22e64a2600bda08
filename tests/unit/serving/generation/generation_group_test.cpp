// The generations of one request together, with streams that a test fills.
#include "serving/generation/generation_group.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace inferflux::serving {
namespace {

// Accepts so many requests.
class StreamsInHand : public scheduler::GenerationService {
 public:
  explicit StreamsInHand(size_t most) : most_(most) {}
  Result<std::shared_ptr<scheduler::TokenStream>> Submit(scheduler::GenerationRequest request) override {
    if (streams.size() == most_) return Fail(ErrorCode::kResourceExhausted, "full");
    ids.push_back(request.request_id);
    return streams.emplace_back(std::make_shared<scheduler::TokenStream>());
  }
  void Drain(bool) override {}
  void Stop() override {}
  scheduler::SchedulerStats stats() const override { return {}; }

  std::vector<std::shared_ptr<scheduler::TokenStream>> streams;
  std::vector<std::string> ids;

 private:
  size_t most_;
};

std::vector<scheduler::GenerationRequest> Requests(size_t count) {
  std::vector<scheduler::GenerationRequest> out(count);
  for (size_t i = 0; i < count; ++i) out[i].request_id = std::to_string(i);
  return out;
}

void Say(scheduler::TokenStream& stream, const std::string& text, bool last = false) {
  scheduler::StreamEvent event;
  event.text = text;
  if (last) event.finish.emplace();
  stream.Push(std::move(event));
}

TEST(GenerationGroupTest, EventsOfAllAreDeliveredWithTheirNumbers) {
  StreamsInHand service(3);
  int told = 0;
  auto group = GenerationGroup::Submit(service, Requests(3), [&] { ++told; });
  ASSERT_TRUE(group) << group.error().message;
  EXPECT_EQ(service.ids, (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_EQ(group->size(), 3u);
  EXPECT_FALSE(group->finished());
  std::string heard;
  const auto hear = [&](size_t index, scheduler::StreamEvent event) {
    heard += std::to_string(index) + event.text + (event.finish ? ". " : " ");
  };
  EXPECT_FALSE(group->Drain(hear)) << "nothing came";
  Say(*service.streams[1], "a");
  Say(*service.streams[1], "b");
  Say(*service.streams[0], "c", true);
  EXPECT_EQ(told, 3);
  EXPECT_TRUE(group->Drain(hear));
  EXPECT_EQ(heard, "0c. 1a 1b ");
  EXPECT_FALSE(group->Drain(hear));
  EXPECT_FALSE(group->finished());
  Say(*service.streams[0], "after its end");
  EXPECT_EQ(told, 3) << "the group has left this stream";
  EXPECT_FALSE(group->Drain(hear));
  Say(*service.streams[2], "d", true);
  Say(*service.streams[1], "e", true);
  heard.clear();
  EXPECT_TRUE(group->Drain(hear));
  EXPECT_EQ(heard, "1e. 2d. ");
  EXPECT_TRUE(group->finished());
  EXPECT_EQ(group->size(), 3u);
}

TEST(GenerationGroupTest, TheEndCancelsWhatIsUnfinished) {
  StreamsInHand service(2);
  int told = 0;
  {
    auto group = GenerationGroup::Submit(service, Requests(2), [&] { ++told; });
    ASSERT_TRUE(group);
    Say(*service.streams[0], "", true);
    EXPECT_TRUE(group->Drain([](size_t, scheduler::StreamEvent) {}));
  }
  EXPECT_FALSE(service.streams[0]->cancelled()) << "it had finished";
  EXPECT_TRUE(service.streams[1]->cancelled());
  told = 0;
  Say(*service.streams[1], "late");
  EXPECT_EQ(told, 0);
}

TEST(GenerationGroupTest, AllAreSubmittedOrNone) {
  StreamsInHand service(1);
  int told = 0;
  const auto group = GenerationGroup::Submit(service, Requests(2), [&] { ++told; });
  ASSERT_FALSE(group);
  EXPECT_EQ(group.error().message, "full");
  ASSERT_EQ(service.streams.size(), 1u);
  EXPECT_TRUE(service.streams[0]->cancelled());
  Say(*service.streams[0], "a");
  EXPECT_EQ(told, 0);
}

TEST(GenerationGroupTest, WhatCameBeforeIsToldAtOnce) {
  class Eager : public StreamsInHand {
   public:
    using StreamsInHand::StreamsInHand;
    Result<std::shared_ptr<scheduler::TokenStream>> Submit(scheduler::GenerationRequest request) override {
      auto out = StreamsInHand::Submit(std::move(request));
      if (out) Say(**out, "a");
      return out;
    }
  } service(1);
  int told = 0;
  const auto group = GenerationGroup::Submit(service, Requests(1), [&] { ++told; });
  ASSERT_TRUE(group);
  EXPECT_EQ(told, 1);
}

}  // namespace
}  // namespace inferflux::serving
