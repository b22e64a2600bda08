// The phases of a request, by hand and as a scheduler records them.
#include "scheduler/timeline/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/scheduler_driver.h"
#include "scheduler/timeline/request_history.h"

namespace inferflux::scheduler {
namespace {

using ::testing::ElementsAre;
using Kind = TimelinePhase::Kind;

std::vector<Kind> KindsOf(const std::vector<TimelinePhase>& phases) {
  std::vector<Kind> out;
  for (const TimelinePhase& phase : phases) out.push_back(phase.kind);
  return out;
}

TEST(TimelineTest, ChunksAreApartAndDecodingIsOnePhase) {
  Timeline line;
  line.Prefill(0.5, 0.6, 112);
  line.AddToken();  // the first token, of the prompt's last step
  line.Decode(0.6, 0.61);
  line.AddToken();
  line.Decode(0.611, 0.62);
  line.AddToken();
  line.End(0.621);
  EXPECT_THAT(line.phases(),
              ElementsAre(TimelinePhase{Kind::kQueued, 0, 0.5, 0, 0}, TimelinePhase{Kind::kPrefill, 0.5, 0.6, 112, 1},
                          TimelinePhase{Kind::kDecode, 0.6, 0.62, 2, 2}));
}

TEST(TimelineTest, GapsAreNamedByTheirReason) {
  Timeline line;
  line.Prefill(0, 0.1, 4);
  line.Decode(0.3, 0.4);  // steps left it out
  line.Preempt();
  line.Prefill(1.0, 1.1, 9);
  line.End(1.1);
  EXPECT_THAT(KindsOf(line.phases()), ElementsAre(Kind::kQueued, Kind::kPrefill, Kind::kWaiting, Kind::kDecode,
                                                  Kind::kPreempted, Kind::kPrefill));
  EXPECT_EQ(line.phases()[4].end, 1.0);
}

TEST(TimelineTest, ARequestThatNeverRanWasQueuedToItsEnd) {
  Timeline line;
  line.End(3);
  EXPECT_THAT(line.phases(), ElementsAre(TimelinePhase{Kind::kQueued, 0, 3, 0, 0}));
}

TEST(TimelineTest, AGapOf20MillisecondsIsAPhase) {
  Timeline line;
  line.Decode(0, 0);
  line.Decode(0.0199, 0);  // as if it took no time
  line.Decode(0.02, 0.5);
  EXPECT_THAT(line.phases(),
              ElementsAre(TimelinePhase{Kind::kQueued, 0, 0, 0, 0}, TimelinePhase{Kind::kDecode, 0, 0, 0, 2},
                          TimelinePhase{Kind::kWaiting, 0, 0.02, 0, 0}, TimelinePhase{Kind::kDecode, 0.02, 0.5, 0, 1}));
}

TEST(TimelineTest, TokensBelongToTheDecodeBeforeThem) {
  Timeline line;
  line.AddToken();
  EXPECT_TRUE(line.phases().empty());
  line.Prefill(0, 1, 3);
  line.AddToken();
  line.Decode(1, 2);
  line.AddToken();
  line.AddToken();
  line.Preempt();
  line.End(3);
  line.AddToken();
  EXPECT_THAT(line.phases(),
              ElementsAre(TimelinePhase{Kind::kQueued, 0, 0, 0, 0}, TimelinePhase{Kind::kPrefill, 0, 1, 3, 1},
                          TimelinePhase{Kind::kDecode, 1, 2, 2, 1}, TimelinePhase{Kind::kPreempted, 2, 3, 0, 0}));
}

TEST(TimelineTest, BehindThe64thPhaseEachKindHasOneMore) {
  Timeline line;
  line.Prefill(0, 1, 1);
  for (int i = 1; i < 63; ++i) line.Prefill(i, i + 1, 1);
  ASSERT_EQ(line.phases().size(), 64u);
  line.Prefill(63, 64, 5);  // joins the last one
  EXPECT_EQ(line.phases().size(), 64u);
  EXPECT_EQ(line.phases().back(), (TimelinePhase{Kind::kPrefill, 62, 64, 6, 2}));
  line.Decode(70, 71);  // the gap before it is left out
  line.Prefill(71, 72, 7);
  line.Decode(72, 73);
  EXPECT_EQ(line.phases().size(), 65u);
  EXPECT_EQ(line.phases()[63], (TimelinePhase{Kind::kPrefill, 62, 72, 13, 3}));
  EXPECT_EQ(line.phases()[64], (TimelinePhase{Kind::kDecode, 70, 73, 0, 2}));
}

TEST(TimelineTest, AVeryLongPromptIsBounded) {
  Timeline line;
  for (int i = 0; i < 10'000; ++i) {
    if (i % 3 == 0) line.Preempt();
    line.Prefill(i, i + 0.5, 1);
    line.Decode(i + 0.5, i + 0.6);
  }
  line.End(10'000);
  EXPECT_LE(line.phases().size(), Timeline::kMostPhases + 5);
  int32_t tokens = 0;
  for (const TimelinePhase& phase : line.phases()) tokens += phase.kind == Kind::kPrefill ? phase.tokens : 0;
  EXPECT_EQ(tokens, 10'000) << "nothing is lost, only joined";
}

TEST(TimelineTest, ASchedulerRecordsWhatItDid) {
  SchedulerDriver driver(Says(Bytes("answer")), {.step_tokens = 8});
  driver.tick = std::chrono::milliseconds(1);
  const auto received = driver.Generate({.prompt = Bytes("a question of twenty")});
  ASSERT_TRUE(received.done());
  const auto& phases = received.finish->phases;
  EXPECT_THAT(KindsOf(phases),
              ElementsAre(Kind::kQueued, Kind::kPrefill, Kind::kPrefill, Kind::kPrefill, Kind::kDecode));
  EXPECT_EQ(phases[1].tokens, 8);
  EXPECT_EQ(phases[3].tokens, 4);
  EXPECT_EQ(phases[4].tokens, 6) << "a letter came with the prompt; five more and the end";
}

TEST(TimelineTest, APreemptionIsSeen) {
  SchedulerDriver driver(Babble, {.blocks = 14, .block_size = 4, .max_sequences = 6, .context = 56});
  driver.tick = std::chrono::milliseconds(1);
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (int i = 0; i < 6; ++i)
    streams.push_back(driver.Submit({.prompt = Bytes(fmt::format("p{}", i)), .max_tokens = 30}));
  driver.Drain();
  ASSERT_GT(driver.core.stats().preemptions, 0);
  int preempted = 0;
  for (const auto& stream : streams) {
    Received received;
    Read(*stream, received);
    for (const Kind kind : KindsOf(received.finish->phases)) preempted += kind == Kind::kPreempted;
  }
  EXPECT_GT(preempted, 0);
}

TEST(RequestHistoryTest, TheLastOnesAreKept) {
  RequestHistory history;
  for (int i = 0; i < 300; ++i) history.Add({.request_id = fmt::format("r{}", i)});
  EXPECT_EQ(history.All().size(), RequestHistory::kMostRequests);
  EXPECT_EQ(history.All().front().request_id, "r299");
  EXPECT_TRUE(history.Find("r0").empty());
  EXPECT_EQ(history.Find("r299").size(), 1u);
}

TEST(RequestHistoryTest, OneIdDoesNotPushOutTheOthers) {
  RequestHistory history;
  history.Add({.request_id = "small"});
  for (int i = 0; i < 2048; ++i) history.Add({.request_id = "texts to embed"});
  EXPECT_EQ(history.Find("texts to embed").size(), RequestHistory::kMostOfOneId);
  EXPECT_EQ(history.Find("small").size(), 1u);
}

}  // namespace
}  // namespace inferflux::scheduler
