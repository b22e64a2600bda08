// From a request's messages or text to the tokens that a model is prompted with.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "base/token_id.h"
#include "serving/generation/chat.h"
#include "serving/generation/generation_error.h"
#include "serving/models/served_model.h"

namespace inferflux::serving {

// The messages in the model's own chat template; text of the request cannot become a control token. Errors: kTemplate,
// kNoChatTemplate.
GenerationResult<std::vector<TokenId>> ChatPrompt(const ServedModel& model, Chat chat);

// Text that reaches a model without a template: a string, or token ids as they are.
using RawPrompt = std::variant<std::string, std::vector<TokenId>>;

// Text gets the special tokens that the model's file wants around it; ids are taken as they are.
GenerationResult<std::vector<TokenId>> RawPromptTokens(const ServedModel& model, const RawPrompt& prompt);

}  // namespace inferflux::serving
