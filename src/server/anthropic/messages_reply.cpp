#include "server/anthropic/messages_reply.h"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "net/sse.h"
#include "server/anthropic/anthropic_error.h"
#include "server/request/unique_id.h"

namespace inferflux::server {
namespace json = boost::json;
using text::FoundToolCall;
using text::ToolCallParser;
namespace {

// Prompt tokens from the cache are counted separately.
json::object AnthropicUsage(const scheduler::Usage& usage) {
  json::object out;
  out["input_tokens"] = usage.prompt_tokens - usage.cached_tokens;
  out["cache_creation_input_tokens"] = 0;
  out["cache_read_input_tokens"] = usage.cached_tokens;
  out["output_tokens"] = usage.completion_tokens;
  return out;
}

json::object TextBlock(std::string_view text) { return {{"type", "text"}, {"text", text}}; }

json::object ToolUseBlock(const FoundToolCall& call, json::value input) {
  json::object out;
  out["type"] = "tool_use";
  out["id"] = UniqueId("toolu_");
  out["name"] = call.name;
  out["input"] = std::move(input);
  return out;
}

// The name of an event is the `type` of its data.
void AppendEvent(const json::object& event, std::string& out) {
  out += "event: ";
  out += std::string_view(event.at("type").as_string());
  out += '\n';
  net::AppendSseData(out, json::serialize(event));
}

}  // namespace

MessagesReply::MessagesReply(std::string model, int32_t prompt_tokens, std::unique_ptr<ToolCallParser> calls)
    : model_(std::move(model)), prompt_tokens_(prompt_tokens), calls_(std::move(calls)), id_(UniqueId("msg_")) {}

net::Response MessagesReply::Refusal(const ApiError& error) const { return AnthropicErrorResponse(error); }

ToolCallParser::Output MessagesReply::Parse(const scheduler::StreamEvent& event) {
  if (!calls_) return {event.text, {}};
  ToolCallParser::Output out = calls_->Feed(event.text);
  if (event.finish) {
    ToolCallParser::Output rest = calls_->Finish();
    out.content += rest.content;
    for (FoundToolCall& call : rest.calls) out.calls.push_back(std::move(call));
  }
  return out;
}

json::object MessagesReply::Message() const {
  json::object out;
  out["id"] = id_;
  out["type"] = "message";
  out["role"] = "assistant";
  out["model"] = model_;
  out["content"] = json::array();
  out["stop_reason"] = nullptr;
  out["stop_sequence"] = nullptr;
  return out;
}

// If the limit cut the answer short, that is the reported reason, even if the answer contains calls.
json::object MessagesReply::Stop(const scheduler::Finish& finish) const {
  json::object out;
  out["stop_reason"] = "end_turn";
  out["stop_sequence"] = nullptr;
  if (finish.reason == scheduler::FinishReason::kLength) {
    out["stop_reason"] = "max_tokens";
  } else if (calls_ && calls_->found() > 0) {
    out["stop_reason"] = "tool_use";
  } else if (finish.stop_string) {
    out["stop_reason"] = "stop_sequence";
    out["stop_sequence"] = *finish.stop_string;
  }
  return out;
}

net::Response MessagesReply::Whole(const std::vector<scheduler::StreamEvent>& answers, const ReplyTotals& totals) {
  const scheduler::StreamEvent& answer = answers.front();
  const ToolCallParser::Output parsed = Parse(answer);
  json::array content;
  if (!parsed.content.empty()) content.push_back(TextBlock(parsed.content));
  for (const FoundToolCall& call : parsed.calls) content.push_back(ToolUseBlock(call, json::parse(call.arguments)));
  json::object out = Message();
  out["content"] = std::move(content);
  for (auto& [name, value] : Stop(*answer.finish)) out[name] = std::move(value);
  out["usage"] = AnthropicUsage(totals.usage());
  net::Response response(200, "application/json", json::serialize(out));
  response.headers.push_back({"request-id", UniqueId("req_")});
  return response;
}

void MessagesReply::Begin(std::string& out) {
  json::object message = Message();
  // The number of cached prompt tokens is known only once the request runs, so the last event has the final counts.
  message["usage"] = AnthropicUsage({.prompt_tokens = prompt_tokens_});
  AppendEvent({{"type", "message_start"}, {"message", std::move(message)}}, out);
}

void MessagesReply::Append(size_t, const scheduler::StreamEvent& event, std::string& out) {
  const ToolCallParser::Output parsed = Parse(event);
  if (!parsed.content.empty()) {
    if (!in_text_) StartBlock(TextBlock(""), out);
    in_text_ = true;
    AppendDelta({{"type", "text_delta"}, {"text", parsed.content}}, out);
  }
  for (const FoundToolCall& call : parsed.calls) {
    if (in_text_) StopBlock(out);
    StartBlock(ToolUseBlock(call, json::object()), out);
    AppendDelta({{"type", "input_json_delta"}, {"partial_json", call.arguments}}, out);
    StopBlock(out);
  }
  if (!event.finish) return;
  if (in_text_) StopBlock(out);
  finish_ = *event.finish;
}

void MessagesReply::End(const ReplyTotals& totals, std::string& out) {
  AppendEvent({{"type", "message_delta"}, {"delta", Stop(finish_)}, {"usage", AnthropicUsage(totals.usage())}}, out);
  json::object stop;
  stop["type"] = "message_stop";
  AppendEvent(stop, out);
}

void MessagesReply::Fail(const ApiError& error, std::string& out) {
  out += "event: error\n";
  net::AppendSseData(out, AnthropicErrorJson(error, UniqueId("req_")));
}

void MessagesReply::StartBlock(json::object block, std::string& out) {
  AppendEvent({{"type", "content_block_start"}, {"index", blocks_++}, {"content_block", std::move(block)}}, out);
}

void MessagesReply::AppendDelta(json::object delta, std::string& out) const {
  AppendEvent({{"type", "content_block_delta"}, {"index", blocks_ - 1}, {"delta", std::move(delta)}}, out);
}

void MessagesReply::StopBlock(std::string& out) {
  AppendEvent({{"type", "content_block_stop"}, {"index", blocks_ - 1}}, out);
  in_text_ = false;
}

}  // namespace inferflux::server
