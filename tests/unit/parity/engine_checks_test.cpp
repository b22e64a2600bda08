// Each check of an engine's own calls: what it does, what it says of an engine that is right, and what of one that is
// wrong in one way.
#include <gtest/gtest.h>

#include <cmath>

#include "parity/check_list.h"
#include "parity/compare.h"
#include "parity/toy_engine.h"

namespace inferflux::parity {
namespace {

using engine::OutputResult;
using engine::SequenceId;

template <class Engine>
std::string Check(Finding (*check)(engine::Engine&, const Oracle&, const Bounds&)) {
  Engine engine;
  return Said(check(engine, ToyOracle(), FloatBounds()));
}

std::string Times(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

TEST(EngineChecks, AreInThisOrder) {
  std::string names;
  for (const EngineCheck& check : EngineChecks()) names += fmt::format("{}, ", check.name);
  for (const GenerationCheck& check : GenerationChecks()) names += fmt::format("{}, ", check.name);
  EXPECT_EQ(
      names,
      "prefill, chunked prefill, decode, unified batch, prefix copy, fork, truncate, save and restore, refused steps, "
      "samplers, logprobs, greedy text, many at once, stop strings, length limit, cancellation, grammars, ");
}

TEST(EngineChecks, ComputeTheTextInEachWay) {
  struct Case {
    const char* name;
    std::string calls, finding;
  };
  const std::string all = "48 positions, at most 0.0e+00 off", half = "24 positions, at most 0.0e+00 off";
  const Case cases[] = {
      {"prefill", "open 0 48 close ", all},
      {"chunked prefill", "open 0 7 7 7 7 7 7 6 close ", all},
      {"decode", "open 0 " + Times("1 ", 48) + "close ", all},
      {"unified batch",
       "open 17 open 1 open 5 17+1+5 17+1+5 14+1+5 " + Times("1+5 ", 6) + "1+3 " + Times("1 ", 38) +
           "close close close ",
       "3 sequences, each " + all},
      {"prefix copy", "open 7 48 close open 8 close open 7 1 close ",
       "47 of 48 tokens found again, then 1 positions, at most 0.0e+00 off"},
      {"fork", "open 0 24 " + Times("3 ", 8) + "24 close close ", half},
      {"truncate", "open 0 24 24 cut 24 24 close ", half},
      {"save and restore", "open 0 36 close open 0 36 restore 36 12 close restore 24 24 close restore 48 close ",
       "144 bytes, then " + half},
      {"refused steps", "open 0 4 2 1 44 close ", "2 wrong steps refused, then 44 positions, at most 0.0e+00 off"},
      {"samplers", "open 0 48 close ", "8 settings"},
  };
  for (size_t i = 0; i < std::size(cases); ++i) {
    ToyEngine engine;
    const EngineCheck& check = EngineChecks()[i];
    EXPECT_EQ(check.name, cases[i].name);
    EXPECT_EQ(Said(check.run(engine, ToyOracle(), FloatBounds())), cases[i].finding) << check.name;
    EXPECT_EQ(engine.calls, cases[i].calls) << check.name;
    EXPECT_EQ(engine.usage().blocks_used, 0) << check.name;
  }
}

// Fails its n-th call.
struct Failing : ToyEngine {
  explicit Failing(int at) : left(at) {}
  bool Now() { return left-- == 0; }
  static auto Error() { return Fail(ErrorCode::kInternal, "this call fails"); }
  Result<engine::PrefixMatch> Open(std::span<const TokenId> tokens, uint64_t salt) override {
    if (Now()) return Error();
    return ToyEngine::Open(tokens, salt);
  }
  Result<SequenceId> Fork(SequenceId id) override {
    if (Now()) return Error();
    return ToyEngine::Fork(id);
  }
  Status Reserve(SequenceId id, int32_t tokens) override {
    if (Now()) return Error();
    return ToyEngine::Reserve(id, tokens);
  }
  Status Truncate(SequenceId id, int32_t length) override {
    if (Now()) return Error();
    return ToyEngine::Truncate(id, length);
  }
  Result<SequenceId> Restore(std::span<const TokenId> tokens, uint64_t salt,
                             std::span<const std::byte> saved) override {
    if (Now()) return Error();
    return ToyEngine::Restore(tokens, salt, saved);
  }
  Result<engine::StepResult> ExecuteUnifiedBatch(const engine::UnifiedBatch& batch) override {
    if (Now()) return Error();
    return ToyEngine::ExecuteUnifiedBatch(batch);
  }
  int left;
};

TEST(EngineChecks, AnyCallThatFailsIsTheFinding) {
  for (const EngineCheck& check : EngineChecks()) {
    int expected_failures = 0;  // those that the check wants
    for (int at = 0;; ++at) {
      Failing engine(at);
      const Finding finding = check.run(engine, ToyOracle(), FloatBounds());
      if (engine.left >= 0) break;  // it makes no more calls
      if (finding) {
        ++expected_failures;
      } else {
        EXPECT_EQ(finding.error().message, "this call fails") << check.name << ", call " << at;
      }
      EXPECT_EQ(engine.usage().blocks_used, 0) << check.name << ", call " << at;
    }
    const int wanted = check.name == "refused steps" ? 4 : check.name == "save and restore" ? 1 : 0;
    EXPECT_EQ(expected_failures, wanted) << check.name;
  }
}

TEST(EngineChecks, OnePositionThatDiffersIsNamed) {
  struct Scales : ToyEngine {
    void Change(size_t length, size_t, OutputResult& output) override {
      if (length == 48) {
        for (float& logit : output.logits) logit *= 1.5f;
      }
    }
  };
  for (const EngineCheck& check : EngineChecks().first(9)) {
    EXPECT_EQ(Check<Scales>(check.run), "error: at position 47 the logits are 5.00e-01 off, and 3e-02 is allowed")
        << check.name;
  }
}

TEST(EngineChecks, APrefixBelongsToItsSaltAndMostOfItIsFound) {
  struct SaltBlind : ToyEngine {
    Result<engine::PrefixMatch> Open(std::span<const TokenId> tokens, uint64_t) override {
      return ToyEngine::Open(tokens, 0);
    }
  };
  EXPECT_EQ(Check<SaltBlind>(CheckPrefixCopy), "error: another salt was given 47 cached tokens");
  struct FindsHalf : ToyEngine {
    Result<engine::PrefixMatch> Open(std::span<const TokenId> tokens, uint64_t salt) override {
      return ToyEngine::Open(tokens.first(std::min<size_t>(tokens.size(), 25)), salt);
    }
  };
  EXPECT_EQ(Check<FindsHalf>(CheckPrefixCopy), "24 of 48 tokens found again, then 24 positions, at most 0.0e+00 off");
  struct FindsLess : ToyEngine {
    Result<engine::PrefixMatch> Open(std::span<const TokenId> tokens, uint64_t salt) override {
      return ToyEngine::Open(tokens.first(std::min<size_t>(tokens.size(), 24)), salt);
    }
  };
  EXPECT_EQ(Check<FindsLess>(CheckPrefixCopy), "error: of 48 tokens that were just computed, 23 were found again");
}

TEST(EngineChecks, AForkThatSharesWhatIsWrittenIsSeen) {
  struct Shares : ToyEngine {
    Result<SequenceId> Fork(SequenceId id) override { return id; }
  };
  EXPECT_NE(Check<Shares>(CheckFork).find("error: 24 rows of logits from position 24"), 0u);
  EXPECT_EQ(Check<Shares>(CheckFork).find("error: at position 24 the logits are "), 0u) << Check<Shares>(CheckFork);
}

TEST(EngineChecks, AnEngineThatCannotCutComputesAgain) {
  struct CannotCut : ToyEngine {
    Status Truncate(SequenceId, int32_t) override { return Fail(ErrorCode::kUnsupported, "no"); }
  };
  EXPECT_EQ(Check<CannotCut>(CheckTruncate), "refused, computed again: 48 positions, at most 0.0e+00 off");
  struct KeepsTheTail : ToyEngine {
    Status Truncate(SequenceId, int32_t) override { return {}; }
  };
  EXPECT_EQ(Check<KeepsTheTail>(CheckTruncate).find("error: at position 24 the logits are "), 0u);
}

TEST(EngineChecks, WhatAnEngineSavesItMustSayAndRestore) {
  struct SaysNothing : ToyEngine {
    SaysNothing() { info_.capabilities.kv_save_restore = false; }
  };
  EXPECT_EQ(Check<SaysNothing>(CheckSaveRestore), "error: it saves KV, but says otherwise");
  struct SavesNothing : ToyEngine {
    Result<std::vector<std::byte>> Save(SequenceId) override { return Fail(ErrorCode::kUnsupported, "no"); }
  };
  EXPECT_EQ(Check<SavesNothing>(CheckSaveRestore), "error: it does not save KV, but says otherwise");
  struct SaysSo : SavesNothing {
    SaysSo() { info_.capabilities.kv_save_restore = false; }
  };
  EXPECT_EQ(Check<SaysSo>(CheckSaveRestore), "not supported, and reported as such");
  struct SavingBreaks : SaysSo {
    Result<std::vector<std::byte>> Save(SequenceId) override { return Fail(ErrorCode::kIo, "broken"); }
  };
  EXPECT_EQ(Check<SavingBreaks>(CheckSaveRestore), "error: broken");

  struct OnlyWhole : ToyEngine {
    Result<SequenceId> Restore(std::span<const TokenId> tokens, uint64_t salt,
                               std::span<const std::byte> saved) override {
      if (tokens.size_bytes() != saved.size()) return Fail(ErrorCode::kUnsupported, "not whole");
      return ToyEngine::Restore(tokens, salt, saved);
    }
  };
  EXPECT_EQ(Check<OnlyWhole>(CheckSaveRestore), "error: not whole") << "it says that it can cut";
  struct CannotCut : OnlyWhole {
    CannotCut() { info_.capabilities.speculative_verification = false; }
  };
  EXPECT_EQ(Check<CannotCut>(CheckSaveRestore), "144 bytes, then 12 positions, at most 0.0e+00 off");
  struct RestoresNothing : CannotCut {
    Result<SequenceId> Restore(std::span<const TokenId>, uint64_t, std::span<const std::byte>) override {
      return Fail(ErrorCode::kUnsupported, "nothing");
    }
  };
  EXPECT_EQ(Check<RestoresNothing>(CheckSaveRestore), "error: nothing");
  struct TakesAnything : ToyEngine {
    Result<SequenceId> Restore(std::span<const TokenId> tokens, uint64_t salt,
                               std::span<const std::byte> saved) override {
      if (tokens.size_bytes() > saved.size()) return kv_.Open({}, 0)->sequence;
      return ToyEngine::Restore(tokens, salt, saved);
    }
  };
  EXPECT_EQ(Check<TakesAnything>(CheckSaveRestore), "error: a third of what was saved was restored");
}

TEST(EngineChecks, AThirdOfWhatWasSavedIsTriedToo) {
  struct Records : ToyEngine {
    Result<SequenceId> Restore(std::span<const TokenId> tokens, uint64_t salt,
                               std::span<const std::byte> saved) override {
      restored += fmt::format("{} tokens of {} bytes for {}, ", tokens.size(), saved.size(), salt);
      return ToyEngine::Restore(tokens, salt, saved);
    }
    std::string restored;
  } engine;
  EXPECT_EQ(Said(CheckSaveRestore(engine, ToyOracle(), FloatBounds())),
            "144 bytes, then 24 positions, at most 0.0e+00 off");
  EXPECT_EQ(engine.restored,
            "36 tokens of 144 bytes for 11, 24 tokens of 144 bytes for 11, 48 tokens of 48 bytes for 11, ");
}

TEST(EngineChecks, AWrongStepMustNotRunNorLeaveATrace) {
  struct RunsAnything : ToyEngine {
    Result<engine::StepResult> ExecuteUnifiedBatch(const engine::UnifiedBatch& batch) override {
      auto step = ToyEngine::ExecuteUnifiedBatch(batch);
      if (!step) return engine::StepResult{};
      return step;
    }
  };
  EXPECT_EQ(Check<RunsAnything>(CheckRefusals), "error: an invalid step was run");
  struct RunsAhead : ToyEngine {  // only the second is refused
    Result<engine::StepResult> ExecuteUnifiedBatch(const engine::UnifiedBatch& batch) override {
      if (batch.items[0].tokens.size() == 2) return engine::StepResult{};
      return ToyEngine::ExecuteUnifiedBatch(batch);
    }
  };
  EXPECT_EQ(Check<RunsAhead>(CheckRefusals), "error: an invalid step was run");
  struct RunsUnknown : ToyEngine {  // only the first is refused
    Result<engine::StepResult> ExecuteUnifiedBatch(const engine::UnifiedBatch& batch) override {
      if (batch.items[0].tokens[0] == info_.vocab_size) return engine::StepResult{};
      return ToyEngine::ExecuteUnifiedBatch(batch);
    }
  };
  EXPECT_EQ(Check<RunsUnknown>(CheckRefusals), "error: an invalid step was run");
  struct RefusesByPosition : ToyEngine {  // and takes the unknown token at the right place
    Result<engine::StepResult> ExecuteUnifiedBatch(const engine::UnifiedBatch& batch) override {
      const auto& item = batch.items[0];
      if (item.first_position == *Length(item.sequence) && item.tokens.size() == 1) return engine::StepResult{};
      return ToyEngine::ExecuteUnifiedBatch(batch);
    }
  };
  EXPECT_EQ(Check<RefusesByPosition>(CheckRefusals), "error: an invalid step was run");
  struct Grows : ToyEngine {
    Result<int32_t> Length(SequenceId id) const override {
      return ToyEngine::Length(id).map([](int32_t length) { return length == 4 ? 5 : length; });
    }
  };
  EXPECT_EQ(Check<Grows>(CheckRefusals), "error: a refused step changed the sequence's length");
}

}  // namespace
}  // namespace inferflux::parity
