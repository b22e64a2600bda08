// Conversations whose KV outlives their requests.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "scheduler/scheduler_driver.h"
#include "scheduler/sessions/disk_by_hand.h"

namespace inferflux::scheduler {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using Action = SessionCommand::Action;
using Tier = SessionInfo::Tier;

constexpr FakeEngineOptions kRoomy{.blocks = 200, .block_size = 4, .max_sequences = 16, .context = 400};

struct Server {
  explicit Server(int64_t memory = 0, const FakeEngineOptions& options = kRoomy, const std::string& directory = {})
      : engine(options, Babble), driver(engine, {}, FakeTokenizer(), Extras(memory, directory)) {}

  SchedulerExtras Extras(int64_t memory, const std::string& directory) {
    SchedulerExtras extras{.session_memory = memory};
    if (!directory.empty()) {
      const auto now = std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
      auto by_hand = std::make_unique<DiskByHand>();
      disk = by_hand.get();
      extras.session_files = std::move(*SessionFiles::Open(directory, 1 << 20, 1, now, std::move(by_hand)));
    }
    return extras;
  }
  std::shared_ptr<TokenStream> Ask(const std::string& id, const std::string& text) {
    GenerationRequest request{.prompt = Bytes(text), .max_tokens = 10};
    request.session = SessionUse{.id = id, .ttl = 100s};
    return driver.Submit(std::move(request));
  }

  Received Say(const std::string& id, const std::string& text, uint64_t salt = 0) {
    GenerationRequest request{.prompt = Bytes(text), .max_tokens = 10};
    request.cache_salt = salt;
    if (!id.empty()) request.session = SessionUse{.id = id, .ttl = 100s};
    return driver.Generate(std::move(request));
  }
  // Fills the KV cache with text of other clients.
  void Crowd() {
    for (int i = 0; i < 4; ++i) Say("", std::string(190, static_cast<char>('A' + crowds++ % 26)));
  }
  std::vector<SessionInfo> Do(Action action, const std::string& id = {}, uint64_t salt = 0) {
    return Try(action, id, salt).value_or(std::vector<SessionInfo>());
  }
  // kInternal: no reply yet.
  Result<std::vector<SessionInfo>> Try(Action action, const std::string& id = {}, uint64_t salt = 0) {
    Result<std::vector<SessionInfo>> out = Fail(ErrorCode::kInternal, "no reply");
    driver.core.Session({.action = action, .id = id, .salt = salt}, [&](auto reply) { out = std::move(reply); });
    return out;
  }

