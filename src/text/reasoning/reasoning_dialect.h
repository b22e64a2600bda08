// How one model reasons: the form of its template, over the tokens of its vocabulary.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/token_id.h"
#include "text/reasoning/template_reasoning.h"
#include "text/tokenizer/tokenizer.h"

namespace inferflux::text {

struct ReasoningDialect {
  TemplateReasoning reasoning;
  std::vector<TokenId> opening;  // the tokens of the opening marker
  std::vector<TokenId> closing;  // the tokens of the closing marker and the line ends around it
  std::vector<TokenId> shown;    // control tokens among the markers: text for the parser
};

// Null if the template shows no known form.
std::shared_ptr<const ReasoningDialect> ReasoningDialectOf(const ChatTemplate& chat_template,
                                                           const Tokenizer& tokenizer);

// The closing marker with the line ends around it, as trusted text.
std::string ClosingText(const ReasoningForm& form);

}  // namespace inferflux::text
