// Turns a request's messages or text into the tokens of a prompt.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/token_id.h"
#include "serving/generation/chat.h"
#include "serving/generation/generation_error.h"
#include "serving/models/served_model.h"
#include "text/text_span.h"

namespace inferflux::serving {

// Renders the messages with the model's own chat template. If reasoning is off and the template opens it all the same,
// closes it. Errors: kTemplate, kNoChatTemplate; kUnsupported if the model does not reason and the chat needs it to.
GenerationResult<std::vector<text::TextSpan>> RenderChat(const ServedModel& model, Chat chat);

// Whether the server itself sets this variable of a template, so that a request must not.
bool IsServersVariable(std::string_view name);

// The tokens of the rendered messages. Text of the request never becomes a control token.
GenerationResult<std::vector<TokenId>> ChatPrompt(const ServedModel& model, Chat chat);

// A prompt that reaches a model without a template: a string, or token ids.
using RawPrompt = std::variant<std::string, std::vector<TokenId>>;

// Adds to text the special tokens that the model's file requires. Token ids are used unchanged.
GenerationResult<std::vector<TokenId>> RawPromptTokens(const ServedModel& model, const RawPrompt& prompt);

}  // namespace inferflux::serving
