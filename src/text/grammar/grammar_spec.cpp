#include "text/grammar/grammar_spec.h"

#include "text/grammar/gbnf_parser.h"
#include "text/grammar/json_schema/json_schema.h"
#include "text/grammar/lark_parser.h"
#include "text/grammar/regex_parser.h"
#include "unicode/utf8.h"

namespace inferflux::text {
namespace {

Result<Grammar> ParseSchema(const std::string& source) {
  auto schema = ReadSchema(source);
  if (!schema) return Forward(schema);
  return GrammarOfSchema(*schema);
}

Result<Grammar> OneRule(Result<Expr> body) {
  if (!body) return Forward(body);
  Grammar grammar;
  grammar.root = grammar.Add("the text", std::move(*body));
  return grammar;
}

Result<Grammar> ParseChoices(const std::vector<std::string>& choices) {
  std::vector<Expr> ways;
  size_t bytes = 0;
  for (const std::string& choice : choices) {
    if (!unicode::IsValidUtf8(choice)) return Fail(ErrorCode::kInvalidArgument, "a choice is not UTF-8");
    bytes += choice.size();
    ways.push_back(Literal(choice));
  }
  if (ways.empty()) return Fail(ErrorCode::kInvalidArgument, "there are no choices");
  if (bytes > kMaxGrammarBytes) {
    return Fail(ErrorCode::kInvalidArgument, "the choices have {} bytes; at most {} are taken", bytes,
                kMaxGrammarBytes);
  }
  return OneRule(Choice(std::move(ways)));
}

Result<Grammar> Parse(const GrammarSpec& spec) {
  switch (spec.kind) {
    case GrammarSpec::Kind::kJsonObject:
      break;
    case GrammarSpec::Kind::kJsonSchema:
      return ParseSchema(spec.source);
    case GrammarSpec::Kind::kRegex:
      return OneRule(ParseRegex(spec.source, RegexScope::kWhole));
    case GrammarSpec::Kind::kChoice:
      return ParseChoices(spec.choices);
    case GrammarSpec::Kind::kGbnf:
      return ParseGbnf(spec.source);
    case GrammarSpec::Kind::kLark:
      return ParseLark(spec.source);
    case GrammarSpec::Kind::kToolCalls:
      return GrammarOfToolCalls(spec.tool_calls);
  }
  return GrammarOfAnyObject();
}

}  // namespace

Result<std::shared_ptr<const CompiledGrammar>> CompileGrammar(const GrammarSpec& spec) {
  auto grammar = Parse(spec);
  if (!grammar) return Forward(grammar);
  return CompiledGrammar::Compile(*grammar);
}

}  // namespace inferflux::text
