// JSON as a grammar: the building blocks of schemas. White space is allowed only after ',' ':' and brackets: one space,
// or up to two line ends and 20 spaces, so that a model cannot continue it for ever.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "text/grammar/automaton/char_automaton.h"
#include "text/grammar/expression.h"

namespace inferflux::text {

// Exactly these texts between items and behind names, and no other white space.
struct JsonSeparators {
  std::string item = ", ";
  std::string key = ": ";
};

class JsonGrammar {
 public:
  JsonGrammar() = default;
  explicit JsonGrammar(std::optional<JsonSeparators> exact) : exact_(std::move(exact)) {}
  virtual ~JsonGrammar() = default;
  JsonGrammar(const JsonGrammar&) = delete;
  JsonGrammar& operator=(const JsonGrammar&) = delete;

  Grammar& grammar() { return grammar_; }
  // The grammar of texts that `root` matches, with its rules. An error if there are too many rules.
  Result<Grammar> Finish(std::string name, Expr root);

  // Rules, created on first use.
  Expr Space();
  Expr Comma();   // with the space behind it
  Expr Number();  // any number with up to 16 digits before and after the point, and two in its exponent
  Expr Integer();
  Expr Value();
  Expr Object();
  // This exact value.
  Result<Expr> Constant(const boost::json::value& value);
  // "name": value
  Expr Member(Expr name, Expr value);

  // Elements that other syntaxes of the same values write differently. An error says what the syntax cannot write.
  virtual Expr String();  // any
  // A string with that many characters.
  virtual Result<Expr> String(uint32_t min, uint32_t max);
  // A string whose content, before escaping, matches `content`.
  virtual Result<Expr> Quoted(const Expr& content);
  virtual Result<Expr> Quoted(const CharAutomaton& contents);
  // "null", "true" or "false".
  virtual Expr Word(std::string_view word);
  // The name of a member: any name, this name, any name without escapes that is not in `names`, and one of a set.
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
  std::optional<JsonSeparators> exact_;
};

}  // namespace inferflux::text
