// Whole runs, step by step: which rows of which sequence each step has, where it samples, and what the clients get.
#include <gtest/gtest.h>

#include "scheduler/scheduler_driver.h"

namespace inferflux::scheduler {
namespace {

using namespace std::chrono_literals;

// A driver that writes down its steps: for each item its slot, the position of its first token and the number of its
// tokens, then each output: the token that it follows, and the number of the draw.
struct TracedDriver : SchedulerDriver {
  explicit TracedDriver(FakeEngine::Model model, const FakeEngineOptions& options = {}, const StepPolicy& policy = {})
      : SchedulerDriver(std::move(model), options, policy) {
    engine.on_step = [this](const engine::UnifiedBatch& batch) {
      for (const auto& item : batch.items) {
        trace += fmt::format("s{} {}+{}", item.sequence.slot, item.first_position, item.tokens.size());
        for (const auto& output : item.outputs) {
          trace += fmt::format(" {}{}:{}", output.kind == engine::OutputSpec::Kind::kSample ? "" : "p",
                               output.token_index, output.draw);
        }
        trace += &item == &batch.items.back() ? "\n" : "; ";
      }
      now += 10ms * static_cast<int64_t>(batch.items.size());
    };
  }
  std::string trace;
};

std::string Summary(TokenStream& stream) {
  Received received;
  Read(stream, received);
  if (!received.done()) return "open";
  const Usage& usage = received.finish->usage;
  std::string out =
      fmt::format("'{}' {} tokens, reason {}, prompt {} generated {} cached {} drafted {} accepted {}:", received.text,
                  received.tokens.size(), static_cast<int>(received.finish->reason), usage.prompt_tokens,
                  usage.completion_tokens, usage.cached_tokens, usage.drafted_tokens, usage.accepted_tokens);
  for (const auto& phase : received.finish->phases) {
    out += fmt::format(" {}[{:.2f} {:.2f} {} {}]", "qpdwx"[static_cast<int>(phase.kind)], phase.begin, phase.end,
                       phase.tokens, phase.steps);
  }
  return out + '\n';
}

TEST(StepTrace, PromptsAreCutToWhatIsLeftOfAStep) {
  TracedDriver driver(Babble, {.step_tokens = 8});
  const auto first = driver.Submit({.prompt = Bytes("a first prompt of 27 tokens"), .max_tokens = 5});
  const auto second = driver.Submit({.prompt = Bytes("another"), .max_tokens = 4});
  GenerationRequest urgent{.prompt = Bytes("urgent"), .max_tokens = 3, .priority = 1};
  driver.core.Step();
  const auto third = driver.Submit(urgent);
  driver.Drain();
  EXPECT_EQ(driver.trace,
            "s0 0+8\n"
            "s0 8+8\n"
            "s0 16+8\n"
            "s0 24+3 2:0; s1 0+5\n"
            "s0 27+1 0:1; s1 5+1 0:0; s2 1+6 5:0\n"
            "s1 6+1 0:1; s0 28+1 0:2; s2 7+1 0:1\n"
            "s1 7+1 0:2; s0 29+1 0:3; s2 8+1 0:2\n"
            "s0 30+1 0:4; s2 9+1 0:3\n");
  EXPECT_EQ(Summary(*first) + Summary(*second) + Summary(*third),
            "'stqca' 5 tokens, reason 1, prompt 27 generated 5 cached 0 drafted 0 accepted 0: q[0.00 0.00 0 0] p[0.00 "
            "0.01 8 1] p[0.01 0.02 8 1] p[0.02 0.03 8 1] p[0.03 0.05 3 1] d[0.05 0.16 4 4]\n"
            "'dnib' 4 tokens, reason 1, prompt 7 generated 4 cached 1 drafted 0 accepted 0: q[0.00 0.05 0 0] p[0.05 "
            "0.08 6 1] d[0.08 0.16 3 3]\n"
            "'pxd' 3 tokens, reason 1, prompt 6 generated 3 cached 0 drafted 0 accepted 0: q[0.00 0.02 0 0] p[0.02 "
            "0.04 5 1] p[0.04 0.07 1 1] d[0.07 0.13 2 2]\n");
}

TEST(StepTrace, DraftsFollowTheLastToken) {
  const auto echo = [](FakeEngine::History history, const engine::OutputSpec& spec) {
    const auto prompt = static_cast<size_t>(spec.prompt_tokens);
    const TokenId token = history[(history.size() - prompt) % prompt];
    return history.size() == 24 ? TokenId{'!'} : token;  // once it is another one
  };
  TracedDriver driver(echo, {}, {.speculation = {.kind = Speculation::Kind::kPromptLookup, .max_tokens = 3}});
  driver.Generate({.prompt = Bytes("ab"), .max_tokens = 2});  // steps of two sizes, so that their cost is known
  driver.trace.clear();
  const auto stream = driver.Submit({.prompt = Bytes("one two three. "), .max_tokens = 16});
  driver.Drain();
  EXPECT_EQ(driver.trace,
            "s0 0+15 14:0\n"
            "s0 15+1 0:1\n"
            "s0 16+4 0:2 1:3 2:4 3:5\n"
            "s0 20+4 0:6 1:7 2:8 3:9\n"
            "s0 24+1 0:10\n"
            "s0 25+1 0:11\n"
            "s0 26+4 0:12 1:13 2:14 3:15\n");
  EXPECT_EQ(Summary(*stream),
            "'one two t!ree. o' 16 tokens, reason 1, prompt 15 generated 16 cached 0 drafted 9 accepted 9: q[0.00 0.00 "
            "0 0] p[0.00 0.01 15 1] d[0.01 0.07 15 6]\n");
  EXPECT_EQ(driver.engine.usage().blocks_used, 0);
}

TEST(StepTrace, WhatLosesItsMemoryIsComputedAgain) {
  TracedDriver driver(Babble, {.blocks = 8, .block_size = 4, .max_sequences = 3, .context = 32});
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (const char* prompt : {"first p", "second prompt", "third"}) {
    streams.push_back(driver.Submit({.prompt = Bytes(prompt), .max_tokens = 12}));
  }
  driver.Drain();
  EXPECT_EQ(driver.trace,
            "s0 0+7 6:0; s1 0+13 12:0\n"
            "s0 7+1 0:1; s1 13+1 0:1\n"
            "s0 8+1 0:2; s1 14+1 0:2\n"
            "s0 9+1 0:3; s1 15+1 0:3\n"
            "s0 10+1 0:4; s1 16+1 0:4\n"
            "s0 11+1 0:5; s1 17+1 0:5\n"
            "s0 12+1 0:6\n"
            "s0 13+1 0:7\n"
            "s0 14+1 0:8\n"
            "s0 15+1 0:9\n"
            "s0 16+1 0:10\n"
            "s0 17+1 0:11\n"
            "s0 12+7 6:6; s1 0+5 4:0\n"
            "s0 19+1 0:7; s1 5+1 0:1\n"
            "s0 20+1 0:8; s1 6+1 0:2\n"
            "s0 21+1 0:9; s1 7+1 0:3\n"
            "s0 22+1 0:10\n"
            "s0 23+1 0:11\n"
            "s0 8+1 0:4\n"
            "s0 9+1 0:5\n"
            "s0 10+1 0:6\n"
            "s0 11+1 0:7\n"
            "s0 12+1 0:8\n"
            "s0 13+1 0:9\n"
            "s0 14+1 0:10\n"
            "s0 15+1 0:11\n");
  std::string summaries;
  for (const auto& stream : streams) summaries += Summary(*stream);
  EXPECT_EQ(summaries,
            "'zbljrynugtuc' 12 tokens, reason 1, prompt 7 generated 12 cached 0 drafted 0 accepted 0: q[0.00 0.00 0 0] "
            "p[0.00 0.02 7 1] d[0.02 0.18 11 11]\n"
            "'tbsyzsvzpoke' 12 tokens, reason 1, prompt 13 generated 12 cached 0 drafted 0 accepted 0: q[0.00 0.00 0 "
            "0] p[0.00 0.02 13 1] d[0.02 0.12 5 5] x[0.12 0.18 0 0] p[0.18 0.20 7 1] d[0.20 0.28 5 5]\n"
            "'cmaoaguwijgc' 12 tokens, reason 1, prompt 5 generated 12 cached 0 drafted 0 accepted 0: q[0.00 0.18 0 0] "
            "p[0.18 0.20 5 1] d[0.20 0.26 3 3] x[0.26 0.28 0 0] d[0.28 0.36 8 8]\n");
  EXPECT_EQ(driver.core.stats().preemptions, 2);
}

TEST(StepTrace, LogprobsOfAPromptComeWithItsRows) {
  TracedDriver driver(Says(Bytes("ok")), {.step_tokens = 6});
  const auto stream = driver.Submit({.prompt = Bytes("a prompt"), .max_tokens = 3, .prompt_logprobs = 2});
  driver.Drain();
  EXPECT_EQ(driver.trace,
            "s0 0+6 p0:0 p1:0 p2:0 p3:0 p4:0 p5:0\n"
            "s0 6+2 p0:0 1:0\n"
            "s0 8+1 0:1\n"
            "s0 9+1 0:2\n");
  EXPECT_EQ(Summary(*stream),
            "'ok' 2 tokens, reason 0, prompt 8 generated 3 cached 0 drafted 0 accepted 0: q[0.00 0.00 0 0] p[0.00 0.01 "
            "6 1] p[0.01 0.02 2 1] d[0.02 0.04 2 2]\n");
}

}  // namespace
}  // namespace inferflux::scheduler
