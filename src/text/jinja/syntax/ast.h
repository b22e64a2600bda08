// The syntax tree of a template. It is built once, at compile time, and never changes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "text/jinja/builtins/builtin.h"
#include "text/jinja/evaluate/operators.h"
#include "text/jinja/value/value.h"

namespace inferflux::text::jinja {

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;
struct Stmt;
using Body = std::vector<Stmt>;
// A variable's number in the template's own table of names.
using SymbolId = uint32_t;

struct Arg {
  std::string name;  // empty: positional
  ExprPtr value;
};
struct ArgList {
  std::vector<Arg> args;
  ExprPtr varargs;  // *expr, or null
  ExprPtr kwargs;   // **expr, or null
};

// Expressions.
struct Constant {
  Value value;
};
struct Name {
  SymbolId symbol;
};
struct NamespaceRef {  // ns.x as a target of {% set %}
  SymbolId symbol;
  std::string attribute;
};
struct ListExpr {
  std::vector<ExprPtr> items;
  bool is_tuple;
};
struct DictExpr {
  std::vector<std::pair<ExprPtr, ExprPtr>> items;
};
struct Attribute {
  ExprPtr object;
  std::string name;
};
struct Item {
  ExprPtr object;
  ExprPtr key;
};
struct Slice {  // only as the key of an Item; null bounds are absent
  ExprPtr start;
  ExprPtr stop;
  ExprPtr step;
};
struct Call {
  ExprPtr callee;
  ArgList args;
};
struct FilterExpr {  // without `input`, it filters the body of a block
  ExprPtr input;
  std::string name;
  const Builtin* filter;  // null: unknown, an error when it runs
  ArgList args;
};
struct TestExpr {
  ExprPtr input;
  std::string name;
  const Builtin* test;  // null: unknown, an error when it runs
  ArgList args;
};
struct Unary {
  enum class Op { kNot, kNegate, kPlus } op;
  ExprPtr operand;
};
struct BinaryExpr {
  BinaryOp op;
  ExprPtr left;
  ExprPtr right;
};
struct Logical {
  bool is_and;
  ExprPtr left;
  ExprPtr right;
};
struct ConcatExpr {
  std::vector<ExprPtr> parts;
};
struct CompareExpr {
  ExprPtr first;
  std::vector<std::pair<CompareOp, ExprPtr>> rest;
};
struct Conditional {
  ExprPtr test;
  ExprPtr then;
  ExprPtr otherwise;  // may be null
};

struct Expr {
  using Node = std::variant<Constant, Name, NamespaceRef, ListExpr, DictExpr, Attribute, Item, Slice, Call, FilterExpr,
                            TestExpr, Unary, BinaryExpr, Logical, ConcatExpr, CompareExpr, Conditional>;
  Node node;
  int line;
  int height;  // of the tree below, bounded by the parser
};

// Statements.
struct Output {  // text and {{ expressions }}, in order
  std::vector<ExprPtr> parts;
};
struct If {
  std::vector<std::pair<ExprPtr, Body>> branches;
  Body otherwise;
};
struct For {
  ExprPtr target;
  ExprPtr iterable;
  ExprPtr filter;  // may be null
  bool recursive;
  Body body;
  Body otherwise;
};
struct Set {
  ExprPtr target;
  ExprPtr value;
};
struct SetBlock {
  ExprPtr target;
  ExprPtr filter;  // a FilterExpr chain over the body, or null
  Body body;
};
struct With {
  std::vector<std::pair<ExprPtr, ExprPtr>> bindings;
  Body body;
};
struct Parameter {
  SymbolId symbol;
  std::string name;
  ExprPtr fallback;  // may be null
};
struct MacroDefinition {
  std::string name;  // empty: the body of a {% call %}
  SymbolId symbol;
  std::vector<Parameter> parameters;
  bool uses_caller;
  bool uses_varargs;
  bool uses_kwargs;
  Body body;
};
struct MacroStmt {
  MacroDefinition macro;
};
struct CallBlock {
  MacroDefinition caller;
  ExprPtr call;  // a Call
};
struct FilterBlock {
  ExprPtr filter;
  Body body;
};
struct ScopeBlock {  // {% block %}: its own scope on top of the template's; {% generation %}: on top of the current
                     // scope
  bool sees_locals;
  Body body;
};
struct LoopControl {
  bool is_break;
};

struct Stmt {
  using Node =
      std::variant<Output, If, For, Set, SetBlock, With, MacroStmt, CallBlock, FilterBlock, ScopeBlock, LoopControl>;
  Node node;
  int line;
};

// A whole template.
struct Template {
  Body body;
  std::vector<std::string> names;  // of the symbols
  SymbolId loop, caller, varargs, kwargs;
};

}  // namespace inferflux::text::jinja
