#include "server/openai/chat_format.h"

#include <algorithm>
#include <utility>

#include "server/openai/logprobs.h"
#include "server/request/unique_id.h"

namespace inferflux::server {
namespace json = boost::json;
using serving::AnswerParser;
using text::FoundToolCall;
using text::ToolCallPiece;
namespace {

// A new call. `content`: of the member that its type names.
json::object NewCall(std::string_view type, json::object content) {
  json::object out;
  out["id"] = UniqueId("call_");
  out["type"] = type;
  out[type] = std::move(content);
  return out;
}

json::object Choice(size_t index, std::string_view body_name, json::object body) {
  json::object out;
  out["index"] = index;
  out[body_name] = std::move(body);
  out["logprobs"] = nullptr;
  out["finish_reason"] = nullptr;
  return out;
}

}  // namespace

// If the limit cut the reply short, that is the reported reason, even if the reply contains calls.
std::string_view ChatFormat::Finish(size_t index, const scheduler::Finish& finish) const {
  const bool calls = parsers_[index].found() > 0 && finish.reason == scheduler::FinishReason::kStop;
  return calls ? "tool_calls" : FinishName(finish.reason);
}

bool ChatFormat::IsCustom(std::string_view name) const {
  return std::ranges::find(custom_tools_, name) != custom_tools_.end();
}

// The first piece describes the call, later ones are further arguments. Empty if it adds nothing to a custom input.
json::object ChatFormat::DescribePiece(const text::ToolCallPiece& piece,
                                       std::optional<serving::CustomInput>& input) const {
  const bool begins = !piece.name.empty();
  if (begins) input = IsCustom(piece.name) ? std::optional<serving::CustomInput>(std::in_place) : std::nullopt;
  const std::string_view type = input ? "custom" : "function", member = input ? "input" : "arguments";
  const std::string more = input ? input->Take(piece.arguments) : piece.arguments;
  json::object out;
  if (begins) {
    out = NewCall(type, {{"name", piece.name}, {member, more}});
  } else if (!more.empty()) {
    out[type] = json::object{{member, more}};
  } else {
    return {};
  }
  out["index"] = piece.call;
  return out;
}

json::object ChatFormat::Whole(size_t index, const scheduler::StreamEvent& all) {
  const AnswerParser::Output parsed = parsers_[index].Take(all);
  json::object message;
  message["role"] = "assistant";
  message["content"] =
      parsed.content.empty() && !parsed.calls.empty() ? json::value(nullptr) : json::value(parsed.content);
  message["refusal"] = nullptr;
  if (!parsed.reasoning.empty()) message["reasoning_content"] = parsed.reasoning;
  if (!parsed.calls.empty()) {
    json::array calls;
    for (const FoundToolCall& call : parsed.calls) {
      if (IsCustom(call.name)) {
        const std::string input = serving::CustomInputOf(call.arguments);
        calls.push_back(NewCall("custom", {{"name", call.name}, {"input", input}}));
      } else {
        calls.push_back(NewCall("function", {{"name", call.name}, {"arguments", call.arguments}}));
      }
    }
    message["tool_calls"] = std::move(calls);
  }
  json::object out = Choice(index, "message", std::move(message));
  if (logprobs_) out["logprobs"] = ChatLogprobs(all.tokens);
  out["finish_reason"] = Finish(index, *all.finish);
  return out;
}

std::optional<int32_t> ChatFormat::reasoning_tokens() const {
  int32_t out = 0;
  for (const AnswerParser& parser : parsers_) out += parser.reasoning_tokens();
  return out;
}

json::value ChatFormat::Opening(size_t index) {
  return Choice(index, "delta", {{"role", "assistant"}, {"content", ""}});
}

void ChatFormat::Append(size_t index, const scheduler::StreamEvent& event, json::array& choices) {
  const AnswerParser::Output parsed = parsers_[index].Take(event);
  const bool logprobs = logprobs_ && !event.tokens.empty();
  if (!parsed.reasoning.empty()) {
    choices.push_back(Choice(index, "delta", {{"reasoning_content", parsed.reasoning}}));
  }
  if (!parsed.content.empty() || logprobs) {
    json::object choice = Choice(index, "delta", {{"content", parsed.content}});
    if (logprobs) choice["logprobs"] = ChatLogprobs(event.tokens);
    choices.push_back(std::move(choice));
  }
  for (const ToolCallPiece& piece : parsed.pieces) {
    json::object described = DescribePiece(piece, inputs_[index]);
    if (described.empty()) continue;
    json::object delta;
    delta["tool_calls"] = json::array({std::move(described)});
    choices.push_back(Choice(index, "delta", std::move(delta)));
  }
  if (event.finish) {
    json::object last = Choice(index, "delta", {});
    last["finish_reason"] = Finish(index, *event.finish);
    choices.push_back(std::move(last));
  }
}

}  // namespace inferflux::server
