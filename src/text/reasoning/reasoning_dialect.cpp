#include "text/reasoning/reasoning_dialect.h"

#include <algorithm>
#include <string_view>

namespace inferflux::text {
namespace {

std::vector<TokenId> Trusted(std::string text, const Tokenizer& tokenizer) {
  const TextSpan span{.text = std::move(text), .trusted = true};
  return tokenizer.Encode(std::span(&span, 1));
}

}  // namespace

std::string ClosingText(const ReasoningForm& form) {
  std::string out = "\n" + std::string(form.closes);
  if (form.turn_opens.empty()) return out + "\n\n";
  return out + std::string(form.turn_opens) + std::string(form.answer_opens);
}

std::shared_ptr<const ReasoningDialect> ReasoningDialectOf(const ChatTemplate& chat_template,
                                                           const Tokenizer& tokenizer) {
  const auto reasoning = FindTemplateReasoning(chat_template);
  if (!reasoning) return nullptr;
  const ReasoningForm& form = *reasoning->form;
  ReasoningDialect out{.reasoning = *reasoning,
                       .opening = Trusted(std::string(form.opens), tokenizer),
                       .closing = Trusted(ClosingText(form), tokenizer),
                       .shown = {}};
  for (const std::string_view marker : {form.opens, form.closes, form.turn_opens, form.answer_opens}) {
    for (const TokenId id : Trusted(std::string(marker), tokenizer)) {
      if (!tokenizer.IsControl(id) || tokenizer.IsEndOfGeneration(id)) continue;
      if (std::ranges::find(out.shown, id) == out.shown.end()) out.shown.push_back(id);
    }
  }
  return std::make_shared<const ReasoningDialect>(std::move(out));
}

}  // namespace inferflux::text
