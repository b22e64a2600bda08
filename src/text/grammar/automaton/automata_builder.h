// From a grammar's rules to the tables of a CompiledGrammar.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
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

  // What a rule's automaton is before it has its place in the tables.
  struct Dfa {
    struct Call {
      RuleId rule = 0;
      State to = 0;
    };
    std::vector<std::vector<State>> next;  // [state][byte class]
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
  std::vector<CountedRule> counted_;              // rules behind those of the grammar
  std::vector<RuleId> needed_;                    // those that are called, in the order of their states
  std::vector<Nfa> nfas_;                         // of needed_; empty for a counter
  std::vector<State> start_;                      // by rule
  std::vector<std::vector<RuleId>> begins_with_;  // by rule: what is called before any byte
  std::vector<RuleId> called_;                    // by call: which rule, until all have their places
  size_t states_ = 0;
  size_t work_ = 0;
  std::unique_ptr<CompiledGrammar> out_ = std::make_unique<CompiledGrammar>();
};

}  // namespace inferflux::text
