#include "dspy/programs/chat.h"

#include <chrono>

#include "dspy/lm/plain_prompt.h"
#include "dspy/programs/settings.h"
#include "dspy/python/python_text.h"

namespace inferflux::dspy {

Chat::Chat(std::string system, std::shared_ptr<LM> lm, CallSettings settings)
    : lm_(std::move(lm)), settings_(std::move(settings)) {
  if (!system.empty()) messages_.push_back({"system", std::move(system)});
}

Result<std::string> Chat::Say(std::string text, std::function<void(std::string_view)> on_text, std::stop_token cancel) {
  const auto lm = lm_ ? lm_ : CurrentSettings().lm;
  if (!lm) {
    return Fail(ErrorCode::kInvalidConfig, "there is no language model for the chat; call Configure, or give it one");
  }
  if (settings_.constrain == Constrain::kOn) {
    return FailAt("constrain", Error::kNoPosition, "constrain is on, and a chat has no signature to constrain it by");
  }
  if (auto checked = Check(settings_); !checked) return Forward(checked);
  LmRequest request{.messages = messages_, .sampling = settings_.sampling, .on_text = std::move(on_text)};
  request.messages.push_back({"user", text});
  request.cancel = std::move(cancel);
  if (settings_.timeout) request.deadline = std::chrono::steady_clock::now() + *settings_.timeout;
  UseTemplateOrPrompt(lm->traits(), request);
  auto response = lm->Generate(request);
  if (!response) return Forward(response);
  std::string reply(lm->traits().chat_template ? std::string_view(response->text) : Strip(response->text));
  usage_ += response->usage;
  messages_.push_back({"user", std::move(text)});
  messages_.push_back({"assistant", reply});
  return reply;
}

}  // namespace inferflux::dspy
