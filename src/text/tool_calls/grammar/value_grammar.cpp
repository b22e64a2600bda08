#include "text/tool_calls/grammar/value_grammar.h"

#include <utility>

#include "text/tool_calls/grammar/marked_grammar.h"
#include "text/tool_calls/grammar/marker_grammar.h"
#include "text/tool_calls/grammar/python_grammar.h"

namespace inferflux::text {

Result<std::unique_ptr<JsonGrammar>> GrammarOfValues(const ToolCallForm& form, const MarkerTokens& tokens) {
  if (form.values == ValueSyntax::kJson) return std::make_unique<JsonGrammar>();
  if (form.values == ValueSyntax::kPython) return std::make_unique<PythonGrammar>();
  auto texts = TextWithout(form.mark);
  if (!texts) return Forward(texts);
  JsonGrammar spaces;  // a mark has none
  Expr around = form.values == ValueSyntax::kElements ? Literal("") : MarkerGrammar(form.mark, tokens, spaces);
  return std::make_unique<MarkedGrammar>(form.mark, std::move(around), std::move(*texts));
}

}  // namespace inferflux::text
