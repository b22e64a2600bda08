#include "text/grammar/value_grammar.h"

#include <utility>

#include "text/grammar/marked_grammar.h"
#include "text/grammar/marker_grammar.h"
#include "text/grammar/python_grammar.h"

namespace inferflux::text {

Result<std::unique_ptr<JsonGrammar>> GrammarOfValues(const ToolCallForm& form, const MarkerTokens& tokens) {
  if (form.values == ValueSyntax::kJson) return std::make_unique<JsonGrammar>();
  if (form.values == ValueSyntax::kPython) return std::make_unique<PythonGrammar>();
  auto texts = TextWithout(form.string_mark);
  if (!texts) return Forward(texts);
  return std::make_unique<MarkedGrammar>(form, tokens, std::move(*texts));
}

}  // namespace inferflux::text
