#include "text/grammar/automaton/pushdown.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

namespace inferflux::text {
namespace {

uint64_t Mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL;
  return hash ^ (hash >> 32);
}

}  // namespace

tl::unexpected<Error> TooAmbiguous() {
  return Fail(ErrorCode::kInvalidArgument,
              "the grammar is too ambiguous: there are more than {} ways to read the text up to here",
              Pushdown::kMaxWays);
}

size_t Pushdown::FrameHash::operator()(const Frame& frame) const {
  return Mix(Mix(Mix(0, frame.state), frame.count), frame.below);
}

size_t Pushdown::KeyHash::operator()(const std::vector<uint32_t>& key) const {
  uint64_t hash = key.size();
  for (const uint32_t value : key) hash = Mix(hash, value);
  return hash;
}

Pushdown::Pushdown(std::shared_ptr<const CompiledGrammar> grammar)
    : grammar_(std::move(grammar)), byte_classes_(grammar_->byte_classes()) {
  frames_.emplace_back();  // kBottom
  Intern();                // kDead: no stack at all
  configs_.emplace_back();
  next_.insert(next_.end(), byte_classes_, kTooMany);
}

StackId Pushdown::Push(const Frame& frame) {
  const auto [found, is_new] = frame_ids_.try_emplace(frame, static_cast<StackId>(frames_.size()));
  if (is_new) frames_.push_back(frame);
  return found->second;
}

ConfigId Pushdown::Open(StackId top) {
  arrived_.clear();
  can_end_ = false;
  if (top == kBottom) {
    can_end_ = true;
  } else {
    Arrive(top);
  }
  return Intern();
}

ConfigId Pushdown::Compute(ConfigId from, uint8_t byte_class) {
  arrived_.clear();
  can_end_ = false;
  const Range ready = configs_[from].ready;
  for (uint32_t i = 0; i < ready.count && !too_many_; ++i) {
    const Frame frame = frames_[stacks_[ready.first + i]];
    const State to = grammar_->Next(frame.state, byte_class);
    if (to != CompiledGrammar::kNoState) Arrive(Push({.state = to, .count = 0, .below = frame.below}));
  }
  const ConfigId to = Intern();
  next_[size_t{from} * byte_classes_ + byte_class] = to;
  return to;
}

// Where a rule may end, its caller has also been read up to here.
void Pushdown::Arrive(StackId top) {
  while (true) {
    if (top == kBottom) {
      can_end_ = true;
      return;
    }
    const Frame& frame = frames_[top];
    const bool last = grammar_->IsLast(frame.state);
    if (!last && !Add(arrived_, top)) return;
    if (!MayEnd(frame)) return;
    top = frame.below;
  }
}

bool Pushdown::MayEnd(const Frame& frame) const {
  const auto* counter = grammar_->CounterOf(frame.state);
  return counter != nullptr ? frame.count >= counter->min : grammar_->IsFinal(frame.state);
}

// False if it is there already.
bool Pushdown::Add(std::vector<StackId>& set, StackId stack) {
  if (std::ranges::find(set, stack) != set.end()) return false;
  if (set.size() == kMaxWays) {
    too_many_ = true;
    return false;
  }
  set.push_back(stack);
  return true;
}

