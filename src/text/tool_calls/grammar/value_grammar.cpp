#include "text/tool_calls/grammar/value_grammar.h"

#include <utility>

#include "text/tool_calls/grammar/marked_grammar.h"
#include "text/tool_calls/grammar/marker_grammar.h"
#include "text/tool_calls/grammar/python_grammar.h"

namespace inferflux::text {

Result<std::unique_ptr<JsonGrammar>> GrammarOfValues(const ToolCallSyntax& syntax, const MarkerTokens& tokens) {
  if (syntax.values == ValueSyntax::kJson) return std::make_unique<JsonGrammar>();
  if (syntax.values == ValueSyntax::kPython) return std::make_unique<PythonGrammar>();
  auto texts = TextWithout(syntax.mark);
  if (!texts) return Forward(texts);
  JsonGrammar spaces;  // a mark has none
  Expr around = syntax.values == ValueSyntax::kElements ? Literal("") : MarkerGrammar(syntax.mark, tokens, spaces);
  return std::make_unique<MarkedGrammar>(syntax.mark, std::move(around), std::move(*texts));
}

}  // namespace inferflux::text
