#include "text/grammar/automaton/char_automaton.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/work_budget/work_budget.h"
#include "text/grammar/automaton/empty_closure.h"
#include "text/grammar/automaton/subset_numbers.h"
#include "unicode/utf8.h"

namespace inferflux::text {
namespace {

using Kind = Expression::Kind;

constexpr size_t kMaxCharNfaStates = 65'536;
constexpr size_t kMaxVisits = 1'000'000;  // of expressions; a shared or repeated expression counts at each visit
constexpr size_t kMaxWork = 4'000'000;    // NFA states in all subsets together: bounds the time

tl::unexpected<Error> TooLarge() {
  return Fail(ErrorCode::kInvalidArgument, "patterns and lengths that must hold together need more than {} states",
              CharAutomaton::kMaxStates);
}

// Like nfa.h, but over characters.
struct CharNfa {
  struct Edge {
    CodeRange range;
    uint32_t to = 0;
  };
  struct State {
    std::vector<Edge> edges;
    std::vector<uint32_t> empty;
  };
  std::vector<State> states;
  size_t visits = 0;  // an empty expression needs no state, and may be repeated without end

  bool full() const { return states.size() >= kMaxCharNfaStates || visits >= kMaxVisits; }
  uint32_t New() {
    states.emplace_back();
    return static_cast<uint32_t>(states.size() - 1);
  }
  uint32_t Add(const Expression& expression, uint32_t from);
  uint32_t AddRepeat(const Expression& repeat, uint32_t from);
  uint32_t AddAutomaton(const Expression& automaton, uint32_t from);
};

uint32_t CharNfa::Add(const Expression& expression, uint32_t from) {
  if (full()) return from;
  ++visits;
  switch (expression.kind) {
    case Kind::kText:
      for (size_t at = 0; at < expression.text.size();) {
        const unicode::Utf8Char c = unicode::DecodeUtf8(expression.text, at);
        const uint32_t to = New();
        states[from].edges.push_back({{c.code, c.code}, to});
        from = to;
        at += c.size;
      }
      return from;
    case Kind::kClass: {
      const uint32_t to = New();
      for (const CodeRange& range : expression.ranges) states[from].edges.push_back({range, to});
      return to;
    }
    case Kind::kSequence:
      for (const Expr& part : expression.parts) from = Add(*part, from);
      return from;
    case Kind::kChoice: {
      const uint32_t end = New();
      for (const Expr& part : expression.parts) states[Add(*part, from)].empty.push_back(end);
      return end;
    }
    case Kind::kRepeat:
      return AddRepeat(expression, from);
    case Kind::kAutomaton:
      return AddAutomaton(expression, from);
    case Kind::kCall:
      break;  // no regular expression has them
  }
  return from;
}

uint32_t CharNfa::AddRepeat(const Expression& repeat, uint32_t from) {
  const Expression& part = *repeat.parts[0];
  // A part that reads nothing ends where it begins, and so does any part once this is full.
  for (uint32_t i = 0; i < repeat.min; ++i) {
    const uint32_t to = Add(part, from);
    if (to == from) break;
    from = to;
  }
  if (repeat.max == kUnbounded) {
    const uint32_t begin = New();
    states[from].empty.push_back(begin);
    states[Add(part, begin)].empty.push_back(begin);
    return begin;
  }
  const uint32_t end = New();
  states[from].empty.push_back(end);
  for (uint32_t i = repeat.min; i < repeat.max; ++i) {
    const uint32_t to = Add(part, from);
    if (to == from) break;
    from = to;
    states[from].empty.push_back(end);
  }
  return end;
}

uint32_t CharNfa::AddAutomaton(const Expression& automaton, uint32_t from) {
  const uint32_t end = New();
  std::vector<uint32_t> places(automaton.finals.size());
  for (size_t i = 0; i < places.size() && !full(); ++i) {
    places[i] = New();
    if (automaton.finals[i]) states[places[i]].empty.push_back(end);
  }
  if (!places.empty()) states[from].empty.push_back(places[0]);
  for (size_t i = 0; i < automaton.edges.size() && !full(); ++i) {
    const uint32_t arrived = Add(*automaton.parts[i], places[automaton.edges[i].from]);
    states[arrived].empty.push_back(places[automaton.edges[i].to]);
  }
  return end;
}

using StateSet = std::vector<uint32_t>;

}  // namespace

CharAutomaton CharAutomaton::Everything() {
  CharAutomaton out;
  out.states_.push_back({.edges = {}, .final = true});
  for (const CodeRange& range : Complement({})) out.states_[0].edges.push_back({range, 0});
  return out;
}

Result<CharAutomaton> CharAutomaton::OfLength(uint32_t min, uint32_t max) {
  const bool open = max == kUnbounded;
  const uint32_t last = open ? min : max;
  CharAutomaton out;
  if (!open && min > max) return out;
  if (last >= kMaxStates) return TooLarge();
  for (uint32_t i = 0; i <= last; ++i) {
    State state{.edges = {}, .final = i >= min};
    if (i < last || open) {
      for (const CodeRange& range : Complement({})) state.edges.push_back({range, i < last ? i + 1 : i});
    }
    out.states_.push_back(std::move(state));
  }
  return out;
}

CharAutomaton CharAutomaton::OfMultiples(uint32_t divisor, uint32_t places) {
  // The start, then a state for each remainder of the digits so far: before the point, and after each digit behind it.
  // Last, the state where only zeros may follow.
  CharAutomaton out;
  const uint32_t phases = places + 2;  // before the point, and with 0 to `places` digits behind it
  const auto at = [&](uint32_t phase, uint32_t remainder) { return 1 + phase * divisor + remainder; };
  const uint32_t zeros = at(phases, 0);
  out.states_.resize(size_t{zeros} + 1);
  out.states_[0].edges.push_back({{'-', '-'}, 0});
  const auto add_digits = [&](uint32_t from, uint32_t phase, uint32_t remainder) {
    for (uint32_t digit = 0; digit < 10; ++digit) {
      out.states_[from].edges.push_back({{'0' + digit, '0' + digit}, at(phase, (remainder * 10 + digit) % divisor)});
    }
  };
  add_digits(0, 0, 0);
  for (uint32_t phase = 0; phase < phases; ++phase) {
    const uint32_t behind = phase == 0 ? 0 : phase - 1;  // digits behind the point
    for (uint32_t remainder = 0; remainder < divisor; ++remainder) {
      const uint32_t from = at(phase, remainder);
      uint64_t whole = remainder;
      for (uint32_t i = behind; i < places; ++i) whole = whole * 10 % divisor;
      out.states_[from].final = whole == 0 && phase != 1;  // a digit follows the point
      if (phase == 0) {
        out.states_[from].edges.push_back({{'.', '.'}, at(1, remainder)});
        add_digits(from, 0, remainder);
      } else if (behind < places) {
        add_digits(from, phase + 1, remainder);
      } else if (whole == 0) {
        out.states_[from].edges.push_back({{'0', '0'}, zeros});
      }
    }
  }
  out.states_[zeros] = {.edges = {{{'0', '0'}, zeros}}, .final = true};
  out.Trim();
  return out;
}

Result<CharAutomaton> CharAutomaton::Of(const Expression& expression) {
  CharNfa nfa;
  const uint32_t end = nfa.Add(expression, nfa.New());
  if (nfa.full()) return TooLarge();
  if (Status on_time = WorkBudget::Check(static_cast<uint32_t>(nfa.visits)); !on_time) return Forward(on_time);
  CharAutomaton out;
  SubsetNumbers sets;
  std::vector<bool> seen(nfa.states.size());
  const auto state_of = [&](StateSet& set) {
    CloseOverEmpty(nfa, set, seen);
    return sets.Of(set);
  };
  StateSet targets = {0}, set;
  state_of(targets);
  size_t work = 0;
  for (uint32_t at = 0; at < sets.size(); ++at) {
    set.assign(sets.at(at).begin(), sets.at(at).end());
    State state{.edges = {}, .final = std::ranges::binary_search(set, end)};
    std::vector<CharNfa::Edge> edges;
    std::vector<char32_t> begins;  // of ranges whose characters all behave alike
    for (const uint32_t from : set) {
      for (const CharNfa::Edge& edge : nfa.states[from].edges) {
        edges.push_back(edge);
        begins.push_back(edge.range.first);
        begins.push_back(edge.range.last + 1);
      }
    }
    std::ranges::sort(begins);
    begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
    for (size_t i = 0; i + 1 < begins.size(); ++i) {
      targets.clear();
      for (const CharNfa::Edge& edge : edges) {
        if (edge.range.first <= begins[i] && begins[i] <= edge.range.last) targets.push_back(edge.to);
      }
      work += edges.size() + targets.size();
      if (work > kMaxWork) return TooLarge();
      if (Status on_time = WorkBudget::Check(static_cast<uint32_t>(1 + edges.size())); !on_time)
        return Forward(on_time);
      if (targets.empty()) continue;
      const uint32_t to = state_of(targets);
      if (!state.edges.empty() && state.edges.back().to == to && state.edges.back().range.last + 1 == begins[i]) {
        state.edges.back().range.last = begins[i + 1] - 1;
      } else {
        state.edges.push_back({{begins[i], begins[i + 1] - 1}, to});
      }
    }
    out.states_.push_back(std::move(state));
    if (sets.size() > kMaxStates) return TooLarge();
  }
  out.work_ = sets.size();
  out.Trim();
  return out;
}

Result<CharAutomaton> CharAutomaton::Combine(const CharAutomaton& other, bool with) const {
  CharAutomaton out;
  out.work_ = work_ + other.work_;
  if (empty()) return out;
  if (other.empty()) return with ? std::move(out) : *this;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> known;
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  const auto state_of = [&](uint32_t ours, uint32_t theirs) {
    const auto [found, is_new] = known.try_emplace({ours, theirs}, static_cast<uint32_t>(pairs.size()));
    if (is_new) pairs.emplace_back(ours, theirs);
    return found->second;
  };
  state_of(0, 0);
  for (size_t at = 0; at < pairs.size(); ++at) {
    if (pairs.size() > kMaxStates) return TooLarge();
    const auto [ours, theirs] = pairs[at];
    static const State kDead;
    const State& a = states_[ours];
    if (Status on_time = WorkBudget::Check(static_cast<uint32_t>(4 + 4 * a.edges.size())); !on_time) {
      return Forward(on_time);
    }
    const State& b = theirs == kNone ? kDead : other.states_[theirs];
    State state{.edges = {}, .final = a.final && b.final == with};
    for (const Edge& edge : a.edges) {
      char32_t next = edge.range.first;
      const auto add = [&](char32_t last, uint32_t to) {
        if (to != kNone || !with) state.edges.push_back({{next, last}, state_of(edge.to, to)});
        next = last + 1;
      };
      for (const Edge& theirs_edge : b.edges) {
        if (theirs_edge.range.last < next || theirs_edge.range.first > edge.range.last) continue;
        if (theirs_edge.range.first > next) add(theirs_edge.range.first - 1, kNone);
        add(std::min(theirs_edge.range.last, edge.range.last), theirs_edge.to);
      }
      if (next <= edge.range.last) add(edge.range.last, kNone);
    }
    out.states_.push_back(std::move(state));
  }
  out.work_ += pairs.size();
  out.Trim();
  return out;
}

// Removes states from which no final state can be reached.
void CharAutomaton::Trim() {
  std::vector<std::vector<uint32_t>> from(states_.size());
  std::vector<uint32_t> pending;
  std::vector<bool> useful(states_.size());
  for (uint32_t i = 0; i < states_.size(); ++i) {
    for (const Edge& edge : states_[i].edges) from[edge.to].push_back(i);
    if (states_[i].final) pending.push_back(i), useful[i] = true;
  }
  while (!pending.empty()) {
    const uint32_t at = pending.back();
    pending.pop_back();
    for (const uint32_t before : from[at]) {
      if (useful[before]) continue;
      useful[before] = true;
      pending.push_back(before);
    }
  }
  if (states_.empty() || !useful[0]) {
    states_.clear();
    return;
  }
  std::vector<uint32_t> place(states_.size(), kNone);
  std::vector<State> kept;
  for (uint32_t i = 0; i < states_.size(); ++i) {
    if (!useful[i]) continue;
    place[i] = static_cast<uint32_t>(kept.size());
    kept.push_back(std::move(states_[i]));
  }
  for (State& state : kept) {
    std::erase_if(state.edges, [&](const Edge& edge) { return place[edge.to] == kNone; });
    for (Edge& edge : state.edges) edge.to = place[edge.to];
  }
  states_ = std::move(kept);
}

bool CharAutomaton::Matches(std::string_view text) const {
  if (empty()) return false;
  uint32_t at = 0;
  for (size_t i = 0; i < text.size();) {
    const unicode::Utf8Char c = unicode::DecodeUtf8(text, i);
    i += c.size;
    const auto& edges = states_[at].edges;
    const auto found = std::ranges::find_if(
        edges, [&](const Edge& edge) { return edge.range.first <= c.code && c.code <= edge.range.last; });
    if (found == edges.end()) return false;
    at = found->to;
  }
  return states_[at].final;
}

Expr CharAutomaton::ToExpression() const {
  Expression out{.kind = Kind::kAutomaton};
  for (uint32_t i = 0; i < states_.size(); ++i) {
    out.finals.push_back(states_[i].final);
    std::map<uint32_t, CodeRanges> by_target;
    for (const Edge& edge : states_[i].edges) by_target[edge.to].push_back(edge.range);
    for (auto& [to, ranges] : by_target) {
      out.parts.push_back(OneOf(Normalise(ranges)));
      out.edges.push_back({i, to});
    }
  }
  return std::make_shared<Expression>(std::move(out));
}

}  // namespace inferflux::text
