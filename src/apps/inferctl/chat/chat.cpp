// inferctl chat and inferctl run: a conversation, or a single message.
#include <fmt/format.h>
#include <unistd.h>

#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/inferctl/chat/chat_commands.h"
#include "apps/inferctl/chat/conversation.h"
#include "apps/inferctl/chat/line_editor.h"
#include "apps/inferctl/chat/read_message.h"
#include "apps/inferctl/chat/sampling_flags.h"
#include "apps/inferctl/client/api_client.h"
#include "apps/inferctl/client/interrupt.h"
#include "apps/inferctl/client/local_server.h"
#include "apps/inferctl/client/streams.h"
#include "apps/inferctl/command.h"

namespace inferflux::apps {
namespace json = boost::json;
namespace {

struct ChatFlags {
  SamplingFlags sampling;
  std::string system;
  std::string message;
  std::vector<std::string> words;
  bool no_start = false;
  bool stats = false;
};

// Prints the answer as it comes; with `as_json` the server's whole answer on one line.
Status Ask(Conversation& conversation, const std::string& text, bool as_json, bool stats) {
  if (as_json) {
    const auto answer = conversation.AskWhole(text);
    if (!answer) return Forward(answer);
    PrintJson(*answer);
    return {};
  }
  AnswerReport report;
  const Status status = conversation.Ask(
      text, [](std::string_view piece) { std::cout << piece << std::flush; }, report);
  std::cout << std::endl;
  if (stats && (status || report.stopped)) std::cerr << Describe(report) << std::endl;
  return status;
}

int Converse(const CommandContext& context, ApiClient& client, Conversation& conversation, bool stats) {
  const bool terminal = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
  ChatState state{.client = client, .conversation = conversation, .stats = stats || terminal};
  if (terminal) std::cout << "Type a message; /? lists commands." << std::endl;
  const InterruptScope keeps;  // a Ctrl-C that comes between an answer and the next line must not end the program
  client.http().should_stop = InterruptScope::Interrupted;
  LineEditor editor;
  while (!state.leave) {
    const auto text = ReadMessage([&](const char* prompt) { return editor.Read(prompt); });
    if (!text) break;
    if (text->empty()) continue;
    if (IsChatCommand(*text)) {
      const InterruptScope scope;
      RunChatCommand(*text, state);
      std::cout << std::flush;
    } else if (const Status asked = Ask(conversation, *text, context.json, state.stats); !asked) {
      if (asked.error().code != ErrorCode::kCancelled) Complain(asked.error());
    }
  }
  return kOk;
}

// The message of the command line, if it has one. Words after each other are one message.
Result<std::string> MessageOf(const ChatFlags& flags) {
  if (flags.words.empty()) return TextOf(flags.message);
  if (!flags.message.empty())
    return Fail(ErrorCode::kInvalidArgument, "the message is there twice: as --message and as a word; write it once");
  return TextOf(fmt::format("{}", fmt::join(flags.words, " ")));
}

int Talk(const CommandContext& context, const ChatFlags& flags, ApiClient& client, const std::string& message) {
  Conversation conversation(client, flags.sampling.Fields(), flags.system);
  if (message.empty()) return Converse(context, client, conversation, flags.stats);
  const Status asked = Ask(conversation, message, context.json, flags.stats);
  return asked ? kOk : Complain(asked.error());
}

int RunChat(const CommandContext& context, const ChatFlags& flags) {
  auto client = ApiClient::Create(context.settings);
  if (!client) return Complain(client.error());
  const auto message = MessageOf(flags);
  if (!message) return Complain(message.error().message, kUsageError);
  std::unique_ptr<LocalServer> own_server;
  if (context.url_is_default && !flags.no_start && !client->CheckAnswers()) {
    std::cerr << "inferctl: no server at " << context.settings.Text("client.url")
              << "; starting one on the model that comes with InferFlux\n";
    auto started = LocalServer::Start();
    if (!started) return Complain(started.error());
    own_server = std::move(*started);
    auto address = net::ParseServerAddress(own_server->url());
    if (!address) return Complain(address.error());
    client = ApiClient(std::move(*address), "");
  }
  return Talk(context, flags, *client, *message);
}

// As other tools have it: the model is a word, and a pipe without further words is one message.
int RunRun(const CommandContext& context, const ChatFlags& flags) {
  auto client = ApiClient::Create(context.settings);
  if (!client) return Complain(client.error());
  const auto message = flags.words.empty() && InputIsPiped() ? TextOf("-") : MessageOf(flags);
  if (!message) return Complain(message.error().message, kUsageError);
  if (const Status there = client->CheckAnswers(); !there) {
    return Complain(fmt::format("{}; start a server with: inferfluxd {} (or 'inferctl chat', which starts one on the "
                                "model that comes with InferFlux)",
                                there.error().message, flags.sampling.model),
                    kNoServer);
  }
  return Talk(context, flags, *client, *message);
}

}  // namespace

Run AddChat(Command& app) {
  auto flags = std::make_shared<ChatFlags>();
  Command chat = app.AddCommand("chat", "talk to a model; from a pipe, each line is a message");
  chat.Add("MESSAGE", flags->words, "send this message, print the answer, and exit; '-': all of standard input");
  chat.Add("--message,-m", flags->message, "the same");
  chat.Add("--system", flags->system, "a system message");
  chat.AddFlag("--no-start", flags->no_start, "do not start a server if none answers");
  chat.AddFlag("--stats", flags->stats, "print tokens a second after each answer, as on a terminal");
  flags->sampling.AddTo(chat);
  return [flags](const CommandContext& context) { return RunChat(context, *flags); };
}

Run AddRun(Command& app) {
  auto flags = std::make_shared<ChatFlags>();
  Command run = app.AddCommand("run", "talk to a model of a running server, which loads it if it may");
  flags->sampling.AddTo(run, "MODEL,--model");
  run.Add("PROMPT", flags->words,
          "send this, print the answer, and exit; '-', or none from a pipe: all of standard input");
  run.Add("--system", flags->system, "a system message");
  run.AddFlag("--stats", flags->stats, "print tokens a second after each answer, as on a terminal");
  return [flags](const CommandContext& context) { return RunRun(context, *flags); };
}

}  // namespace inferflux::apps
