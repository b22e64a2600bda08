#include "dspy/lm/plain_prompt.h"

#include <fmt/format.h>

#include <utility>

namespace inferflux::dspy {

std::string AsPlainPrompt(std::span<const Message> messages) {
  std::string prompt;
  for (const Message& message : messages) {
    const std::string_view role = message.role == "system"      ? "System"
                                  : message.role == "assistant" ? "Assistant"
                                                                : "User";
    prompt += fmt::format("{}: {}\n\n", role, message.content);
  }
  return prompt + "Assistant:";
}

void UseTemplateOrPrompt(const LmTraits& traits, LmRequest& request) {
  if (traits.chat_template) return;
  request.prompt = AsPlainPrompt(std::exchange(request.messages, {}));
  for (const char* stop : {"\nUser:", "\nSystem:"}) request.sampling.stop.emplace_back(stop);
}

}  // namespace inferflux::dspy
