#include "text/grammar/tokens/plain_run.h"

#include <algorithm>
#include <array>
#include <utility>

#include "text/grammar/code_ranges.h"
#include "text/grammar/json_schema/quoted_text.h"

namespace inferflux::text {
namespace {

constexpr size_t kMaxLookedAt = 512;  // that one position may lead to; beyond them, fewer characters are promised

}  // namespace

PlainRuns::PlainRuns(const CompiledGrammar& grammar) : grammar_(grammar) {
  ForEachUtf8(PlainWithin('"'), [&](std::span<const ByteRange> bytes) {
    auto& form = forms_.emplace_back();
    for (const ByteRange range : bytes) {
      const uint8_t first = grammar_.ClassOf(range.first), last = grammar_.ClassOf(range.last);
      auto& classes = form.emplace_back();
      for (unsigned each = first; each <= last; ++each) classes.push_back(static_cast<uint8_t>(each));
    }
  });
}

PlainRuns::Step PlainRuns::After(State state) const {
  Step step = WithoutCalls(state);
  for (const auto& call : grammar_.Calls(state)) {
    if (!ReadsAnyOne(call.start)) continue;
    step.every = true;
    if (std::ranges::find(step.to, call.then) == step.to.end()) step.to.push_back(call.then);
  }
  return step;
}

// Whether a rule reads any plain character from here, and ends behind it.
bool PlainRuns::ReadsAnyOne(State start) const {
  const Step step = WithoutCalls(start);
  return step.every && std::ranges::all_of(step.to, [&](State to) { return grammar_.IsLast(to); });
}

PlainRuns::Step PlainRuns::WithoutCalls(State state) const {
  Step step;
  std::vector<State> at, next;
  for (const auto& form : forms_) {
    at = {state};
    for (const auto& classes : form) {
      next.clear();
      for (const State from : at) {
        for (const uint8_t byte_class : classes) {
          const State to = grammar_.Next(from, byte_class);
          if (to == CompiledGrammar::kNoState) {
            step.every = false;
          } else if (std::ranges::find(next, to) == next.end()) {
            next.push_back(to);
          }
        }
      }
      std::swap(at, next);
    }
    for (const State to : at) {
      if (std::ranges::find(step.to, to) == step.to.end()) step.to.push_back(to);
    }
  }
  return step;
}

PlainRun PlainRuns::Of(std::span<const Pushdown::Frame> frames, uint32_t limit) const {
  if (frames.empty()) return {};
  if (grammar_.CounterOf(frames[0].state) != nullptr) return OfCounter(frames);
  if (BeginsCounter(frames[0].state)) {
    const auto& call = grammar_.Calls(frames[0].state)[0];
    return OfCounter(std::array{Pushdown::Frame{.state = call.start}, Pushdown::Frame{.state = call.then}});
  }
  // States by the number of characters that lead there, level by level.
  PlainRun run{.least = 0, .most = kUnbounded};
  bool every = true, bounded = true;  // whether `least` still grows, and whether `most` may be known
  std::vector<State> level = {frames[0].state}, next;
  std::vector<State> seen = level;
  for (uint32_t characters = 0; characters <= limit && (every || bounded); ++characters) {
    if (level.empty()) {
      if (every) run.least = kUnbounded;  // all states have been seen
      if (bounded) run.most = characters == 0 ? 0 : characters - 1;
      return run;
    }
    next.clear();
    for (const State state : level) {
      bounded = bounded && !grammar_.IsFinal(state) && grammar_.Calls(state).empty();
      every = every && !grammar_.IsFinal(state);
      Step step = After(state);
      every = every && step.every;
      for (const State to : step.to) {
        if (std::ranges::find(seen, to) != seen.end()) {
          bounded = bounded && std::ranges::find(next, to) != next.end();
          continue;
        }
        if (seen.size() == kMaxLookedAt) return run;
        seen.push_back(to);
        next.push_back(to);
      }
    }
    if (every) run.least = characters + 1;
    std::swap(level, next);
  }
  if (every) run.least = kUnbounded;
  return run;
}

// Whether plain characters are read by a counted repetition only that begins here, as behind the quotation mark of a
// string with a length.
bool PlainRuns::BeginsCounter(State state) const {
  const auto calls = grammar_.Calls(state);
  return calls.size() == 1 && grammar_.CounterOf(calls[0].start) != nullptr && !grammar_.IsFinal(state) &&
         After(state).to.empty();
}

// A counted repetition of single characters, such as the content of a string with a length.
PlainRun PlainRuns::OfCounter(std::span<const Pushdown::Frame> frames) const {
  const auto* counter = grammar_.CounterOf(frames[0].state);
  if (frames.size() < 2) return {};
  const State below = frames[1].state;
  // The rule below continues after the repetition. It must not end there too: `least` promises that.
  const bool below_is_plain = grammar_.CounterOf(below) == nullptr && !grammar_.IsFinal(below);
  if (!ReadsAnyOne(counter->body) || !below_is_plain) return {};
  if (counter->max == kUnbounded) return {.least = kUnbounded, .most = kUnbounded};
  const uint32_t left = counter->max - std::min(counter->max, frames[0].count);
  const bool ends_there =
      grammar_.Calls(below).empty() && After(below).to.empty() && grammar_.Calls(counter->body).empty();
  return {.least = left, .most = ends_there ? left : kUnbounded};
}

}  // namespace inferflux::text
