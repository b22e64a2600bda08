// A conversation: messages, and the model's next one. Without a signature.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "dspy/lm/call_settings.h"
#include "dspy/lm/lm.h"

namespace inferflux::dspy {

// One thread at a time.
class Chat {
 public:
  // Without a model it is that of the current settings when Say is called.
  explicit Chat(std::string system = {}, std::shared_ptr<LM> lm = nullptr, CallSettings settings = {});

  // Adds the text and the reply to the conversation; neither where it fails. `on_text` gets the reply as it grows.
  Result<std::string> Say(std::string text, std::function<void(std::string_view)> on_text = nullptr,
                          std::stop_token cancel = {});

  const std::vector<Message>& messages() const { return messages_; }
  const Usage& usage() const { return usage_; }  // of all replies

 private:
  std::vector<Message> messages_;
  std::shared_ptr<LM> lm_;
  CallSettings settings_;
  Usage usage_;
};

}  // namespace inferflux::dspy
