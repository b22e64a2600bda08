#include "text/tool_calls/grammar/argument_grammars.h"

#include <algorithm>
#include <boost/json/object.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "text/grammar/json_schema/json_schema.h"
#include "text/grammar/json_schema/schema_compiler.h"
#include "text/tool_calls/grammar/named_arguments.h"
#include "text/tool_calls/grammar/schema_members.h"

namespace inferflux::text {
namespace json = boost::json;
namespace {

bool IsIdentifier(std::string_view name) {
  const auto in_front = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
  };
  return !name.empty() && name.size() <= kMaxArgumentName && in_front(name[0]) &&
         std::ranges::all_of(name, [&](char c) { return in_front(c) || (c >= '0' && c <= '9'); });
}

// Any arguments.
Expr Anything(JsonGrammar& values) {
  const Expr name = Sequence({OneOf({{'A', 'Z'}, {'_', '_'}, {'a', 'z'}}),
                              Repeat(OneOf({{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}), 0, kMaxMadeUpName - 1)});
  const Expr one = Call(values.grammar().Add("an argument", Sequence({name, Literal("="), values.Value()})));
  const Expr more = Sequence({Literal(","), values.Space(), one});
  return Optional(Sequence({one, Repeat(more, 0, kUnbounded)}));
}

Result<Expr> OneArgument(const NamedArgument& argument, JsonGrammar& values) {
  if (!IsIdentifier(argument.name)) {
    return Fail(ErrorCode::kUnsupported, "at {}: the model calls as Python does, so it needs to be an identifier",
                argument.at);
  }
  auto value = SchemaCompiler(argument.schema, values).Compile();
  if (!value) return Forward(value, "at " + argument.at);
  Expr body = Sequence({Literal(argument.name + "="), std::move(*value)});
  return Call(values.grammar().Add(argument.at, std::move(body)));
}

// Each argument at most once; a comma between any two.
Result<Expr> InOrder(const std::vector<NamedArgument>& arguments, JsonGrammar& values) {
  // Built from the last one on: what may follow where an argument precedes, and where none does.
  Expr behind = Literal(""), first = Literal("");
  for (size_t i = arguments.size(); i-- > 0;) {
    auto one = OneArgument(arguments[i], values);
    if (!one) return one;
    Expr begun = Sequence({*one, behind});
    first = arguments[i].required ? std::move(begun) : Choice({std::move(begun), std::move(first)});
    const Expr next = Sequence({Literal(","), values.Space(), std::move(*one)});
    Expr rest = Sequence({arguments[i].required ? next : Optional(next), std::move(behind)});
    behind = Call(values.grammar().Add("the following arguments", std::move(rest)));
  }
  return first;
}

}  // namespace

Result<Expr> PythonArguments(const OfferedTool& tool, JsonGrammar& values) {
  const auto enclosed = [&](Expr arguments) {
    return Sequence({Literal("("), values.Space(), std::move(arguments), values.Space(), Literal(")")});
  };
  if (tool.parameters.empty()) return enclosed(Anything(values));
  const auto schema = ReadSchema(tool.parameters);
  if (!schema) return Forward(schema);
  const auto arguments = NamedArguments(*schema);
  if (!arguments) return Forward(arguments);
  if (arguments->empty()) {
    const json::value* additional = schema->get_object().if_contains("additionalProperties");
    if (additional == nullptr || *additional == true) return enclosed(Anything(values));
    if (*additional != false) {
      return Fail(ErrorCode::kUnsupported, "at #/additionalProperties: applies only to arguments without names");
    }
  }
  auto ordered = InOrder(*arguments, values);
  if (!ordered) return ordered;
  return enclosed(std::move(*ordered));
}

}  // namespace inferflux::text
