#include "server/openai/chat_format.h"

#include <utility>

#include "server/openai/logprobs.h"
#include "server/request/unique_id.h"

namespace inferflux::server {
namespace json = boost::json;
using serving::AnswerParser;
using text::FoundToolCall;
namespace {

json::object DescribeCall(const FoundToolCall& call) {
  json::object function;
  function["name"] = call.name;
  function["arguments"] = call.arguments;
  json::object out;
  out["id"] = UniqueId("call_");
  out["type"] = "function";
  out["function"] = std::move(function);
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
    for (const FoundToolCall& call : parsed.calls) calls.push_back(DescribeCall(call));
    message["tool_calls"] = std::move(calls);
  }
  json::object out = Choice(index, "message", std::move(message));
  if (logprobs_) out["logprobs"] = ChatLogprobs(all.tokens);
  out["finish_reason"] = Finish(index, *all.finish);
  return out;
}

json::value ChatFormat::Opening(size_t index) {
  return Choice(index, "delta", {{"role", "assistant"}, {"content", ""}});
}

void ChatFormat::Append(size_t index, const scheduler::StreamEvent& event, json::array& choices) {
  size_t number = parsers_[index].found();
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
  for (const FoundToolCall& call : parsed.calls) {
    json::object described = DescribeCall(call);
    described["index"] = number++;
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