  DiskByHand* disk = nullptr;  // null: without a directory
  FakeEngine engine;
  BackendDriver driver;
  int crowds = 0;
};

constexpr FakeEngineOptions kTight{.blocks = 60, .block_size = 4, .max_sequences = 16, .context = 240};
const std::string kOpening = "Once upon a time there was a conversation";

TEST(Sessions, KeepTheirKvThroughACrowd) {
  Server kept(0, kRoomy), forgotten(0, kRoomy);
  for (Server* server : {&kept, &forgotten}) {
    const bool session = server == &kept;
    const std::string first = server->Say(session ? "a" : "", kOpening).text;
    for (int i = 0; i < 2; ++i) server->Crowd();
    const std::string second = kOpening + first + " and then";
    const Received received = server->Say(session ? "a" : "", second);
    // All but the last sampled token and the new text.
    EXPECT_EQ(received.finish->usage.cached_tokens, session ? static_cast<int32_t>(kOpening.size()) + 9 : 0);
    EXPECT_EQ(received.text, SchedulerDriver::Alone(Babble, {.prompt = Bytes(second), .max_tokens = 10}));
  }
}

TEST(Sessions, GiveWayToRequestsAndComeBackFromMemory) {
  Server server(1 << 20, kTight);
  const std::string first = server.Say("a", kOpening).text;
  EXPECT_EQ(server.Do(Action::kList)[0].tier, Tier::kEngine);
  server.Crowd();  // needs nearly all blocks
  ASSERT_EQ(server.Do(Action::kList).size(), 1u);
  EXPECT_EQ(server.Do(Action::kList)[0].tier, Tier::kMemory);
  const std::string second = kOpening + first + " and then";
  const Received received = server.Say("a", second);
  EXPECT_EQ(received.finish->usage.cached_tokens, static_cast<int32_t>(kOpening.size()) + 9);
  EXPECT_EQ(server.engine.restores, 1);
  EXPECT_EQ(received.text, SchedulerDriver::Alone(Babble, {.prompt = Bytes(second), .max_tokens = 10}));
}

TEST(Sessions, WithoutMemoryNorDiskTheyAreForgotten) {
  Server server(0, kTight);
  server.Say("a", kOpening);
  server.Crowd();
  EXPECT_TRUE(server.Do(Action::kList).empty());
  EXPECT_EQ(server.engine.usage().blocks_used, 0);
}

TEST(Sessions, ABranchTakesWhatItShares) {
  Server server;
  server.Say("a", kOpening);
  const Received received = server.Say("a", kOpening.substr(0, 30) + "something else");
  EXPECT_EQ(received.finish->usage.cached_tokens, 30);
  EXPECT_EQ(received.text, SchedulerDriver::Alone(
                               Babble, {.prompt = Bytes(kOpening.substr(0, 30) + "something else"), .max_tokens = 10}));
}

TEST(Sessions, AreForgottenWhenTheirTimeIsUp) {
  Server server;
  server.Say("a", kOpening);
  EXPECT_GT(server.engine.usage().blocks_used, 0);
  ASSERT_TRUE(server.driver.core.next_deadline());
  EXPECT_EQ(*server.driver.core.next_deadline(), server.driver.now + 100s);
  server.driver.now += 100s;
  server.driver.core.Step();
  EXPECT_TRUE(server.Do(Action::kList).empty());
  EXPECT_EQ(server.engine.usage().blocks_used, 0);
}

TEST(Sessions, OfOtherSaltsAreOtherSessions) {
  Server server;
  server.Say("a", kOpening, 1);
  EXPECT_TRUE(server.Do(Action::kList, {}, 2).empty());
  EXPECT_FALSE(server.Try(Action::kDelete, "a", 2));
  EXPECT_EQ(server.Say("a", kOpening, 2).finish->usage.cached_tokens, 0);
  EXPECT_EQ(server.Do(Action::kList, {}, 1).size(), 1u);
}

TEST(Sessions, CanBeDeleted) {
  Server server;
  server.Say("a", kOpening);
  EXPECT_EQ(server.Do(Action::kDelete, "a")[0].id, "a");
  EXPECT_EQ(server.engine.usage().blocks_used, 0);
  EXPECT_EQ(server.Try(Action::kDelete, "a").error().code, ErrorCode::kNotFound);
}

// As one that the store has for a single request.
TEST(Sessions, OneThatIsUsedOnceIsDroppedWithItsRequest) {
  Server server;
  const std::string first = server.Say("a", kOpening).text;
  server.Say("b", "another conversation");
  GenerationRequest request{.prompt = Bytes(kOpening + first + "!"), .max_tokens = 10};
  request.session = SessionUse{.id = "a", .once = true};
  const Received received = server.driver.Generate(std::move(request));
  EXPECT_GT(received.finish->usage.cached_tokens, static_cast<int32_t>(kOpening.size()));
  const auto left = server.Do(Action::kList);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].id, "b");
  GenerationRequest unknown{.prompt = Bytes("once"), .max_tokens = 2};
  unknown.session = SessionUse{.id = "c", .once = true};
  EXPECT_EQ(server.driver.Generate(std::move(unknown)).text.size(), 2u);
  EXPECT_EQ(server.Do(Action::kList).size(), 1u);
}

TEST(Sessions, SavingWithoutADirectorySaysWhatToSet) {
  Server server;
  server.Say("a", kOpening);
  const auto saved = server.Try(Action::kSave, "a");
  ASSERT_FALSE(saved);
  EXPECT_NE(saved.error().message.find("runtime.session_dir"), std::string::npos);
  EXPECT_EQ(server.Do(Action::kList)[0].tier, Tier::kEngine) << "it stays where it is";
}

class SessionsOnDisk : public ::testing::Test {
 protected:
  SessionsOnDisk() { fs::remove_all(directory_); }
  ~SessionsOnDisk() override { fs::remove_all(directory_); }

  const std::string directory_ = ::testing::TempDir() + "chats-" + std::to_string(::getpid());
};

