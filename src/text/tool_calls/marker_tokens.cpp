#include "text/tool_calls/marker_tokens.h"

#include <algorithm>

#include "text/text_span.h"

namespace inferflux::text {

MarkerTokens MarkerTokensOf(const ToolCallSyntax& syntax, const Tokenizer& tokenizer) {
  MarkerTokens out;
  for (const std::string_view marker :
       {syntax.opens, syntax.call_opens, syntax.name_closes, syntax.call_closes, syntax.closes, syntax.key_opens,
        syntax.key_closes, syntax.value_closes, syntax.mark}) {
    const TextSpan span{.text = std::string(marker), .trusted = true};
    for (const TokenId id : tokenizer.Encode(std::span(&span, 1))) {
      std::string name(tokenizer.Text(id));
      if (tokenizer.IsEndOfGeneration(id)) {
        out.ends.push_back(std::move(name));
      } else if (tokenizer.IsControl(id) && std::ranges::find(out.shown, id) == out.shown.end()) {
        out.shown.push_back(id);
        out.control.push_back(std::move(name));
      }
    }
  }
  return out;
}

}  // namespace inferflux::text
