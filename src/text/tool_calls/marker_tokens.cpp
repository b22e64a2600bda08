#include "text/tool_calls/marker_tokens.h"

#include <algorithm>

#include "text/text_span.h"

namespace inferflux::text {

MarkerTokens MarkerTokensOf(const ToolCallForm& form, const Tokenizer& tokenizer) {
  MarkerTokens out;
  for (const std::string_view marker : {form.opens, form.call_opens, form.name_closes, form.call_closes, form.closes,
                                        form.key_opens, form.key_closes, form.value_closes, form.mark}) {
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