TEST_F(SessionsOnDisk, SurviveTheServer) {
  std::string text = kOpening;
  {
    Server server(0, kRoomy, directory_);
    text += server.Say("a", text).text + " and then";
    const auto saved = server.Do(Action::kSave, "a");
    ASSERT_EQ(saved.size(), 1u);
    EXPECT_TRUE(saved[0].on_disk);
    EXPECT_EQ(saved[0].tier, Tier::kEngine);
  }
  for (const bool explicitly : {false, true}) {
    Server server(0, kRoomy, directory_);
    EXPECT_EQ(server.Do(Action::kList)[0].tier, Tier::kDisk);
    if (explicitly) {
      EXPECT_EQ(server.Do(Action::kRestore, "a")[0].tier, Tier::kEngine);
    }
    const Received received = server.Say("a", text);
    EXPECT_EQ(received.finish->usage.cached_tokens, static_cast<int32_t>(kOpening.size()) + 9);
    EXPECT_EQ(received.text, SchedulerDriver::Alone(Babble, {.prompt = Bytes(text), .max_tokens = 10}));
    EXPECT_EQ(server.engine.restores, 1);
  }
}

TEST_F(SessionsOnDisk, WhatIsDamagedIsComputedAgain) {
  std::string text = kOpening;
  {
    Server server(0, kRoomy, directory_);
    text += server.Say("a", text).text + " and then";
    server.Do(Action::kSave, "a");
  }
  Server server(0, kRoomy, directory_);
  for (const auto& entry : fs::recursive_directory_iterator(directory_)) {
    if (entry.is_regular_file()) fs::resize_file(entry.path(), entry.file_size() - 1);
  }
  const Received received = server.Say("a", text);
  EXPECT_EQ(received.finish->usage.cached_tokens, 0);
  EXPECT_EQ(received.text, SchedulerDriver::Alone(Babble, {.prompt = Bytes(text), .max_tokens = 10}));
}

TEST_F(SessionsOnDisk, TakeWhatMemoryHasNoRoomFor) {
  Server server(0, kTight, directory_);
  const std::string first = server.Say("a", kOpening).text;
  server.Crowd();
  ASSERT_EQ(server.Do(Action::kList).size(), 1u);
  EXPECT_EQ(server.Do(Action::kList)[0].tier, Tier::kDisk);
  EXPECT_GT(server.Say("a", kOpening + first + " and").finish->usage.cached_tokens, 40);
}

TEST_F(SessionsOnDisk, TheMemoryLimitHoldsAfterALoadFromDisk) {
  {
    Server server(0, kRoomy, directory_);
    server.Say("a", kOpening);
    server.Do(Action::kSave, "a");
  }
  constexpr int64_t kLimit = 450;  // two conversations of 200 bytes and more
  Server server(kLimit, kTight, directory_);
  EXPECT_EQ(server.Do(Action::kRestore, "a")[0].tier, Tier::kEngine);
  for (const char* id : {"b", "c", "d"}) server.Say(id, kOpening + id);
  server.Crowd();
  int64_t held = 0;
  for (const SessionInfo& session : server.Do(Action::kList)) held += session.tier == Tier::kMemory ? session.bytes : 0;
  EXPECT_GT(held, kLimit / 2) << "the test must fill the memory";
  EXPECT_LE(held, kLimit);
}

TEST_F(SessionsOnDisk, DeletingASessionDeletesItsFile) {
  Server server(0, kRoomy, directory_);
  server.Say("a", kOpening);
  server.Do(Action::kSave, "a");
  server.Do(Action::kDelete, "a");
  EXPECT_TRUE(Server(0, kRoomy, directory_).Do(Action::kList).empty());
}

TEST_F(SessionsOnDisk, NoStepWaitsForASlowDisk) {
  Server server(0, kTight, directory_);
  const std::string text = kOpening + server.Say("a", kOpening).text + " and";
  server.disk->held = true;
  server.Crowd();  // pushes the session out
  ASSERT_EQ(server.disk->waiting(), 1u);
  EXPECT_EQ(server.Do(Action::kList)[0].tier, Tier::kMemory) << "until the file is safe";
  EXPECT_FALSE(server.Do(Action::kList)[0].on_disk);
  server.disk->Run();
  server.driver.core.Step();
  EXPECT_EQ(server.Do(Action::kList)[0].tier, Tier::kDisk);

  const auto mine = server.Ask("a", text);
  while (server.driver.core.Step()) continue;
  Received received;
  Read(*mine, received);
  EXPECT_TRUE(received.events.empty()) << "it waits for its KV";
  EXPECT_TRUE(server.Say("", "another").done()) << "other requests are not delayed";
  server.disk->Run();
  server.driver.Drain();
  Read(*mine, received);
  EXPECT_EQ(received.finish->usage.cached_tokens, static_cast<int32_t>(kOpening.size()) + 9);
  EXPECT_EQ(received.text, SchedulerDriver::Alone(Babble, {.prompt = Bytes(text), .max_tokens = 10}));
}

