#include "apps/inferctl/chat/chat_commands.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <iostream>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/inferctl/client/json_member.h"
#include "apps/inferctl/command.h"
#include "base/nearest.h"
#include "serving/generation/sampling_table.h"

namespace inferflux::apps {
namespace json = boost::json;
namespace {

struct ChatCommand {
  std::string_view name;
  std::string_view other;  // a second name
  std::string_view argument;
  std::string_view help;
  void (*run)(const std::string& argument, ChatState& state);
};

void ShowHelp(const std::string&, ChatState&);

void Leave(const std::string&, ChatState& state) { state.leave = true; }

void ResetConversation(const std::string&, ChatState& state) {
  state.conversation.Reset();
  std::cout << "(a new conversation)\n";
}

void SetSystem(const std::string& argument, ChatState& state) {
  if (argument.empty()) {
    const std::string& system = state.conversation.system();
    std::cout << (system.empty() ? "(there is no system message)" : system) << '\n';
    return;
  }
  state.conversation.SetSystem(argument);
  std::cout << "(a new conversation)\n";
}

void ListModels(ChatState& state) {
  const auto answer = state.client.Get("/v1/models");
  if (!answer) {
    Complain(answer.error());
    return;
  }
  const json::value* data = Member(*answer, "data");
  if (data == nullptr || !data->is_array()) return;
  const std::string chosen = state.conversation.model();
  for (const json::value& model : data->get_array()) {
    const std::string id = Show(model, "id");
    std::cout << (id == chosen ? "* " : "  ") << id << "  " << Show(model, "status", "value") << '\n';
  }
  if (chosen.empty()) std::cout << "(the server's default answers; /model NAME chooses)\n";
}

void SetModel(const std::string& argument, ChatState& state) {
  if (argument.empty()) {
    ListModels(state);
    return;
  }
  if (const auto known = state.client.Get("/v1/models/" + PathSegment(argument)); !known) {
    Complain(known.error());
    return;
  }
  state.conversation.fields()["model"] = argument;
  std::cout << "(" << argument << " answers from now on)\n";
}

// The fields that /set takes beside the sampling parameters.
constexpr std::string_view kOtherFields[] = {"max_tokens", "stop", "ignore_eos", "reasoning_effort"};

std::vector<std::string_view> Settable() {
  std::vector<std::string_view> out(std::begin(kOtherFields), std::end(kOtherFields));
  for (const serving::SamplingRow& row : serving::SamplingTable()) out.push_back(row.name);
  return out;
}

void ShowSettings(ChatState& state) {
  for (const auto& [name, value] : state.conversation.fields()) {
    std::cout << std::string_view(name) << " = " << json::serialize(value) << '\n';
  }
  std::cout << "stats = " << (state.stats ? "on" : "off") << "\n(/set NAME VALUE sets, /set NAME removes: ";
  std::cout << fmt::format("{}", fmt::join(Settable(), ", ")) << ", stats)\n";
}

void Set(const std::string& argument, ChatState& state) {
  std::string words = argument.starts_with("parameter ") ? argument.substr(10) : argument;  // as Ollama has it
  const size_t space = std::min(words.find(' '), words.size());
  const std::string name = words.substr(0, space);
  const std::string text = space < words.size() ? words.substr(space + 1) : "";
  if (name.empty()) return ShowSettings(state);
  if (name == "stats") {
    if (text == "on" || text == "off") {
      state.stats = text == "on";
    } else {
      std::cout << "write /set stats on, or /set stats off\n";
    }
    return;
  }
  if (name == "system") return SetSystem(text, state);
  const std::vector<std::string_view> known = Settable();
  if (std::ranges::find(known, name) == known.end()) {
    std::cout << "no such setting: '" << name << "'" << Suggestion(name, known) << "; /set lists them\n";
    return;
  }
  if (text.empty()) {
    state.conversation.fields().erase(name);
    std::cout << "(" << name << " is the server's default)\n";
    return;
  }
  boost::system::error_code error;
  const json::value value = json::parse(text, error);  // a number, a list; anything else is a text
  state.conversation.fields()[name] = error ? json::value(text) : value;
}

// "~/" as shells have it.
std::string Expanded(const std::string& path) {
  const char* home = std::getenv("HOME");
  return path.starts_with("~/") && home != nullptr ? home + path.substr(1) : path;
}

void SaveConversation(const std::string& argument, ChatState& state) {
  if (argument.empty()) {
    std::cout << "write /save FILE\n";
  } else if (const Status saved = state.conversation.Save(Expanded(argument)); !saved) {
    Complain(saved.error());
  } else {
    std::cout << "(" << state.conversation.size() << " messages are in " << argument << ")\n";
  }
}

void LoadConversation(const std::string& argument, ChatState& state) {
  if (argument.empty()) {
    std::cout << "write /load FILE\n";
  } else if (const Status loaded = state.conversation.Load(Expanded(argument)); !loaded) {
    Complain(loaded.error());
  } else {
    std::cout << "(" << state.conversation.size() << " messages from " << argument << ")\n";
  }
}

constexpr ChatCommand kChatCommands[] = {
    {"/model", "", "[NAME]", "choose the model that answers; without a name, list them", SetModel},
    {"/system", "", "[TEXT]", "set the system message and begin anew; without a text, show it", SetSystem},
    {"/set", "", "[NAME [VALUE]]", "set a parameter such as temperature; without one, show what is set", Set},
    {"/save", "", "FILE", "write the conversation to a file", SaveConversation},
    {"/load", "", "FILE", "go on with a saved conversation", LoadConversation},
    {"/reset", "/clear", "", "forget the conversation", ResetConversation},
    {"/bye", "/quit", "", "leave, as Ctrl-D does", Leave},
    {"/exit", "", "", "the same", Leave},
    {"/?", "/help", "", "show this", ShowHelp},
};

void ShowHelp(const std::string&, ChatState&) {
  for (const ChatCommand& each : kChatCommands) {
    const std::string names =
        fmt::format("{}{}{} {}", each.name, each.other.empty() ? "" : ", ", each.other, each.argument);
    std::cout << fmt::format("  {:22} {}\n", names, each.help);
  }
  std::cout << "  \"\"\"                    begin and end a message of several lines; a paste needs none\n"
               "  Ctrl-C                 stop an answer, or drop the line\n";
}

std::string FirstWord(const std::string& line) { return line.substr(0, line.find(' ')); }

const ChatCommand* Find(const std::string& word) {
  for (const ChatCommand& each : kChatCommands) {
    if (word == each.name || (!each.other.empty() && word == each.other)) return &each;
  }
  return nullptr;
}

std::vector<std::string_view> CommandNames() {
  std::vector<std::string_view> out;
  for (const ChatCommand& each : kChatCommands) {
    out.push_back(each.name);
    if (!each.other.empty()) out.push_back(each.other);
  }
  return out;
}

}  // namespace

bool IsChatCommand(const std::string& line) {
  if (!line.starts_with('/')) return false;
  const std::string word = FirstWord(line);
  const bool alone = word.size() == line.size() && word.find('/', 1) == std::string::npos;
  return alone || Find(word) != nullptr || !Nearest(word, CommandNames()).empty();
}

void RunChatCommand(const std::string& line, ChatState& state) {
  const std::string word = FirstWord(line);
  const ChatCommand* command = Find(word);
  if (command == nullptr) {
    std::cout << "no such command: '" << word << "'" << Suggestion(word, CommandNames()) << "; /? lists them\n";
    return;
  }
  const size_t argument = line.find_first_not_of(' ', word.size());
  command->run(argument == std::string::npos ? "" : line.substr(argument), state);
}

}  // namespace inferflux::apps
