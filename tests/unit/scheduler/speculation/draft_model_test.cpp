// Speculation with a draft model: the output never depends on it, and it is not used where it does not help.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "scheduler/scheduler_driver.h"

namespace inferflux::scheduler {
namespace {

using namespace std::chrono_literals;
using Kind = Speculation::Kind;

constexpr StepPolicy kDrafting{.speculation = {.kind = Kind::kDraft, .max_tokens = 6}};

// A model and its draft, whose steps take simulated time.
struct Pair {
  explicit Pair(FakeEngine::Model model, FakeEngine::Model draft_model, const StepPolicy& policy = kDrafting,
                const FakeEngineOptions& draft_options = {.blocks = 400, .context = 1000}) {
    auto owned = std::make_unique<FakeEngine>(draft_options, std::move(draft_model));
    draft = owned.get();
    target = std::make_unique<FakeEngine>(FakeEngineOptions{.blocks = 400, .context = 1000}, std::move(model));
    driver =
        std::make_unique<BackendDriver>(*target, policy, FakeTokenizer(), SchedulerExtras{.draft = std::move(owned)});
    target->on_step = [this](const engine::UnifiedBatch& batch) { driver->now += 10ms + Rows(batch) * 100us; };
    draft->on_step = [this](const engine::UnifiedBatch& batch) { driver->now += draft_step + Rows(batch) * 10us; };
  }

  static int64_t Rows(const engine::UnifiedBatch& batch) {
    int64_t rows = 0;
    for (const auto& item : batch.items) rows += static_cast<int64_t>(item.tokens.size());
    return rows;
  }