TEST_F(SessionsOnDisk, ARestoreThatMeetsASaveTakesWhatIsStillInMemory) {
  Server server(0, kTight, directory_);
  server.Say("a", kOpening);
  server.disk->held = true;
  server.Crowd();
  ASSERT_EQ(server.disk->waiting(), 1u);
  const auto restored = server.Try(Action::kRestore, "a");
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(restored->at(0).tier, Tier::kEngine);
  EXPECT_FALSE(restored->at(0).on_disk);
  server.disk->Run();
  server.driver.core.Step();
  EXPECT_TRUE(server.Do(Action::kList)[0].on_disk) << "of the same tokens";
}

TEST_F(SessionsOnDisk, ASaveOfTokensThatHaveGrownDoesNotCountAsOne) {
  Server server(1 << 20, kRoomy, directory_);
  const std::string first = server.Say("a", kOpening).text;
  server.disk->held = true;
  std::vector<Result<std::vector<SessionInfo>>> replies;
  server.driver.core.Session({.action = Action::kSave, .id = "a"}, [&](auto reply) { replies.push_back(reply); });
  EXPECT_TRUE(replies.empty()) << "the file is not safe yet";
  server.Say("a", kOpening + first + " and then");
  server.disk->Run();
  server.driver.core.Step();
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_FALSE(server.Do(Action::kList)[0].on_disk);
}

TEST_F(SessionsOnDisk, ACancelledRequestLetsGoOfWhatWasReadForIt) {
  {
    Server server(0, kRoomy, directory_);
    for (const char* id : {"a", "b", "c"}) {
      server.Say(id, kOpening + id);
      server.Do(Action::kSave, id);
    }
  }
  Server server(0, kRoomy, directory_);
  server.disk->held = true;
  const auto first = server.Ask("a", kOpening + "a and");
  const auto second = server.Ask("b", kOpening + "b and");
  const auto third = server.Ask("c", kOpening + "c and");
  server.driver.core.Step();
  EXPECT_EQ(server.disk->waiting(), 2u) << "not more KV than of two at once";
  first->Cancel();
  second->Cancel();
  server.driver.core.Step();
  server.driver.core.Step();
  EXPECT_EQ(server.disk->waiting(), 3u);
  server.disk->Run();
  server.driver.Drain();
  Received received;
  Read(*third, received);
  ASSERT_TRUE(received.done());
  EXPECT_GT(received.finish->usage.cached_tokens, 40);
  int held = 0;
  for (const SessionInfo& session : server.Do(Action::kList)) held += session.tier == Tier::kMemory ? 1 : 0;
  EXPECT_EQ(held, 0);
}

TEST_F(SessionsOnDisk, AFolderThatIsGoneCostsARecomputationOnly) {
  Server server(0, kTight, directory_);
  const std::string text = kOpening + server.Say("a", kOpening).text + " and";
  fs::remove_all(directory_);
  server.Crowd();
  EXPECT_TRUE(server.Do(Action::kList).empty());
  const Received received = server.Say("a", text);
  EXPECT_EQ(received.finish->usage.cached_tokens, 0);
  EXPECT_EQ(received.text, SchedulerDriver::Alone(Babble, {.prompt = Bytes(text), .max_tokens = 10}));
}

TEST_F(SessionsOnDisk, ACommandThatWaitsForTheDiskIsAnsweredWhenTheModelGoes) {
  std::vector<Result<std::vector<SessionInfo>>> replies;
  {
    Server server(0, kRoomy, directory_);
    server.Say("a", kOpening);
    server.disk->held = true;
    server.driver.core.Session({.action = Action::kSave, .id = "a"}, [&](auto reply) { replies.push_back(reply); });
  }
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].error().code, ErrorCode::kUnavailable);
}

