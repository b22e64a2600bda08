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
using serving::AnswerParser;
using text::FoundToolCall;
using text::ToolCallPiece;
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

// Clients send thinking back with its signature. This server signs nothing and checks no signature.
constexpr std::string_view kUnsigned = "unsigned";

json::object ThinkingBlock(std::string_view thinking, std::string_view signature) {
  return {{"type", "thinking"}, {"thinking", thinking}, {"signature", signature}};
}

json::object ToolUseBlock(std::string_view name, json::value input) {
  json::object out;
  out["type"] = "tool_use";
  out["id"] = UniqueId("toolu_");
  out["name"] = name;
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

MessagesReply::MessagesReply(std::string model, int32_t prompt_tokens, AnswerParser parser)
    : model_(std::move(model)), prompt_tokens_(prompt_tokens), parser_(std::move(parser)), id_(UniqueId("msg_")) {}

net::Response MessagesReply::Refusal(const ApiError& error) const { return AnthropicErrorResponse(error); }

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
  } else if (parser_.found() > 0) {
    out["stop_reason"] = "tool_use";
  } else if (finish.stop_string) {
    out["stop_reason"] = "stop_sequence";
    out["stop_sequence"] = *finish.stop_string;
  }
  return out;
}

net::Response MessagesReply::Whole(const std::vector<scheduler::StreamEvent>& answers, const ReplyTotals& totals) {
  const scheduler::StreamEvent& answer = answers.front();
  AnswerParser::Output parsed = parser_.Take(answer);
  json::array content;
  if (!parsed.reasoning.empty()) content.push_back(ThinkingBlock(parsed.reasoning, kUnsigned));
  for (const FoundToolCall& call : parsed.calls) parsed.content += call.source;
  if (!parsed.content.empty()) content.push_back(TextBlock(parsed.content));
  // An input is an object, so a call that was cut has none.
  for (const FoundToolCall& call : parsed.calls) {
    if (call.whole()) content.push_back(ToolUseBlock(call.name, json::parse(call.arguments)));
  }
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
  const AnswerParser::Output parsed = parser_.Take(event);
  for (const ToolCallPiece& piece : parsed.PiecesOfOpenCall()) AppendInput(piece, out);
  if (!parsed.reasoning.empty()) {
    Enter(Open::kThinking, ThinkingBlock("", ""), out);
    AppendDelta({{"type", "thinking_delta"}, {"thinking", parsed.reasoning}}, out);
  }
  if (!parsed.content.empty()) {
    Enter(Open::kText, TextBlock(""), out);
    AppendDelta({{"type", "text_delta"}, {"text", parsed.content}}, out);
  }
  for (const ToolCallPiece& piece : parsed.PiecesOfNewCalls()) {
    if (!piece.name.empty()) {
      Enter(Open::kNone, {}, out);
      Enter(Open::kToolUse, ToolUseBlock(piece.name, json::object()), out);
    }
    AppendInput(piece, out);
  }
  if (!event.finish) return;
  Enter(Open::kNone, {}, out);
  finish_ = *event.finish;
}

// Closes the open block, unless it is of this kind already, and opens `block`.
void MessagesReply::Enter(Open kind, json::object block, std::string& out) {
  if (open_ == kind) return;
  if (open_ == Open::kThinking) AppendDelta({{"type", "signature_delta"}, {"signature", kUnsigned}}, out);
  if (open_ != Open::kNone) StopBlock(out);
  open_ = kind;
  if (kind != Open::kNone) StartBlock(std::move(block), out);
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

void MessagesReply::AppendInput(const ToolCallPiece& piece, std::string& out) const {
  AppendDelta({{"type", "input_json_delta"}, {"partial_json", piece.arguments}}, out);
}

void MessagesReply::StopBlock(std::string& out) {
  AppendEvent({{"type", "content_block_stop"}, {"index", blocks_ - 1}}, out);
}

}  // namespace inferflux::server
