// JSON as a grammar: what schemas are composed of. White space stands only behind ',' ':' and brackets: one space, or
// up to two line ends and 20 spaces, so that a model cannot go on with it for ever.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/grammar/automaton/char_automaton.h"
#include "text/grammar/expression.h"

namespace inferflux::text {

class JsonGrammar {
 public:
  JsonGrammar() = default;
  virtual ~JsonGrammar() = default;
  JsonGrammar(const JsonGrammar&) = delete;
  JsonGrammar& operator=(const JsonGrammar&) = delete;

  Grammar& grammar() { return grammar_; }
  // The grammar of texts that `root` matches, its rules included; an error where they are too many.
  Result<Grammar> Finish(std::string name, Expr root);

  // Rules, made when they are first asked for.
  Expr Space();
  Expr Number();  // any of up to 16 digits before and behind the point, and two of its exponent
  Expr Integer();
  Expr Value();
  Expr Object();
  // This value as it is.
  Result<Expr> Constant(const boost::json::value& value);
  // "name": value
  Expr Member(Expr name, Expr value);

  // What other syntaxes of the same values write otherwise. An error says what one cannot write.
  virtual Expr String();  // any
  // A string of so many characters.
  virtual Result<Expr> String(uint32_t min, uint32_t max);
  // A string whose content, before it is escaped, `content` matches.
  virtual Result<Expr> Quoted(const Expr& content);
  virtual Result<Expr> Quoted(const CharAutomaton& contents);
  // "null", "true" or "false".
  virtual Expr Word(std::string_view word);
  // The name of a member: any, this one, one without escapes that is none of `names`, and one of a set.
  virtual Expr Name() { return String(); }
  virtual Result<Expr> Name(std::string_view name) { return Quoted(Literal(std::string(name))); }
  virtual Result<Expr> NameExcept(const std::vector<std::string_view>& names);
  virtual Result<Expr> NameIn(const CharAutomaton& names) { return Quoted(names); }

 protected:
  static Result<CharAutomaton> NamesBut(const std::vector<std::string_view>& names);

 private:
  Expr Character();
  static Expr CharacterBody();

  Grammar grammar_;
  std::optional<RuleId> space_, string_, character_, number_, integer_, value_, object_;
};

}  // namespace inferflux::text
