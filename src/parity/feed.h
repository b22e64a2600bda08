// Small steps on an engine, for comparing engines.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"

namespace inferflux::parity {

// A sequence that closes itself.
class OwnSequence {
 public:
  OwnSequence(engine::Engine& engine, engine::SequenceId id) : engine_(&engine), id_(id) {}
  ~OwnSequence() { Close(); }
  OwnSequence(OwnSequence&& other) noexcept : engine_(other.engine_), id_(other.id_) { other.engine_ = nullptr; }
  OwnSequence& operator=(OwnSequence&&) = delete;

  engine::SequenceId id() const { return id_; }
  void Close() {
    if (engine_ != nullptr) static_cast<void>(engine_->Close(id_));
    engine_ = nullptr;
  }

 private:
  engine::Engine* engine_;
  engine::SequenceId id_;
};

// An empty sequence, which does not look for cached prefixes.
Result<OwnSequence> OpenEmpty(engine::Engine& engine, uint64_t salt = 0);

// Appends `tokens` to the sequence, with an output of this kind after each of them.
engine::BatchItem ItemOf(engine::SequenceId sequence, std::span<const TokenId> tokens, int32_t first_position);

// Reserves room for every item and runs the step.
Result<engine::StepResult> RunStep(engine::Engine& engine, const std::vector<engine::BatchItem>& items);

// Appends `tokens` to the sequence, `chunk` at a time, and returns the logits after each.
Result<std::vector<std::vector<float>>> Feed(engine::Engine& engine, engine::SequenceId sequence,
                                             std::span<const TokenId> tokens, size_t chunk);

}  // namespace inferflux::parity