// Among stacks that differ only in one count, and have all reached the minimum, the one with the most repetitions left
// can continue like all others.
void Pushdown::DropNeedless() {
  struct Counted {
    std::array<uint32_t, 3> alike;  // the stack without its count
    uint32_t count = 0;
  };
  const auto look = [&](StackId stack) -> std::optional<Counted> {
    const Frame& top = frames_[stack];
    const bool counts = grammar_->CounterOf(top.state) != nullptr;
    const Frame& counting = counts ? top : frames_[top.below];
    const auto* counter = counts || top.below != kBottom ? grammar_->CounterOf(counting.state) : nullptr;
    if (counter == nullptr || counting.count < counter->min) return std::nullopt;
    return Counted{{counts ? CompiledGrammar::kNoState : top.state, counting.state, counting.below}, counting.count};
  };
  std::map<std::array<uint32_t, 3>, uint32_t> least;
  for (const StackId stack : arrived_) {
    const auto counted = look(stack);
    if (!counted) continue;
    const auto found = least.try_emplace(counted->alike, counted->count).first;
    found->second = std::min(found->second, counted->count);
  }
  if (least.empty()) return;
  std::erase_if(arrived_, [&](StackId stack) {
    const auto counted = look(stack);
    return counted && counted->count > least.at(counted->alike);
  });
}

ConfigId Pushdown::Intern() {
  if (std::exchange(too_many_, false)) return kTooMany;
  if (arrived_.size() > 1) DropNeedless();
  std::ranges::sort(arrived_);
  std::vector<uint32_t> key = arrived_;
  key.push_back(can_end_ ? 1 : 0);
  const auto [found, is_new] = config_ids_.try_emplace(std::move(key), static_cast<ConfigId>(configs_.size()));
  if (!is_new) return found->second;
  Config config{.arrived = {static_cast<uint32_t>(stacks_.size()), static_cast<uint32_t>(arrived_.size())},
                .ready = {},
                .can_end = can_end_};
  stacks_.insert(stacks_.end(), arrived_.begin(), arrived_.end());
  config.ready = Expand();
  if (std::exchange(too_many_, false)) return found->second = kTooMany;
  configs_.push_back(config);
  next_.insert(next_.end(), byte_classes_, kUnknown);
  return found->second;
}

// Enters every rule that is called here. This terminates, because no rule begins with itself.
Pushdown::Range Pushdown::Expand() {
  entered_ = arrived_;
  for (size_t i = 0; i < entered_.size() && !too_many_; ++i) {
    const Frame frame = frames_[entered_[i]];
    if (const auto* counter = grammar_->CounterOf(frame.state)) {
      if (frame.count >= counter->max) continue;
      // If there is no maximum, it stops counting at the minimum.
      const uint32_t count = counter->max == kUnbounded ? std::min(frame.count + 1, counter->min) : frame.count + 1;
      const StackId then =
          count == counter->max ? frame.below : Push({.state = frame.state, .count = count, .below = frame.below});
      Add(entered_, Push({.state = counter->body, .count = 0, .below = then}));
    }
    for (const auto& call : grammar_->Calls(frame.state)) {
      // A rule that ends with the call is not kept on the stack, so a list written as a recursion needs no depth.
      const StackId then =
          grammar_->IsLast(call.then) ? frame.below : Push({.state = call.then, .count = 0, .below = frame.below});
      Add(entered_, Push({.state = call.start, .count = 0, .below = then}));
    }
  }
  const auto first = static_cast<uint32_t>(stacks_.size());
  for (const StackId stack : entered_) {
    if (grammar_->TakesBytes(frames_[stack].state)) stacks_.push_back(stack);
  }
  return {first, static_cast<uint32_t>(stacks_.size()) - first};
}

ConfigId Pushdown::Copy(const Pushdown& other, ConfigId config) {
  std::unordered_map<StackId, StackId> copies = {{kBottom, kBottom}};
  const auto copy = [&](StackId stack) {
    std::vector<StackId> path;
    for (; !copies.contains(stack); stack = other.frames_[stack].below) path.push_back(stack);
    StackId below = copies.at(stack);
    for (; !path.empty(); path.pop_back()) {
      Frame frame = other.frames_[path.back()];
      frame.below = below;
      below = copies[path.back()] = Push(frame);
    }
    return below;
  };
  arrived_.clear();
  for (const StackId stack : other.Arrived(config)) arrived_.push_back(copy(stack));
  can_end_ = other.CanEnd(config);
  return Intern();
}

}  // namespace inferflux::text
