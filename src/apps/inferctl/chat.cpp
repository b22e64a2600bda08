// inferctl chat: a conversation, or a single message.
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include "apps/inferctl/api_client.h"
#include "apps/inferctl/command.h"
#include "apps/inferctl/interrupt.h"
#include "apps/inferctl/line_editor.h"
#include "apps/inferctl/local_server.h"
#include "apps/inferctl/sampling_flags.h"

namespace inferflux::apps {
namespace json = boost::json;
namespace {

constexpr char kChatHelp[] =
    "  /reset         forget the conversation\n"
    "  /system TEXT   set the system message and begin anew\n"
    "  /help          show this\n"
    "  /quit          leave (or Ctrl-D); Ctrl-C stops an answer\n";

struct ChatFlags {
  SamplingFlags sampling;
  std::string system;
  std::string message;
  bool no_start = false;
};

json::object Message(std::string_view role, std::string_view content) {
  json::object out;
  out["role"] = role;
  out["content"] = content;
  return out;
}

class Conversation {
 public:
  Conversation(ApiClient& client, const ChatFlags& flags) : client_(client), flags_(flags) { Reset(flags.system); }

  void Reset(const std::string& system) {
    system_ = system;
    messages_.clear();
    if (!system.empty()) messages_.push_back(Message("system", system));
  }
  void Reset() { Reset(std::string(system_)); }

  // Sends the conversation and prints the answer as it arrives. A question that failed is removed from the
  // conversation.
  Status Ask(const std::string& text) {
    json::object body = flags_.sampling.Fields();
    json::array messages = messages_;
    messages.push_back(Message("user", text));
    body["messages"] = messages;
    std::string answer;
    const InterruptScope scope;
    client_.http().should_stop = InterruptScope::Interrupted;
    const Status status = client_.Stream("/v1/chat/completions", std::move(body), [&](const json::object& chunk) {
      const std::string piece = Piece(chunk);
      answer += piece;
      std::cout << piece << std::flush;
    });
    std::cout << std::endl;
    const bool stopped = !status && status.error().code == ErrorCode::kCancelled;
    if (status || stopped) {
      messages.push_back(Message("assistant", answer));
      messages_ = std::move(messages);
    }
    return status;
  }

 private:
  static std::string Piece(const json::object& chunk) {
    const json::array* choices = chunk.contains("choices") ? chunk.at("choices").if_array() : nullptr;
    if (choices == nullptr || choices->empty() || !choices->front().is_object()) return {};
    const json::value* delta = choices->front().get_object().if_contains("delta");
    if (delta == nullptr || !delta->is_object()) return {};
    const json::value* content = delta->get_object().if_contains("content");
    return content != nullptr && content->is_string() ? std::string(content->get_string()) : std::string();
  }

  ApiClient& client_;
  const ChatFlags& flags_;
  std::string system_;
  json::array messages_;
};

// Handles one line of the user. False to quit.
bool TakeLine(Conversation& conversation, const std::string& line) {
  if (line.empty()) return true;
  if (line == "/quit" || line == "/exit") return false;
  if (line == "/help") {
    std::cout << kChatHelp;
  } else if (line == "/reset") {
    conversation.Reset();
    std::cout << "(a new conversation)\n";
  } else if (line.starts_with("/system ")) {
    conversation.Reset(line.substr(std::string_view("/system ").size()));
    std::cout << "(a new conversation)\n";
  } else if (line.starts_with('/') && line.find(' ') == std::string::npos) {
    std::cout << "no such command; /help lists them\n";
  } else if (const Status asked = conversation.Ask(line); !asked) {
    if (asked.error().code != ErrorCode::kCancelled) Complain(asked.error());
  }
  return true;
}

bool ServerAnswers(ApiClient& client) {
  const auto alive = client.GetRaw("/livez");
  return alive && alive->status == 200;
}

int RunChat(const CommandContext& context, const ChatFlags& flags) {
  auto client = ApiClient::Create(context.settings);
  if (!client) return Complain(client.error());
  std::unique_ptr<LocalServer> own_server;
  if (context.url_is_default && !flags.no_start && !ServerAnswers(*client)) {
    std::cerr << "inferctl: no server at " << context.settings.Text("client.url")
              << "; starting one on the model that comes with InferFlux\n";
    auto started = LocalServer::Start();
    if (!started) return Complain(started.error());
    own_server = std::move(*started);
    auto address = net::ParseServerAddress(own_server->url());
    if (!address) return Complain(address.error());
    client = ApiClient(std::move(*address), "");
  }

  Conversation conversation(*client, flags);
  if (!flags.message.empty()) {
    const Status asked = conversation.Ask(flags.message);
    return asked ? kOk : Complain(asked.error());
  }
  const bool terminal = ::isatty(STDIN_FILENO) == 1;
  if (terminal) std::cout << "Type a message; /help lists commands.\n";
  LineEditor editor;
  while (const auto line = editor.Read("> ")) {
    if (!TakeLine(conversation, *line)) break;
  }
  return kOk;
}

}  // namespace

Run AddChat(Command& app) {
  auto flags = std::make_shared<ChatFlags>();
  Command chat = app.AddCommand("chat", "talk to a model; from a pipe, each line is a message");
  chat.Add("--message,-m", flags->message, "send this message, print the answer, and exit");
  chat.Add("--system", flags->system, "a system message");
  chat.AddFlag("--no-start", flags->no_start, "do not start a server if none answers");
  flags->sampling.AddTo(chat);
  return [flags](const CommandContext& context) { return RunChat(context, *flags); };
}

}  // namespace inferflux::apps
