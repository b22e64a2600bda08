// Who was served how much, who waits and who gives way: the numbers at their edges.
#include <gtest/gtest.h>

#include "scheduler/fake_engine.h"
#include "scheduler/queue/holdings.h"
#include "scheduler/queue/waiting_queue.h"

namespace inferflux::scheduler {
namespace {

using namespace std::chrono_literals;

RequestPtr Make(uint64_t number, const std::string& account, size_t tokens, int32_t priority = 0) {
  static const auto tokenizer = FakeTokenizer();
  GenerationRequest spec{.prompt = std::vector<TokenId>(tokens, 1), .account = account, .priority = priority};
  auto request = std::make_unique<Request>(Request{.number = number,
                                                   .spec = spec,
                                                   .stream = std::make_shared<TokenStream>(),
                                                   .output = OutputText(tokenizer, {}, {})});
  request->tokens = spec.prompt;
  return request;
}

TEST(TokenShares, WhoComesIsPutJustBelowThoseWhoAreThere) {
  TokenShares shares;
  shares.Enter("a");
  EXPECT_EQ(shares.served("a"), 0) << "it is the only account";
  shares.Charge("a", 100);
  shares.Enter("b");
  EXPECT_EQ(shares.served("b"), 99);
  shares.Charge("b", 50);
  shares.Enter("c");
  EXPECT_EQ(shares.served("c"), 99) << "below the lowest";
  shares.Charge("c", 500);
  shares.Leave("c");
  shares.Enter("c");
  EXPECT_EQ(shares.served("c"), 599) << "what it had stays";
  shares.Enter("a");
  shares.Leave("a");
  shares.Charge("a", 1);
  EXPECT_EQ(shares.served("a"), 101) << "one of its two requests is still there";
  shares.Leave("a");
  shares.Charge("b", 1000);
  shares.Enter("d");
  EXPECT_EQ(shares.served("d"), 598) << "an absent account does not count";
  shares.Charge("unknown", 5);
  shares.Leave("unknown");
  EXPECT_EQ(shares.served("unknown"), 0);
}

TEST(TokenShares, RemembersTenThousandAccounts) {
  TokenShares shares;
  const auto visit = [&](const std::string& account) {
    shares.Enter(account);
    shares.Charge(account, 5);
    shares.Leave(account);
  };
  for (int i = 0; i < 10'000; ++i) visit("account " + std::to_string(i));
  EXPECT_EQ(shares.served("account 9999"), 5);
  visit("one more");
  EXPECT_EQ(shares.served("one more"), 0);
  EXPECT_EQ(shares.served("account 9999"), 5);
}

TEST(TokenShares, TheAdviceIsByTheAccountsOwnRate) {
  TokenShares shares;
  TimePoint now{};
  EXPECT_EQ(shares.SecondsFor("a", 100, now), 1);
  shares.Finished("a", now);
  EXPECT_EQ(shares.SecondsFor("a", 100, now + 10s), 1) << "it is not here";
  shares.Enter("a");
  shares.Finished("a", now);
  EXPECT_EQ(shares.SecondsFor("a", 3, now + 10s), 30);
}

TEST(ServiceRate, IsThatOfTheLast64Requests) {
  ServiceRate rate;
  const TimePoint start{};
  rate.Finished(start);
  EXPECT_EQ(rate.SecondsFor(2, start + 5s), 10) << "one in five seconds";
  EXPECT_EQ(rate.SecondsFor(2, start + 5001ms), 11) << "rounded up";
  rate.Finished(start + 5s);
  EXPECT_EQ(rate.SecondsFor(2, start + 10s), 10) << "two in ten";
  for (int i = 0; i < 62; ++i) rate.Finished(start + 10s);
  EXPECT_EQ(rate.SecondsFor(32, start + 64s), 32) << "64 in 64 seconds";
  rate.Finished(start + 64s);
  EXPECT_EQ(rate.SecondsFor(32, start + 69s), 32) << "the first one is forgotten: 64 since the fifth second";
  EXPECT_EQ(rate.SecondsFor(100, start + 69s), 60);
  EXPECT_EQ(rate.SecondsFor(0, start + 69s), 1);
}

TEST(TokenBucket, ClocksThatGoBackChargeNothing) {
  TokenBucket bucket;
  const auto start = TokenBucket::Clock::time_point() + 1000h;
  bucket.SetRate(60, start);
  bucket.Charge(60, start);
  EXPECT_EQ(bucket.SecondsUntilFree(start), 1) << "a minute's worth is too much";
  EXPECT_EQ(bucket.SecondsUntilFree(start - 10s), 1);
  EXPECT_EQ(bucket.SecondsUntilFree(start + 1s), 0);
  EXPECT_FALSE(bucket.empty(start + 59s));
  EXPECT_TRUE(bucket.empty(start + 60s));
  bucket.Charge(int64_t{1} << 60, start + 60s);
  EXPECT_EQ(bucket.SecondsUntilFree(start + 60s), std::numeric_limits<int32_t>::max());
}

TEST(WaitingQueue, KnowsWhatWaits) {
  WaitingQueue queue(10s);
  TokenShares shares;
  std::vector<Request*> all;
  for (const char* account : {"b", "a", "b", "c"}) {
    auto request = Make(all.size(), account, 1);
    all.push_back(request.get());
    queue.Push(std::move(request));
  }
  const auto seen = [&] {
    std::string out = fmt::format("{}:", queue.size());
    for (const auto& [account, size] : queue.sizes()) out += fmt::format(" {} {}", account, size);
    out += ", first";
    queue.ForFirst([&](const Request& request) { out += fmt::format(" {}", request.number); });
    out += ", all";
    for (const Request* request : queue.all()) out += fmt::format(" {}", request->number);
    return out;
  };
  EXPECT_EQ(seen(), "4: a 1 b 2 c 1, first 1 0 3, all 1 0 2 3");
  const auto next = [&](auto ready) {
    const Request* found = queue.Next({}, shares, ready);
    return found == nullptr ? -1 : static_cast<int>(found->number);
  };
  EXPECT_EQ(next([](const Request&) { return true; }), 0);
  EXPECT_EQ(next([](const Request& request) { return request.number > 0; }), 1);
  EXPECT_EQ(next([](const Request& request) { return request.number > 1; }), 2) << "behind one that is not ready";
  EXPECT_EQ(next([](const Request&) { return false; }), -1);
  EXPECT_EQ(queue.Take(all[0])->number, 0u);
  EXPECT_EQ(seen(), "3: a 1 b 1 c 1, first 1 2 3, all 1 2 3");
  queue.Take(all[1]);
  EXPECT_EQ(seen(), "2: b 1 c 1, first 2 3, all 2 3");
}

TEST(WaitingQueue, TenSecondsAreWorthOnePriority) {
  WaitingQueue queue(10s);
  TokenShares shares;
  auto old = Make(1, "a", 1, 0), urgent = Make(0, "a", 1, 1);
  urgent->submitted = TimePoint(10s);
  queue.Push(std::move(old));
  queue.Push(std::move(urgent));
  const auto next = [&](std::chrono::milliseconds now) {
    return queue.Next(TimePoint(now), shares, [](const Request&) { return true; })->number;
  };
  EXPECT_EQ(next(19'999ms), 0u) << "both have priority 1: the lower number";
  EXPECT_EQ(next(9'999ms), 0u);
}

// `held`: the accounts and tokens that run, in order of rank; the waiting request is of "me" and has 10 tokens.
std::string Loser(const std::vector<std::pair<std::string, size_t>>& held, Shortage shortage, int64_t ahead) {
  std::vector<RequestPtr> running;
  for (const auto& [account, tokens] : held) running.push_back(Make(running.size(), account, tokens));
  TokenShares shares;
  for (const auto& request : running) shares.Enter(request->spec.account);
  shares.Enter("me");
  for (const char* account : {"a", "b"}) shares.Charge(account, shares.served("me") + ahead - shares.served(account));
  const auto waiting = Make(99, "me", 10);
  const Request* loser = GivesWay(running, *waiting, shortage, shares);
  return loser == nullptr ? "none" : fmt::format("{} {}", loser->spec.account, loser->number);
}

TEST(Holdings, AreCountedForEachAccount) {
  std::vector<RequestPtr> running;
  for (const auto& [account, tokens] : std::vector<std::pair<std::string, size_t>>{{"a", 5}, {"b", 7}, {"a", 20}}) {
    running.push_back(Make(running.size(), account, tokens));
  }
  std::string seen;
  for (const Holding& each : HoldingsOf(running))
    seen += fmt::format("{}: {} {}; ", each.account, each.sequences, each.tokens);
  EXPECT_EQ(seen, "a: 2 25; b: 1 7; ");
  EXPECT_EQ(SequencesOf(running, "a"), 2);
  EXPECT_EQ(SequencesOf(running, "b"), 1);
  EXPECT_EQ(SequencesOf(running, "c"), 0);
  EXPECT_EQ(LosesRoom(running).number, 2u) << "the last of the account that holds the most";
  running.push_back(Make(3, "b", 30));
  running.push_back(Make(4, "c", 36));
  EXPECT_EQ(LosesRoom(running).number, 3u);
  std::vector<RequestPtr> alone;
  alone.push_back(Make(0, "a", 50));
  alone.push_back(Make(1, "a", 5));
  EXPECT_EQ(LosesRoom(alone).number, 1u);
}

TEST(Holdings, TwoSequencesMoreGiveWay) {
  constexpr auto kSequences = Shortage::kSequences;
  EXPECT_EQ(Loser({{"a", 5}, {"a", 5}}, kSequences, 1), "a 1");
  EXPECT_EQ(Loser({{"a", 5}, {"a", 5}}, kSequences, 0), "none") << "it was not served more";
  EXPECT_EQ(Loser({{"a", 5}, {"b", 5}, {"b", 5}, {"a", 5}, {"a", 5}}, kSequences, 1), "a 4");
  EXPECT_EQ(Loser({{"a", 5}, {"b", 5}, {"b", 5}, {"a", 5}}, kSequences, 1), "a 3")
      << "the first of those who hold as much";
  EXPECT_EQ(Loser({{"me", 5}, {"a", 5}, {"a", 5}, {"a", 5}}, kSequences, 1), "a 3");
  EXPECT_EQ(Loser({{"me", 5}, {"a", 5}, {"a", 5}}, kSequences, 512), "none") << "one more, and not long";
  EXPECT_EQ(Loser({{"me", 5}, {"a", 5}, {"a", 5}}, kSequences, 513), "a 2") << "a time slice";
  EXPECT_EQ(Loser({{"me", 5}, {"a", 5}}, kSequences, 100'000), "none") << "it holds no more";
  EXPECT_EQ(Loser({{"me", 5}, {"me", 5}}, kSequences, 1), "none");
  EXPECT_EQ(Loser({}, kSequences, 1), "none");
  EXPECT_EQ(Loser({{"a", 2000}}, kSequences, 1000), "none") << "half of what it must compute again";
  EXPECT_EQ(Loser({{"a", 2000}}, kSequences, 1001), "a 0");
}

TEST(Holdings, FourTimesTheTokensGiveWay) {
  constexpr auto kMemory = Shortage::kMemory;
  EXPECT_EQ(Loser({{"a", 41}}, kMemory, 1), "a 0") << "10 tokens wait";
  EXPECT_EQ(Loser({{"a", 40}}, kMemory, 1), "none");
  EXPECT_EQ(Loser({{"a", 40}}, kMemory, 513), "a 0");
  EXPECT_EQ(Loser({{"me", 5}, {"a", 60}}, kMemory, 1), "none");
  EXPECT_EQ(Loser({{"me", 5}, {"a", 61}}, kMemory, 1), "a 1");
  EXPECT_EQ(Loser({{"me", 40}, {"a", 40}}, kMemory, 100'000), "none") << "it holds no more";
  EXPECT_EQ(Loser({{"me", 40}, {"a", 41}}, kMemory, 513), "a 1");
  EXPECT_EQ(Loser({{"a", 30}, {"b", 50}, {"a", 30}}, kMemory, 1), "a 2");
}

}  // namespace
}  // namespace inferflux::scheduler
