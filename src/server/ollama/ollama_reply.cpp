#include "server/ollama/ollama_reply.h"

#include <fmt/chrono.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "server/ollama/ollama_error.h"
#include "server/reply/logprob_entry.h"

namespace inferflux::server {
namespace json = boost::json;
using serving::AnswerParser;
namespace {

json::object NewOllamaReply(const std::string& model) {
  json::object out;
  out["model"] = model;
  out["created_at"] = OllamaTime(std::chrono::system_clock::now());
  return out;
}

// Arguments are an object in this API. The parser has written them, so they are valid.
json::object OllamaToolCall(const text::FoundToolCall& call, size_t index) {
  json::object function;
  function["index"] = index;
  function["name"] = call.name;
  function["arguments"] = json::parse(call.arguments);
  return {{"function", std::move(function)}};
}

int64_t Nanoseconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

}  // namespace

std::string OllamaTime(std::chrono::system_clock::time_point time) {
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count() % 1'000'000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(time)), micros);
}

net::Response OllamaLoadReply(OllamaReply::Kind kind, const std::string& model, bool unload) {
  json::object out = NewOllamaReply(model);
  if (kind == OllamaReply::Kind::kChat) {
    out["message"] = json::object{{"role", "assistant"}, {"content", ""}};
  } else {
    out["response"] = "";
  }
  out["done"] = true;
  out["done_reason"] = unload ? "unload" : "load";
  return net::Response(200, "application/json", json::serialize(out));
}

OllamaReply::OllamaReply(Shape shape, AnswerParser parser) : shape_(std::move(shape)), parser_(std::move(parser)) {}

net::Response OllamaReply::Refusal(const ApiError& error) const { return OllamaErrorResponse(error); }

net::Response OllamaReply::Head() const {
  net::Response head = ReplySurface::Head();
  head.content_type = "application/x-ndjson";
  return head;
}

// Arguments are objects here: a call that was cut is left out, and one that is no JSON is text.
AnswerParser::Output OllamaReply::Parse(const scheduler::StreamEvent& event) {
  AnswerParser::Output out = parser_.Take(event);
  for (const auto& call : out.calls) out.content += call.source;
  std::erase_if(out.calls, [](const text::FoundToolCall& call) { return !call.whole(); });
  return out;
}

// `event`: null if its tokens are not shown.
json::object OllamaReply::Piece(const AnswerParser::Output& parsed, const scheduler::StreamEvent* event) {
  json::object out = NewOllamaReply(shape_.model);
  if (shape_.kind == Kind::kGenerate) {
    out["response"] = parsed.content;
    if (!parsed.reasoning.empty()) out["thinking"] = parsed.reasoning;
  } else {
    json::object message;
    message["role"] = "assistant";
    message["content"] = parsed.content;
    if (!parsed.reasoning.empty()) message["thinking"] = parsed.reasoning;
    if (!parsed.calls.empty()) {
      json::array calls;
      for (const auto& call : parsed.calls) calls.push_back(OllamaToolCall(call, calls_++));
      message["tool_calls"] = std::move(calls);
    }
    out["message"] = std::move(message);
  }
  if (shape_.logprobs && event != nullptr && !event->tokens.empty()) {
    json::array logprobs;
    for (const auto& token : event->tokens) logprobs.push_back(DescribeLogprobs(token));
    out["logprobs"] = std::move(logprobs);
  }
  out["done"] = false;
  return out;
}

void OllamaReply::AddEnd(const scheduler::Usage& usage, json::object& out) const {
  const auto now = Clock::now();
  const auto first = first_.value_or(now);
  out["done"] = true;
  out["done_reason"] = reason_ == scheduler::FinishReason::kLength ? "length" : "stop";
  out["total_duration"] = Nanoseconds(now - began_);
  out["load_duration"] = 0;  // the model was loaded before the request
  out["prompt_eval_count"] = usage.prompt_tokens;
  out["prompt_eval_duration"] = Nanoseconds(first - began_);
  out["eval_count"] = usage.completion_tokens;
  out["eval_duration"] = Nanoseconds(now - first);
}

net::Response OllamaReply::Whole(const std::vector<scheduler::StreamEvent>& answers, const ReplyTotals& totals) {
  const scheduler::StreamEvent& answer = answers.front();
  reason_ = answer.finish->reason;
  json::object out = Piece(Parse(answer), &answer);
  AddEnd(totals.usage(), out);
  // The first token's time is not known here.
  out["eval_duration"] = out["total_duration"];
  out["prompt_eval_duration"] = 0;
  return net::Response(200, "application/json", json::serialize(out));
}

void OllamaReply::Begin(std::string&) {}

void OllamaReply::Append(size_t, const scheduler::StreamEvent& event, std::string& out) {
  if (!first_) first_ = Clock::now();
  const AnswerParser::Output parsed = Parse(event);
  if (event.finish) reason_ = event.finish->reason;
  const bool tokens = shape_.logprobs && !event.tokens.empty();
  if (parsed.content.empty() && parsed.reasoning.empty() && parsed.calls.empty() && !tokens) return;
  out += json::serialize(Piece(parsed, &event));
  out += '\n';
}

void OllamaReply::End(const ReplyTotals& totals, std::string& out) {
  json::object last = Piece({}, nullptr);
  AddEnd(totals.usage(), last);
  out += json::serialize(last);
  out += '\n';
}

void OllamaReply::Fail(const ApiError& error, std::string& out) {
  out += OllamaErrorJson(error);
  out += '\n';
}

}  // namespace inferflux::server
