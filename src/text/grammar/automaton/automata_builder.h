// Builds the tables of a CompiledGrammar from a grammar's rules.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "text/grammar/automaton/compiled_grammar.h"
#include "text/grammar/automaton/nfa.h"
#include "text/grammar/automaton/rule_facts.h"

namespace inferflux::text {

class AutomataBuilder {
 public:
  explicit AutomataBuilder(const Grammar& grammar) : grammar_(grammar), facts_(FactsOf(grammar)) {}

  Result<std::shared_ptr<const CompiledGrammar>> Build();

 private:
  using State = CompiledGrammar::State;

  // A rule's automaton before it has a position in the tables.
  struct Dfa {
    struct Call {
      RuleId rule = 0;
      State to = 0;
    };
    explicit Dfa(uint32_t byte_classes) : width(byte_classes) {}
    size_t states() const { return final.size(); }
    std::span<const State> Row(size_t state) const { return std::span(next).subspan(state * width, width); }
    std::span<State> Row(size_t state) { return std::span(next).subspan(state * width, width); }

    size_t width;
    std::vector<State> next;  // [state][byte class]
    std::vector<std::vector<Call>> calls;
    std::vector<bool> final;
  };

  Status BuildNfas();
  void ChooseByteClasses();
  Result<Dfa> Determinise(const Nfa& nfa);
  static void Trim(Dfa& dfa);
  void Place(RuleId rule, const Dfa& dfa);
  void PlaceCounter(RuleId rule);
  std::string BytesOf(const Dfa& dfa) const;
  void Link();
  Status CheckLeftRecursion() const;
  std::string NameOf(RuleId rule) const;

  const Grammar& grammar_;
  RuleFacts facts_;
  std::vector<CountedRule> counted_;              // additional rules after those of the grammar
  std::vector<RuleId> needed_;                    // called rules, in the order of their states
  std::vector<Nfa> nfas_;                         // of needed_; empty for a counter
  std::vector<State> start_;                      // by rule
  std::vector<std::vector<RuleId>> begins_with_;  // by rule: rules called before any byte is read
  std::vector<RuleId> called_;                    // by call: the called rule, until all have positions
  size_t states_ = 0;
  size_t work_ = 0;
  std::unique_ptr<CompiledGrammar> out_ = std::make_unique<CompiledGrammar>();
};

}  // namespace inferflux::text
