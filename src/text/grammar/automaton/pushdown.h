// Runs a CompiledGrammar: keeps all parses of the text so far side by side, each as a stack of the rules that it is in.
// Stacks are lists with shared tails, and configurations (sets of stacks) are numbered. So a position in a text is one
// number, and a transition by a byte is looked up once it has been computed: a lazily determinised automaton.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "text/grammar/automaton/compiled_grammar.h"

namespace inferflux::text {

using ConfigId = uint32_t;
using StackId = uint32_t;

// The error for a text with too many parses.
tl::unexpected<Error> TooAmbiguous();

// Grows as it is used; for one thread.
class Pushdown {
 public:
  using State = CompiledGrammar::State;

  static constexpr ConfigId kDead = 0;     // nothing can follow, and the text is not complete
  static constexpr ConfigId kTooMany = 1;  // the text has more than kMaxWays parses
  static constexpr StackId kBottom = 0;    // below the last rule
  // Parses of one text.
  static constexpr size_t kMaxWays = 512;

  struct Frame {
    State state = 0;
    uint32_t count = 0;  // in a counter's state: how often its body was read
    StackId below = kBottom;
    friend bool operator==(const Frame&, const Frame&) = default;
  };

  explicit Pushdown(std::shared_ptr<const CompiledGrammar> grammar);

  // The beginning of a text.
  ConfigId Start() { return Open(Push({.state = grammar_->root(), .count = 0, .below = kBottom})); }
  // A configuration with only this stack, and the continuations of its end.
  ConfigId Open(StackId top);
  StackId Push(const Frame& frame);

  ConfigId Next(ConfigId from, uint8_t byte) {
    const size_t at = size_t{from} * byte_classes_ + grammar_->ClassOf(byte);
    return next_[at] != kUnknown ? next_[at] : Compute(from, grammar_->ClassOf(byte));
  }

  bool CanEnd(ConfigId config) const { return configs_[config].can_end; }
  // Whether any byte can follow.
  bool CanGoOn(ConfigId config) const { return configs_[config].ready.count > 0; }
  // The stacks that have been read up to here, without those of rules that may begin now.
  std::span<const StackId> Arrived(ConfigId config) const { return Stacks(configs_[config].arrived); }
  const Frame& frame(StackId stack) const { return frames_[stack]; }

  // The same position in another run of the same grammar.
  ConfigId Copy(const Pushdown& other, ConfigId config);

  size_t configs() const { return configs_.size(); }
  size_t frames() const { return frames_.size(); }

 private:
  static constexpr ConfigId kUnknown = ~ConfigId{0};

  struct Range {
    uint32_t first = 0;
    uint32_t count = 0;
  };
  struct Config {
    Range arrived;
    Range ready;  // the stacks whose top state reads bytes: these and the rules that they call
    bool can_end = false;
  };
  struct FrameHash {
    size_t operator()(const Frame& frame) const;
  };
  struct KeyHash {
    size_t operator()(const std::vector<uint32_t>& key) const;
  };

  std::span<const StackId> Stacks(Range range) const { return std::span(stacks_).subspan(range.first, range.count); }
  ConfigId Compute(ConfigId from, uint8_t byte_class);
  void Arrive(StackId top);
  ConfigId Intern();
  Range Expand();
  bool MayEnd(const Frame& frame) const;
  void DropNeedless();
  bool Add(std::vector<StackId>& set, StackId stack);

  std::shared_ptr<const CompiledGrammar> grammar_;
  uint32_t byte_classes_;
  std::vector<Frame> frames_;
  std::unordered_map<Frame, StackId, FrameHash> frame_ids_;
  std::vector<Config> configs_;
  std::unordered_map<std::vector<uint32_t>, ConfigId, KeyHash> config_ids_;  // by can_end and the stacks that have
                                                                             // arrived
  std::vector<StackId> stacks_;                                              // of all configurations
  std::vector<ConfigId> next_;                                               // [config][byte class]

  // For the configuration under construction.
  std::vector<StackId> arrived_;
  std::vector<StackId> entered_;
  bool can_end_ = false;
  bool too_many_ = false;
};

}  // namespace inferflux::text
