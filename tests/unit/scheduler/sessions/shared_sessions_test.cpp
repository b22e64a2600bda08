// Two servers whose sessions go through one store.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "scheduler/scheduler_driver.h"
#include "scheduler/sessions/disk_by_hand.h"

namespace inferflux::scheduler {
namespace {

using namespace std::chrono_literals;
using Action = SessionCommand::Action;
using Tier = SessionInfo::Tier;

struct FakeStore final : SessionStore {
  std::map<std::string, std::string> blobs;
  bool down = false;
  int gets = 0;

  Status Put(const std::string& name, std::string blob, WallTime) override {
    if (down) return Fail(ErrorCode::kUnavailable, "down");
    blobs[name] = std::move(blob);
    return {};
  }
  Result<std::string> Get(const std::string& name, size_t most) override {
    ++gets;
    if (down) return Fail(ErrorCode::kUnavailable, "down");
    const auto found = blobs.find(name);
    if (found == blobs.end()) return Fail(ErrorCode::kNotFound, "none");
    if (found->second.size() > most) return Fail(ErrorCode::kDataLoss, "too large");
    return found->second;
  }
  Status Remove(const std::string& name) override {
    blobs.erase(name);
    return {};
  }
};

constexpr FakeEngineOptions kSharingEngine{.blocks = 200, .block_size = 4, .max_sequences = 16, .context = 400};
constexpr int64_t kMostShared = 1 << 20;

struct SharingServer {
  explicit SharingServer(std::shared_ptr<FakeStore> store, uint64_t fingerprint = 1)
      : engine(kSharingEngine, Babble), driver(engine, {}, FakeTokenizer(), Extras(std::move(store), fingerprint)) {}

  SchedulerExtras Extras(std::shared_ptr<FakeStore> store, uint64_t fingerprint) {
    auto write = std::make_unique<DiskByHand>(), read = std::make_unique<DiskByHand>();
    writer = write.get();
    reader = read.get();
    SchedulerExtras extras{.session_memory = kMostShared};
    extras.shared_sessions =
        std::make_unique<SharedSessions>(std::move(store), fingerprint, kMostShared, std::move(write), std::move(read));
    return extras;
  }
  std::shared_ptr<TokenStream> Ask(const std::string& text, uint64_t salt = 0) {
    GenerationRequest request{.prompt = Bytes(text), .max_tokens = 10};
    request.cache_salt = salt;
    request.session = SessionUse{.id = "chat", .ttl = 100s};
    return driver.Submit(std::move(request));
  }
  Received Say(const std::string& text, uint64_t salt = 0) {
    const auto stream = Ask(text, salt);
    driver.Drain();
    Received out;
    Read(*stream, out);
    return out;
  }
  Result<std::vector<SessionInfo>> Do(Action action) {
    Result<std::vector<SessionInfo>> out = Fail(ErrorCode::kInternal, "no reply");
    driver.core.Session({.action = action, .id = "chat"}, [&](auto reply) { out = std::move(reply); });
    return out;
  }

  DiskByHand* writer = nullptr;
  DiskByHand* reader = nullptr;
  FakeEngine engine;
  BackendDriver driver;
};

struct SharedSessionsTest : ::testing::Test {
  std::shared_ptr<FakeStore> store = std::make_shared<FakeStore>();
  SharingServer one{store}, two{store};
  const std::string opening = "Once upon a time there was a conversation";

