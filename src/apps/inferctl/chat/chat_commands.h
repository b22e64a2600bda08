// The commands of a chat: lines that begin with a slash.
#pragma once

#include <string>

#include "apps/inferctl/chat/conversation.h"
#include "apps/inferctl/client/api_client.h"

namespace inferflux::apps {

// What the commands change.
struct ChatState {
  ApiClient& client;
  Conversation& conversation;
  bool stats = false;  // a line of tokens a second after each answer
  bool leave = false;
};

// Whether `line` is a command, or a misspelt one. A text that merely begins with a slash, such as a path, is not.
bool IsChatCommand(const std::string& line);

// Runs it, and says on standard output what it did.
void RunChatCommand(const std::string& line, ChatState& state);

}  // namespace inferflux::apps
