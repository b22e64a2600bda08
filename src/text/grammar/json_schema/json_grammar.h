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
#include "text/grammar/expression.h"

namespace inferflux::text {

class JsonGrammar {
 public:
  Grammar& grammar() { return grammar_; }
  // The grammar of texts that `root` matches, its rules included; an error where they are too many.
  Result<Grammar> Finish(std::string name, Expr root);

  // Rules, made when they are first asked for.
  Expr Space();
  Expr String();  // any
  Expr Number();  // any of up to 16 digits before and behind the point, and two of its exponent
  Expr Integer();
  Expr Value();
  Expr Object();

  // A string of so many characters.
  Expr String(uint32_t min, uint32_t max);
  // A string whose content, before it is escaped, `content` matches.
  Expr Quoted(const Expr& content);
  // A string without escapes that is none of `names`.
  Expr StringExcept(const std::vector<std::string_view>& names);
  // This value as it is.
  Expr Constant(const boost::json::value& value);
  // "name": value
  Expr Member(Expr name, Expr value);

 private:
  Expr Character();
  static Expr CharacterBody();

  Grammar grammar_;
  std::optional<RuleId> space_, string_, character_, number_, integer_, value_, object_;
};

}  // namespace inferflux::text
