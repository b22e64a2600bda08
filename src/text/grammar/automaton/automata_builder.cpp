#include "text/grammar/automaton/automata_builder.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/work_budget/work_budget.h"
#include "text/grammar/automaton/empty_closure.h"
#include "text/grammar/automaton/subset_numbers.h"

namespace inferflux::text {
namespace {

constexpr size_t kMaxNfaStates = 200'000;
constexpr size_t kMaxPlainStates = 256;  // of a rule that is compared with others
constexpr size_t kMaxStates = 32'768;
constexpr size_t kMaxSubsets = 2'000'000;  // NFA states in all subsets together: bounds the time for a grammar

// A state's edges are copied, sorted and looked up.
uint32_t WorkOf(size_t states) { return static_cast<uint32_t>(8 * states); }

}  // namespace

Result<std::shared_ptr<const CompiledGrammar>> AutomataBuilder::Build() {
  if (!facts_.productive[grammar_.root]) {
    return Fail(ErrorCode::kInvalidArgument, "the rule '{}' never ends: every text that it begins is endless",
                NameOf(grammar_.root));
  }
  if (auto built = BuildNfas(); !built) return Forward(built);
  ChooseByteClasses();
  for (size_t i = 0; i < needed_.size(); ++i) {
    if (nfas_[i].states.empty()) {
      PlaceCounter(needed_[i]);
      continue;
    }
    auto dfa = Determinise(nfas_[i]);
    if (!dfa) return Forward(dfa);
    Trim(*dfa);
    Place(needed_[i], *dfa);
    nfas_[i] = {};
  }
  if (auto checked = CheckLeftRecursion(); !checked) return Forward(checked);
  Link();
  return std::shared_ptr<const CompiledGrammar>(std::move(out_));
}

// For all rules that the root needs.
Status AutomataBuilder::BuildNfas() {
  NfaBuilder builder(grammar_, facts_, counted_, kMaxNfaStates);
  std::vector<bool> seen(grammar_.rules.size());
  const auto need = [&](RuleId rule) {
    if (rule >= seen.size()) seen.resize(rule + 1);
    if (seen[rule]) return;
    seen[rule] = true;
    needed_.push_back(rule);
  };
  need(grammar_.root);
  for (size_t i = 0; i < needed_.size(); ++i) {
    const RuleId rule = needed_[i];
    Expr body;
    if (rule < grammar_.rules.size()) {
      body = grammar_.rules[rule].body;
    } else {
      const CountedRule& counted = counted_[rule - grammar_.rules.size()];
      body = counted.body;
      if (!body) need(counted.rule);
    }
    nfas_.emplace_back();
    if (!body) continue;
    auto nfa = builder.Build(*body);
    if (!nfa) return Forward(nfa, "the rule '" + NameOf(rule) + "'");
    for (const auto& state : nfa->states) {
      for (const auto& call : state.calls) need(call.rule);
    }
    nfas_.back() = std::move(*nfa);
  }
  start_.resize(grammar_.rules.size() + counted_.size());
  begins_with_.resize(start_.size());
  return {};
}

void AutomataBuilder::ChooseByteClasses() {
  std::array<bool, 257> begins{};
  for (const Nfa& nfa : nfas_) {
    for (const auto& state : nfa.states) {
      for (const auto& edge : state.bytes) begins[edge.bytes.first] = begins[size_t{edge.bytes.last} + 1] = true;
    }
  }
  uint32_t byte_class = 0;
  for (size_t byte = 0; byte < 256; ++byte) {
    if (byte > 0 && begins[byte]) ++byte_class;
    out_->class_of_[byte] = static_cast<uint8_t>(byte_class);
  }
  out_->byte_classes_ = byte_class + 1;
}

Result<AutomataBuilder::Dfa> AutomataBuilder::Determinise(const Nfa& nfa) {
  Dfa dfa(out_->byte_classes_);
  SubsetNumbers sets;
  std::vector<bool> seen(nfa.states.size());
  std::vector<State> alone(nfa.states.size(), CompiledGrammar::kNoState);  // by the only state of a set, once known
  std::vector<uint32_t> closed;
  const auto state_of = [&](const std::vector<uint32_t>& set) -> State {
    if (set.empty()) return CompiledGrammar::kNoState;
    State& known = alone[set[0]];
    if (set.size() == 1 && known != CompiledGrammar::kNoState) return known;
    closed = set;
    CloseOverEmpty(nfa, closed, seen);
    const State state = sets.Of(closed);
    if (set.size() == 1) known = state;
    return state;
  };
  state_of({0});
  std::vector<uint32_t> from;
  std::vector<std::vector<uint32_t>> targets(dfa.width);
  std::map<RuleId, std::vector<uint32_t>> called;
  for (State at = 0; at < sets.size(); ++at) {
    from.assign(sets.at(at).begin(), sets.at(at).end());
    work_ += from.size();
    if (states_ + sets.size() > kMaxStates || work_ > kMaxSubsets) {
      return Fail(ErrorCode::kInvalidArgument,
                  "the grammar needs more than {} automaton states; make it smaller, or less ambiguous", kMaxStates);
    }
    if (Status on_time = WorkBudget::Check(WorkOf(from.size() + targets.size())); !on_time) return Forward(on_time);
    for (auto& target : targets) target.clear();
    called.clear();
    for (const uint32_t each : from) {
      for (const auto& edge : nfa.states[each].bytes) {
        const uint8_t last = out_->class_of_[edge.bytes.last];
        for (size_t c = out_->class_of_[edge.bytes.first]; c <= last; ++c) targets[c].push_back(edge.to);
      }
      for (const auto& edge : nfa.states[each].calls) called[edge.rule].push_back(edge.to);
    }
    dfa.final.push_back(std::ranges::binary_search(from, nfa.end));
    for (size_t c = 0; c < dfa.width; ++c) {  // neighbours often behave alike
      dfa.next.push_back(c > 0 && targets[c] == targets[c - 1] ? dfa.next.back() : state_of(targets[c]));
    }
    auto& calls = dfa.calls.emplace_back();
    for (auto& [rule, to] : called) calls.push_back({rule, state_of(to)});
  }
  states_ += sets.size();
  return dfa;
}

// Removes edges that lead to no final state, so that any partial match can be completed. The states themselves stay.
void AutomataBuilder::Trim(Dfa& dfa) {
  const size_t count = dfa.states();
  const auto for_each_edge = [&](auto edge) {
    for (State from = 0; from < count; ++from) {
      State last = CompiledGrammar::kNoState;  // neighbours often lead to the same state
      for (const State to : dfa.Row(from)) {
        if (to != CompiledGrammar::kNoState && to != last) edge(from, to);
        last = to;
      }
      for (const auto& call : dfa.calls[from]) edge(from, call.to);
    }
  };
  std::vector<uint32_t> ends_at(count + 1);  // by target: where its sources end, after they are listed
  for_each_edge([&](State, State to) { ++ends_at[to + 1]; });
  for (size_t i = 1; i <= count; ++i) ends_at[i] += ends_at[i - 1];
  std::vector<State> sources(ends_at[count]);
  const std::vector<uint32_t> begins_at = ends_at;
  for_each_edge([&](State from, State to) { sources[ends_at[to]++] = from; });
  std::vector<bool> ends(count);
  std::vector<State> work;
  const auto mark = [&](State state) {
    if (ends[state]) return;
    ends[state] = true;
    work.push_back(state);
  };
  for (State state = 0; state < count; ++state) {
    if (dfa.final[state]) mark(state);
  }
  while (!work.empty()) {
    const State state = work.back();
    work.pop_back();
    for (uint32_t i = begins_at[state]; i < ends_at[state]; ++i) mark(sources[i]);
  }
  for (State& to : dfa.next) {
    if (to != CompiledGrammar::kNoState && !ends[to]) to = CompiledGrammar::kNoState;
  }
  for (auto& calls : dfa.calls) {
    std::erase_if(calls, [&](const Dfa::Call& call) { return !ends[call.to]; });
  }
}

void AutomataBuilder::Place(RuleId rule, const Dfa& dfa) {
  const auto base = static_cast<State>(out_->facts_.size());
  start_[rule] = base;
  for (const auto& call : dfa.calls[0]) begins_with_[rule].push_back(call.rule);
  uint32_t plain = CompiledGrammar::kNoState;
  const bool calls = std::ranges::any_of(dfa.calls, [](const auto& edges) { return !edges.empty(); });
  if (!calls && dfa.states() <= kMaxPlainStates) {
    plain = static_cast<uint32_t>(out_->plain_rules_.size());
    out_->plain_rules_.push_back({.first = base, .automaton = BytesOf(dfa)});
  }
  for (size_t state = 0; state < dfa.states(); ++state) {
    CompiledGrammar::StateFacts facts{.first_call = static_cast<uint32_t>(out_->calls_.size()),
                                      .calls = static_cast<uint32_t>(dfa.calls[state].size()),
                                      .plain_rule = plain,
                                      .final = dfa.final[state]};
    for (const State to : dfa.Row(state)) {
      const bool leads = to != CompiledGrammar::kNoState;
      facts.takes_bytes = facts.takes_bytes || leads;
      out_->next_.push_back(leads ? base + to : to);
    }
    for (const auto& call : dfa.calls[state]) {
      out_->calls_.push_back({.start = 0, .then = base + call.to});
      called_.push_back(call.rule);
    }
    out_->facts_.push_back(facts);
  }
}

// Byte classes differ between grammars, so edges are written for ranges of bytes.
std::string AutomataBuilder::BytesOf(const Dfa& dfa) const {
  std::string out;
  for (size_t state = 0; state < dfa.states(); ++state) {
    out += fmt::format("{}", dfa.final[state] ? '!' : ':');
    for (size_t byte = 0; byte < 256;) {
      const State to = dfa.Row(state)[out_->class_of_[byte]];
      const size_t first = byte;
      while (byte < 256 && dfa.Row(state)[out_->class_of_[byte]] == to) ++byte;
      if (to != CompiledGrammar::kNoState) out += fmt::format("{}-{}>{},", first, byte - 1, to);
    }
  }
  return out;
}

void AutomataBuilder::PlaceCounter(RuleId rule) {
  const CountedRule& counted = counted_[rule - grammar_.rules.size()];
  start_[rule] = static_cast<State>(out_->facts_.size());
  begins_with_[rule].push_back(counted.rule);
  out_->next_.insert(out_->next_.end(), out_->byte_classes_, CompiledGrammar::kNoState);
  out_->facts_.push_back({.counter = static_cast<uint32_t>(out_->counters_.size())});
  out_->counters_.push_back({.body = counted.rule, .min = counted.min, .max = counted.max});  // a rule until Link
  ++states_;
}

// All rules have their final positions now.
void AutomataBuilder::Link() {
  out_->root_ = start_[grammar_.root];
  for (size_t i = 0; i < called_.size(); ++i) out_->calls_[i].start = start_[called_[i]];
  for (auto& counter : out_->counters_) counter.body = start_[counter.body];
}

// Otherwise a rule that begins with itself would be entered for ever.
Status AutomataBuilder::CheckLeftRecursion() const {
  enum class Mark : uint8_t { kNew, kOpen, kDone };
  std::vector<Mark> marks(start_.size(), Mark::kNew);
  for (const RuleId root : needed_) {
    std::vector<std::pair<RuleId, size_t>> path = {{root, 0}};
    while (!path.empty()) {
      auto& [rule, next] = path.back();
      if (next == 0 && marks[rule] != Mark::kNew) {
        path.pop_back();
        continue;
      }
      marks[rule] = Mark::kOpen;
      if (next == begins_with_[rule].size()) {
        marks[rule] = Mark::kDone;
        path.pop_back();
        continue;
      }
      const RuleId called = begins_with_[rule][next++];
      if (marks[called] == Mark::kOpen) {
        return Fail(ErrorCode::kInvalidArgument,
                    "the rule '{}' is left-recursive: it can begin with itself; write it as a repetition, "
                    "a ::= b (\"+\" b)* instead of a ::= a \"+\" b | b",
                    NameOf(called));
      }
      if (marks[called] == Mark::kNew) path.push_back({called, 0});
    }
  }
  return {};
}

std::string AutomataBuilder::NameOf(RuleId rule) const {
  return rule < grammar_.rules.size() ? grammar_.rules[rule].name : "a repetition";
}

Result<std::shared_ptr<const CompiledGrammar>> CompiledGrammar::Compile(const Grammar& grammar) {
  return AutomataBuilder(grammar).Build();
}

}  // namespace inferflux::text
