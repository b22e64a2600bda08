// The parser of expressions: one function for each level of precedence of Jinja2's grammar.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/jinja/syntax/ast.h"
#include "text/jinja/syntax/token_stream.h"

namespace inferflux::text::jinja {

// The template's names and their numbers.
class SymbolTable {
 public:
  SymbolId Intern(std::string_view name);
  std::vector<std::string> TakeNames() { return std::move(names_); }

 private:
  std::unordered_map<std::string, SymbolId> ids_;
  std::vector<std::string> names_;
};

class ExpressionParser {
 public:
  ExpressionParser(TokenStream& stream, SymbolTable& symbols) : stream_(stream), symbols_(symbols) {}

  ExprPtr ParseExpression(bool with_conditional = true);
  // One expression, or several with commas: a tuple. It also ends before `end_name` (if not empty).
  ExprPtr ParseTuple(bool with_conditional = true, std::string_view end_name = {}, bool in_parentheses = false);
  // An assignment target: a name, a tuple of names, with `with_namespace` also ns.x.
  ExprPtr ParseTarget(std::string_view end_name = {}, bool with_namespace = false);
  const Token& ParseTargetName();
  // |filter|filter after `input`. With `inline_start` the first filter has no bar; `input` is null before a body.
  ExprPtr ParseFilters(ExprPtr input, bool inline_start);

  // Unknown filters and tests. If a condition guards them, they are an error only when they run; otherwise the template
  // does not compile. A mark is the number of them before a part of the template.
  size_t UnknownMark() const { return unknown_.size(); }
  void ForgiveUnknown(size_t mark) { unknown_.resize(mark); }
  void RaiseUnknown(size_t mark) const;

  // The names that the expressions mention; macros look for caller, varargs and kwargs.
  bool saw_caller = false;
  bool saw_varargs = false;
  bool saw_kwargs = false;

 private:
  ExprPtr ParseConditional();
  ExprPtr ParseOr();
  ExprPtr ParseAnd();
  ExprPtr ParseNot();
  ExprPtr ParseCompare();
  ExprPtr ParseSum();
  ExprPtr ParseConcat();
  ExprPtr ParseProduct();
  ExprPtr ParsePower();
  ExprPtr ParseUnary(bool with_filter = true);
  ExprPtr ParsePrimary(bool with_namespace = false);
  ExprPtr ParsePostfix(ExprPtr node);
  ExprPtr ParseFiltersAndTests(ExprPtr node);
  ExprPtr ParseTest(ExprPtr input);
  ExprPtr ParseSubscript(ExprPtr object);
  ExprPtr ParseSubscriptKey();
  ExprPtr ParseList();
  ExprPtr ParseDict();
  ExprPtr ParseNumber();
  ExprPtr ParseName(bool with_namespace);
  ExprPtr ParseCall(ExprPtr callee);
  ArgList ParseArgs();
  std::string ParseDottedName();
  bool AtTupleEnd(std::string_view end_name) const;
  void RequireAssignable(const Expr& target) const;

  struct Unknown {
    int line;
    std::string what;  // "filter 'name'"
  };

  TokenStream& stream_;
  SymbolTable& symbols_;
  std::vector<Unknown> unknown_;
  int depth_ = 0;
};

}  // namespace inferflux::text::jinja
