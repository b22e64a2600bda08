// Messages as one text, for a model without a chat template.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "dspy/lm/lm.h"

namespace inferflux::dspy {

// "System: ...", "User: ..." and "Assistant: ...", an empty line after each, and "Assistant:" at the end. A value that
// has such a line reads like a turn: nothing in plain text can mark it otherwise.
std::string AsPlainPrompt(std::span<const Message> messages);

// Puts the messages into `prompt` where the model has no template, with stop strings where the next turn would begin.
void UseTemplateOrPrompt(const LmTraits& traits, LmRequest& request);

}  // namespace inferflux::dspy