  FakeEngine* draft = nullptr;
  std::chrono::microseconds draft_step{500};
  std::unique_ptr<FakeEngine> target;
  std::unique_ptr<BackendDriver> driver;
};

// Correct except for every seventh token.
TokenId MostlyBabble(FakeEngine::History history, const engine::OutputSpec& spec) {
  return history.size() % 7 == 0 ? 'x' : Babble(history, spec);
}

GenerationRequest Story(int i, int32_t tokens = 120) {
  GenerationRequest request{.prompt = Bytes("story " + std::to_string(i)), .max_tokens = tokens};
  request.sampling.seed = static_cast<uint64_t>(i);
  return request;
}

TEST(DraftModel, SaysTheSameInFewerSteps) {
  Pair pair(Babble, MostlyBabble);
  const Received received = pair.driver->Generate(Story(1));
  EXPECT_EQ(received.text, SchedulerDriver::Alone(Babble, Story(1)));
  EXPECT_LT(pair.target->steps, 60) << "of 120 tokens";
  const Usage& usage = received.finish->usage;
  EXPECT_GT(usage.accepted_tokens, 70);
  EXPECT_GT(usage.drafted_tokens, usage.accepted_tokens);
  EXPECT_EQ(pair.target->usage().blocks_used, 0);
  EXPECT_EQ(pair.draft->usage().blocks_used, 0) << "the draft's KV is freed with the request";
}

TEST(DraftModel, ManyAtOnceShareItsSteps) {
  Pair pair(Babble, MostlyBabble);
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (int i = 0; i < 8; ++i) streams.push_back(pair.driver->Submit(Story(i, 20 + 10 * i)));
  pair.driver->Drain();
  for (int i = 0; i < 8; ++i) {
    Received received;
    Read(*streams[static_cast<size_t>(i)], received);
    EXPECT_EQ(received.text, SchedulerDriver::Alone(Babble, Story(i, 20 + 10 * i))) << i;
  }
  EXPECT_GT(pair.driver->core.stats().accepted_tokens, 100);
  EXPECT_EQ(pair.draft->usage().blocks_used, 0);
}

TEST(DraftModel, ItsOwnLackOfRoomSlowsNobodyDown) {
  Pair pair(Babble, MostlyBabble, kDrafting, {.blocks = 10, .block_size = 4, .max_sequences = 2, .context = 40});
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (int i = 0; i < 6; ++i) streams.push_back(pair.driver->Submit(Story(i)));
  pair.driver->Drain();
  for (int i = 0; i < 6; ++i) {
    Received received;
    Read(*streams[static_cast<size_t>(i)], received);
    EXPECT_EQ(received.text, SchedulerDriver::Alone(Babble, Story(i))) << i;
  }
  EXPECT_EQ(pair.draft->usage().blocks_used, 0);
}

TEST(DraftModel, ItsFailuresCostNothing) {
  Pair pair(Babble, MostlyBabble);
  int step = 0;
  pair.draft->fault = [&](const engine::UnifiedBatch&) -> Status {
    if (++step % 3 == 0) return Fail(ErrorCode::kInternal, "a cosmic ray");
    return {};
  };
  const Received received = pair.driver->Generate(Story(2));
  EXPECT_EQ(received.text, SchedulerDriver::Alone(Babble, Story(2)));
  EXPECT_EQ(received.finish->reason, FinishReason::kLength);
}

TEST(DraftModel, OneThatIsNeverRightIsLeftAlone) {
  const auto wrong = [](FakeEngine::History, const engine::OutputSpec&) -> TokenId { return 'x'; };
  Pair drafting(Says(Bytes(std::string(400, 'y'))), wrong), plain(Says(Bytes(std::string(400, 'y'))), wrong, {});
  const GenerationRequest request{.prompt = Bytes("go"), .max_tokens = 400};
  EXPECT_EQ(drafting.driver->Generate(request).text, plain.driver->Generate(request).text);
  EXPECT_LT(drafting.draft->steps, 60);
  EXPECT_LT(drafting.driver->now.time_since_epoch() * 100, plain.driver->now.time_since_epoch() * 103)
      << "never slower: three per cent at most";
}

TEST(DraftModel, OneThatIsAsSlowAsTheModelIsLeftAlone) {
  Pair pair(Babble, Babble);
  pair.draft_step = 12ms;
  pair.driver->Generate(Story(3, 300));
  EXPECT_LT(pair.draft->steps, 40);
}

TEST(DraftModel, ARequestChoosesItsSpeculation) {
  Pair pair(Babble, MostlyBabble);
  GenerationRequest request = Story(4);
  request.speculation = Speculation{.kind = Kind::kNone};
  EXPECT_EQ(pair.driver->Generate(request).finish->usage.drafted_tokens, 0);
  EXPECT_EQ(pair.draft->steps, 0);
  // After a hundred steps of one row, the cost of more rows is unknown, so it is measured first.
  request.speculation = Speculation{.kind = Kind::kDraft, .max_tokens = 3};
  EXPECT_GT(pair.driver->Generate(request).finish->usage.accepted_tokens, 10);
}

// Each draw has its own seed: speculative and plain draws must have the same distribution, not only equal results for
// equal seeds.
TEST(DraftModel, DrawsHaveTheModelsDistribution) {
  const auto draw = [](uint64_t sharpness) {
    return [sharpness](FakeEngine::History history, const engine::OutputSpec& spec) -> TokenId {
      const auto words = static_cast<uint64_t>(Babble(history, spec)) % 26;
      return static_cast<TokenId>('a' + (words < 26 / sharpness ? 0 : words % 3));
    };
  };
  const auto count = [&](bool speculated, uint64_t first_seed) {
    std::map<std::string, int> seen;
    Pair pair(draw(2), draw(3), speculated ? kDrafting : StepPolicy{});
    for (uint64_t i = 0; i < 3000; ++i) {
      GenerationRequest request{.prompt = Bytes("abc"), .max_tokens = 5};
      request.sampling.seed = first_seed + i;
      ++seen[pair.driver->Generate(request).text.substr(1, 3)];
    }
    if (speculated) {
      EXPECT_GT(pair.driver->core.stats().accepted_tokens, 1000);
    }
    return seen;
  };
  auto plain = count(false, 0);
  double chi2 = 0.0;
  int cells = 0;
  for (const auto& [text, times] : count(true, 1000000)) {
    const double both = times + plain[text];
    if (both < 16) continue;
    chi2 += (times - plain[text]) * (times - plain[text]) / both;
    ++cells;
  }
  EXPECT_GT(cells, 10);
  const double spread = 2.0 / (9.0 * cells);
  EXPECT_LT((std::cbrt(chi2 / cells) - (1.0 - spread)) / std::sqrt(spread), 4.0);
}

}  // namespace
}  // namespace inferflux::scheduler
