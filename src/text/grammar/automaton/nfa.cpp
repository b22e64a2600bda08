#include "text/grammar/automaton/nfa.h"

#include <utility>

namespace inferflux::text {
namespace {

using Kind = Expression::Kind;

// A repetition with more states is counted instead of written out.
constexpr uint32_t kMostWrittenOut = 64;

}  // namespace

Result<Nfa> NfaBuilder::Build(const Expression& expression) {
  nfa_ = {};
  nfa_.end = Add(expression, NewState());
  if (overflowed_) {
    return Fail(ErrorCode::kInvalidArgument, "the grammar needs more than {} automaton states; make it smaller",
                limit_);
  }
  return std::move(nfa_);
}

uint32_t NfaBuilder::NewState() {
  if (used_ == limit_) {
    overflowed_ = true;
    return 0;
  }
  ++used_;
  nfa_.states.emplace_back();
  return static_cast<uint32_t>(nfa_.states.size() - 1);
}

uint32_t NfaBuilder::Add(const Expression& expression, uint32_t from) {
  if (overflowed_) return 0;
  switch (expression.kind) {
    case Kind::kText:
      for (const char c : expression.text) {
        const uint32_t to = NewState();
        const auto byte = static_cast<uint8_t>(c);
        nfa_.states[from].bytes.push_back({{byte, byte}, to});
        from = to;
      }
      return from;
    case Kind::kClass:
      return AddClass(expression.ranges, from);
    case Kind::kSequence:
      for (const Expr& part : expression.parts) from = Add(*part, from);
      return from;
    case Kind::kChoice: {
      const uint32_t end = NewState();
      for (const Expr& part : expression.parts) Link(Add(*part, from), end);
      return end;
    }
    case Kind::kRepeat:
      return AddRepeat(expression, from);
    case Kind::kCall:
      return AddCall(expression.rule, from);
    case Kind::kAutomaton:
      return AddAutomaton(expression, from);
  }
  return from;
}

uint32_t NfaBuilder::AddClass(const CodeRanges& set, uint32_t from) {
  const uint32_t end = NewState();
  ForEachUtf8(set, [&](std::span<const ByteRange> bytes) {
    uint32_t at = from;
    for (size_t i = 0; i < bytes.size() && !overflowed_; ++i) {
      const uint32_t to = i + 1 == bytes.size() ? end : NewState();
      nfa_.states[at].bytes.push_back({bytes[i], to});
      at = to;
    }
  });
  return end;
}

uint32_t NfaBuilder::AddAutomaton(const Expression& automaton, uint32_t from) {
  const uint32_t end = NewState();
  std::vector<uint32_t> states(automaton.finals.size());
  for (size_t i = 0; i < states.size(); ++i) {
    states[i] = NewState();
    if (automaton.finals[i]) Link(states[i], end);
  }
  if (!states.empty()) Link(from, states[0]);
  for (size_t i = 0; i < automaton.edges.size() && !overflowed_; ++i) {
    Link(Add(*automaton.parts[i], states[automaton.edges[i].from]), states[automaton.edges[i].to]);
  }
  return end;
}

uint32_t NfaBuilder::AddRepeat(const Expression& repeat, uint32_t from) {
  const Expression& part = *repeat.parts[0];
  if (repeat.max == 0) return from;
  if (!IsProductive(part, facts_.productive)) return repeat.min == 0 ? from : NewState();
  const bool loop = repeat.max == kUnbounded;
  if ((loop ? repeat.min > 1 : repeat.max > 1) && SizeOf(repeat, kMostWrittenOut + 1) > kMostWrittenOut) {
    return AddCall(Count(repeat), from);
  }
  // A part that reads nothing ends where it begins. Without a state no limit would end its loop.
  for (uint32_t i = 0; i < repeat.min; ++i) {
    const uint32_t to = Add(part, from);
    if (to == from) break;
    from = to;
  }
  if (loop) {
    const uint32_t begin = NewState();
    Link(from, begin);
    Link(Add(part, begin), begin);
    return begin;
  }
  const uint32_t end = NewState();
  Link(from, end);
  for (uint32_t i = repeat.min; i < repeat.max; ++i) {
    const uint32_t to = Add(part, from);
    if (to == from) break;
    from = to;
    Link(from, end);
  }
  return end;
}

uint32_t NfaBuilder::AddCall(RuleId rule, uint32_t from) {
  const uint32_t to = NewState();
  if (!facts_.productive[rule]) return to;  // no edge leads there
  if (facts_.inlined[rule]) {
    Link(Add(*grammar_.rules[rule].body, from), to);
    return to;
  }
  // A call reads at least one byte; the empty match is a separate path.
  nfa_.states[from].calls.push_back({rule, to});
  if (facts_.nullable[rule]) Link(from, to);
  return to;
}

RuleId NfaBuilder::Count(const Expression& repeat) {
  const auto add = [&](CountedRule rule, bool nullable, bool productive) {
    counted_.push_back(std::move(rule));
    facts_.nullable.push_back(nullable);
    facts_.productive.push_back(productive);
    facts_.inlined.push_back(false);
    return static_cast<RuleId>(grammar_.rules.size() + counted_.size() - 1);
  };
  const Expr& part = repeat.parts[0];
  const bool nullable = IsNullable(*part, facts_.nullable);
  const bool productive = IsProductive(*part, facts_.productive);
  RuleId body = part->rule;
  if (part->kind != Kind::kCall || facts_.inlined[body]) body = add({.body = part}, nullable, productive);
  // An empty body may be repeated any number of times.
  const uint32_t min = nullable ? 0 : repeat.min;
  return add({.body = nullptr, .rule = body, .min = min, .max = repeat.max}, min == 0, min == 0 || productive);
}

}  // namespace inferflux::text
