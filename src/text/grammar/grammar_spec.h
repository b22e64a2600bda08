// The constraint that a request puts on its text.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "text/grammar/automaton/compiled_grammar.h"
#include "text/tool_calls/grammar/tool_call_grammar.h"

namespace inferflux::text {

struct GrammarSpec {
  enum class Kind : uint8_t {
    kJsonObject,  // any JSON object
    kJsonSchema,  // `source`: a schema, as JSON
    kRegex,       // `source`: an expression that matches the whole text
    kChoice,      // one of `choices`, verbatim
    kGbnf,        // `source`: a grammar in GBNF
    kLark,        // `source`: a grammar in Lark
    kToolCalls,   // `tool_calls`
  };

  Kind kind = Kind::kJsonObject;
  std::string source = {};
  std::vector<std::string> choices = {};
  ToolCallSpec tool_calls = {};

  friend bool operator==(const GrammarSpec&, const GrammarSpec&) = default;
};

// kInvalidArgument or kUnsupported says what is wrong and where.
Result<std::shared_ptr<const CompiledGrammar>> CompileGrammar(const GrammarSpec& spec);

}  // namespace inferflux::text