  static std::string Alone(const std::string& text) {
    return SchedulerDriver::Alone(Babble, {.prompt = Bytes(text), .max_tokens = 10});
  }
  int32_t OpeningTokens() const { return static_cast<int32_t>(opening.size()) + 9; }
};

TEST_F(SharedSessionsTest, AConversationGoesOnElsewhere) {
  std::string text = opening + one.Say(opening).text + " and then";
  const Received there = two.Say(text);
  EXPECT_EQ(there.finish->usage.cached_tokens, OpeningTokens());
  EXPECT_EQ(there.text, Alone(text));
  EXPECT_EQ(two.engine.restores, 1);
  const auto before = static_cast<int32_t>(text.size()) + 9;
  // And back, where an older state of it is.
  text += there.text + ", as everyone knows, the story went on and on";
  const Received back = one.Say(text);
  EXPECT_EQ(back.finish->usage.cached_tokens, before);
  EXPECT_EQ(back.text, Alone(text));
}

TEST_F(SharedSessionsTest, AFewTokensAreNotWorthAsking) {
  one.Say("short");
  const int gets = store->gets;
  two.Say("short");
  EXPECT_EQ(store->gets, gets);
}

TEST_F(SharedSessionsTest, OthersRunWhileOneWaits) {
  const std::string text = opening + one.Say(opening).text + " and then";
  two.reader->held = true;
  const auto waits = two.Ask(text);
  GenerationRequest other{.prompt = Bytes("Another"), .max_tokens = 10};
  EXPECT_EQ(two.driver.Generate(std::move(other)).text, Alone("Another"));
  Received received;
  Read(*waits, received);
  EXPECT_FALSE(received.done());
  two.reader->Run();
  two.driver.Drain();
  Read(*waits, received);
  EXPECT_EQ(received.finish->usage.cached_tokens, OpeningTokens());
}

TEST_F(SharedSessionsTest, PatienceEnds) {
  const std::string text = opening + one.Say(opening).text + " and then";
  two.reader->held = true;
  const auto waits = two.Ask(text);
  two.driver.Drain();
  ASSERT_TRUE(two.driver.core.next_deadline()) << "the thread must wake";
  two.driver.now += Sessions::kPatience;
  two.driver.Drain();
  Received received;
  Read(*waits, received);
  ASSERT_TRUE(received.done());
  EXPECT_EQ(received.finish->usage.cached_tokens, 0);
  EXPECT_EQ(received.text, Alone(text));
  two.reader->Run();  // too late
  two.driver.Drain();
  EXPECT_EQ(two.Do(Action::kList)->at(0).tokens, static_cast<int32_t>(text.size()) + 9)
      << "the answer's own state stays";
}

TEST_F(SharedSessionsTest, AStoreThatNeverAnswersDelaysRequestsOnlyOnce) {
  two.reader->held = true;
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (int32_t i = 0; i < 3 * Sessions::kMostFetches; ++i) {
    GenerationRequest request{.prompt = Bytes(opening), .max_tokens = 10};
    request.session = SessionUse{.id = std::to_string(i), .ttl = 1000s};
    streams.push_back(two.driver.Submit(std::move(request)));
  }
  two.driver.Drain();
  two.driver.now += Sessions::kPatience;
  two.driver.Drain();
  for (const auto& stream : streams) {
    Received received;
    Read(*stream, received);
    EXPECT_TRUE(received.done());
  }
}

TEST_F(SharedSessionsTest, AStoreThatIsDownIsLeftAloneForAWhile) {
  store->down = true;
  EXPECT_EQ(one.Say(opening).text, Alone(opening));
  const int gets = store->gets;
  EXPECT_EQ(one.Say("Something else that is long enough to be asked for").finish->reason, FinishReason::kLength);
  EXPECT_EQ(store->gets, gets);
  store->down = false;
  one.driver.now += Sessions::kStoreRest;
  const std::string text = opening + one.Say(opening).text + " and then";
  EXPECT_EQ(two.Say(text).finish->usage.cached_tokens, OpeningTokens());
}

TEST_F(SharedSessionsTest, WhatIsDamagedIsComputedAgain) {
  const std::string text = opening + one.Say(opening).text + " and then";
  std::string& blob = store->blobs.begin()->second;
  const std::string whole = blob;
  for (size_t i = 0; i < whole.size(); i += 3) {
    blob = whole;
    blob[i] = static_cast<char>(blob[i] ^ 1);
    SharingServer other(store);
    const Received received = other.Say(text);
    EXPECT_EQ(received.finish->usage.cached_tokens, 0) << "byte " << i;
    EXPECT_EQ(received.text, Alone(text));
    store->blobs.begin()->second = whole;
  }
}

TEST_F(SharedSessionsTest, OfAnotherModelOrAnotherClientIsNotUsed) {
  const std::string text = opening + one.Say(opening, 1).text + " and then";
  SharingServer other(store, 2);
  EXPECT_EQ(other.Say(text, 1).finish->usage.cached_tokens, 0);
  EXPECT_EQ(two.Say(text, 2).finish->usage.cached_tokens, 0);
  EXPECT_EQ(two.Say(text, 1).finish->usage.cached_tokens, OpeningTokens());
}

// Both states come before either request is admitted: the second replaces what was kept for the first.
TEST_F(SharedSessionsTest, ASecondStateThatComesMeanwhileTakesTheFirstOnesPlace) {
  for (int32_t round = 0; round < Sessions::kMostReads; ++round) {
    const std::string begun(40, static_cast<char>('a' + round));
    const std::string first = begun + one.Say(begun).text + " and then";
    const std::string second = first + Alone(first) + ", as everyone knows, the story went on and on";
    two.reader->held = true;
    const auto early = two.Ask(first), late = two.Ask(second);
    two.driver.core.Step();
    ASSERT_EQ(two.reader->waiting(), 2u);
    two.reader->Run(1);
    one.Say(first);
    two.reader->Run();
    two.reader->held = false;
    two.driver.Drain();
    Received of_early, of_late;
    Read(*early, of_early);
    Read(*late, of_late);
    ASSERT_TRUE(of_early.done() && of_late.done()) << round;
    EXPECT_EQ(of_early.text, Alone(first));
    EXPECT_EQ(of_late.text, Alone(second));
    EXPECT_EQ(of_late.finish->usage.cached_tokens, static_cast<int32_t>(first.size()) + 9);
  }
  const std::string last = opening + one.Say(opening).text + " and then";
  EXPECT_EQ(two.Say(last).finish->usage.cached_tokens, OpeningTokens()) << "the next request is read for as before";
}

TEST_F(SharedSessionsTest, CommandsReachASessionThatIsElsewhere) {
  one.Say(opening);
  const auto restored = two.Do(Action::kRestore);
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(restored->at(0).tier, Tier::kEngine);
  EXPECT_EQ(restored->at(0).tokens, OpeningTokens());
  SharingServer three(store);
  ASSERT_TRUE(three.Do(Action::kDelete));
  EXPECT_TRUE(store->blobs.empty());
  SharingServer four(store);
  EXPECT_EQ(four.Do(Action::kRestore).error().code, ErrorCode::kNotFound);
}

TEST_F(SharedSessionsTest, AnOlderStateIsNotWrittenAfterANewerOne) {
  one.writer->held = true;
  const std::string text = opening + one.Say(opening).text + " and then it went on, word by word";
  one.Say(text);
  EXPECT_EQ(one.writer->waiting(), 2u);
  one.writer->Run(1);
  EXPECT_TRUE(store->blobs.empty()) << "the first was replaced while it waited";
  one.writer->Run();
  EXPECT_EQ(store->blobs.size(), 1u);
}

TEST_F(SharedSessionsTest, ASaveEndsWhenTheStoreHasIt) {
  one.writer->held = true;
  one.Say(opening);
  Result<std::vector<SessionInfo>> reply = Fail(ErrorCode::kInternal, "no reply");
  one.driver.core.Session({.action = Action::kSave, .id = "chat"}, [&](auto got) { reply = std::move(got); });
  EXPECT_EQ(reply.error().code, ErrorCode::kInternal);
  one.writer->Run();
  one.driver.core.Step();
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(store->blobs.size(), 1u);
  EXPECT_TRUE(one.Do(Action::kSave)) << "at once: it is there";
  store->down = true;
  SharingServer other(store);
  other.Say(opening);
  EXPECT_EQ(other.Do(Action::kSave).error().code, ErrorCode::kUnavailable);
}

TEST_F(SharedSessionsTest, ACommandThatWaitsIsAnsweredAtTheEnd) {
  Result<std::vector<SessionInfo>> reply;
  {
    SharingServer last(store);
    last.reader->held = true;
    last.driver.core.Session({.action = Action::kRestore, .id = "chat"}, [&](auto got) { reply = std::move(got); });
  }
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace inferflux::scheduler