TEST(Sessions, ExpireInTheOrderOfTheirEnds) {
  Server server;
  for (const int seconds : {70, 20, 50}) {
    GenerationRequest request{.prompt = Bytes(kOpening + std::to_string(seconds)), .max_tokens = 2};
    request.session = SessionUse{.id = std::to_string(seconds), .ttl = std::chrono::seconds(seconds)};
    server.driver.Generate(std::move(request));
  }
  const TimePoint start = server.driver.now;
  std::vector<size_t> left;
  for (const int seconds : {20, 50, 70}) {
    EXPECT_EQ(*server.driver.core.next_deadline(), start + std::chrono::seconds(seconds));
    server.driver.now = start + std::chrono::seconds(seconds);
    server.driver.core.Step();
    left.push_back(server.Do(Action::kList).size());
  }
  EXPECT_EQ(left, (std::vector<size_t>{2, 1, 0}));
  EXPECT_FALSE(server.driver.core.next_deadline());
}

// Many conversations at once, a disk that works now and then, too few blocks: each goes on as if it were alone.
TEST_F(SessionsOnDisk, ConversationsSayTheSameHoweverSlowTheDiskIs) {
  std::mt19937 random(11);
  Server server(500, kTight, directory_);
  std::vector<std::string> texts;
  for (int i = 0; i < 8; ++i) texts.push_back("conversation number " + std::to_string(i));
  for (int turn = 0; turn < 5; ++turn) {
    std::vector<std::shared_ptr<TokenStream>> streams;
    for (int i = 0; i < 8; ++i) streams.push_back(server.Ask(std::to_string(i), texts[static_cast<size_t>(i)]));
    server.disk->held = true;
    std::vector<Received> received(8);
    const auto ended = [&] { return std::ranges::all_of(received, &Received::done); };
    for (int step = 0; !ended() && step < 10000; ++step) {
      if (!server.driver.core.Step() || random() % 4 == 0) server.disk->Run(1 + random() % 2);
      for (size_t i = 0; i < 8; ++i) Read(*streams[i], received[i]);
    }
    for (size_t i = 0; i < 8; ++i) {
      ASSERT_TRUE(received[i].done()) << "turn " << turn << ", conversation " << i;
      EXPECT_EQ(received[i].text, SchedulerDriver::Alone(Babble, {.prompt = Bytes(texts[i]), .max_tokens = 10}));
      texts[i] += received[i].text + "?";
    }
  }
  EXPECT_GT(server.engine.restores, 5) << "the test must exercise the tiers";
  server.disk->Run();
  server.driver.core.Step();
  for (int i = 0; i < 8; ++i) server.Do(Action::kDelete, std::to_string(i));
  EXPECT_EQ(server.engine.usage().blocks_used, 0);
}

// Many conversations at once, too few blocks: wherever their KV moves, each continues as if it were alone.
TEST_F(SessionsOnDisk, ManyConversationsMoveAboutAndSayTheSame) {
  Server server(2000, kTight, directory_);
  std::vector<std::string> texts;
  for (int i = 0; i < 8; ++i) texts.push_back("conversation number " + std::to_string(i));
  for (int turn = 0; turn < 5; ++turn) {
    std::vector<std::shared_ptr<TokenStream>> streams;
    for (int i = 0; i < 8; ++i) {
      GenerationRequest request{.prompt = Bytes(texts[static_cast<size_t>(i)]), .max_tokens = 10};
      request.session = SessionUse{.id = std::to_string(i)};
      streams.push_back(server.driver.Submit(std::move(request)));
    }
    server.driver.Drain();
    for (size_t i = 0; i < 8; ++i) {
      Received received;
      Read(*streams[i], received);
      EXPECT_EQ(received.text, SchedulerDriver::Alone(Babble, {.prompt = Bytes(texts[i]), .max_tokens = 10}));
      texts[i] += received.text + "?";
    }
  }
  EXPECT_GT(server.engine.restores, 5) << "the test must exercise the tiers";
  for (int i = 0; i < 8; ++i) server.Do(Action::kDelete, std::to_string(i));
  EXPECT_EQ(server.engine.usage().blocks_used, 0);
}

}  // namespace
}  // namespace inferflux::scheduler
