#include "server/responses/responses_reply.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <ctime>
#include <utility>

#include "net/sse.h"
#include "server/reply/logprob_entry.h"
#include "server/request/unique_id.h"

namespace inferflux::server {
namespace json = boost::json;
using serving::AnswerParser;
namespace {

json::object ResponsesUsage(const scheduler::Usage& usage, int32_t reasoning) {
  json::object out;
  out["input_tokens"] = usage.prompt_tokens;
  out["input_tokens_details"] = {{"cached_tokens", usage.cached_tokens}, {"cache_write_tokens", 0}};
  out["output_tokens"] = usage.completion_tokens;
  out["output_tokens_details"] = {{"reasoning_tokens", reasoning}};
  out["total_tokens"] = usage.prompt_tokens + usage.completion_tokens;
  return out;
}

}  // namespace

ResponsesReply::ResponsesReply(Shape shape, AnswerParser parser, OnEnd on_end)
    : shape_(std::move(shape)), parser_(std::move(parser)), on_end_(std::move(on_end)), created_(std::time(nullptr)) {}

json::object ResponsesReply::Started(std::string_view status) const {
  json::object out;
  out["id"] = shape_.id;
  out["object"] = "response";
  out["created_at"] = created_;
  out["status"] = status;
  out["error"] = nullptr;
  out["incomplete_details"] = nullptr;
  out["model"] = shape_.model;
  out["output"] = json::array();
  for (const auto& [name, value] : shape_.echo) out[name] = value;
  return out;
}

net::Response ResponsesReply::Refusal(const ApiError& error) const {
  if (on_end_) {
    json::object failed = Started("failed");
    failed["error"] = {{"code", "server_error"}, {"message", error.message}};
    on_end_(failed);
  }
  return ErrorResponse(error);
}

// Where the open item is.
json::object ResponsesReply::Place() const {
  json::object out;
  out["item_id"] = item_id_;
  out["output_index"] = output_.size();
  return out;
}

void ResponsesReply::Emit(std::string_view type, json::object fields) {
  if (events_ == nullptr) return;
  json::object event;
  event["type"] = type;
  event["sequence_number"] = sequence_++;
  for (auto& [name, value] : fields) event[name] = std::move(value);
  *events_ += "event: ";
  *events_ += type;
  *events_ += '\n';
  net::AppendSseData(*events_, json::serialize(event));
}

json::object ResponsesReply::Part(std::string_view text, bool done) const {
  json::object out;
  if (open_ == Open::kReasoning) {
    out["type"] = "reasoning_text";
    out["text"] = text;
    return out;
  }
  out["type"] = "output_text";
  out["text"] = text;
  out["annotations"] = json::array();
  out["logprobs"] = done ? logprobs_ : json::array();
  return out;
}

// The open item. Its content is there once it is done.
json::object ResponsesReply::Item(std::string_view status) const {
  const bool done = status != "in_progress";
  json::array content;
  if (done) content.push_back(Part(text_, true));
  json::object out;
  out["id"] = item_id_;
  if (open_ == Open::kReasoning) {
    out["type"] = "reasoning";
    out["summary"] = json::array();
  } else {
    out["type"] = "message";
    out["role"] = "assistant";
  }
  out["content"] = std::move(content);
  out["status"] = status;
  return out;
}

// Closes the open item, unless it is of this kind already, and opens another one.
void ResponsesReply::Enter(Open kind) {
  if (open_ == kind) return;
  if (open_ == Open::kReasoning) CloseReasoning();
  if (open_ == Open::kMessage) CloseMessage();
  if (open_ == Open::kCall) CloseCall();
  open_ = kind;
  if (kind == Open::kNone) return;
  item_id_ = UniqueId(kind == Open::kReasoning ? "rs_" : "msg_");
  text_.clear();
  logprobs_.clear();
  Emit("response.output_item.added", {{"output_index", output_.size()}, {"item", Item("in_progress")}});
  json::object part = Place();
  part["content_index"] = 0;
  part["part"] = Part("", false);
  Emit("response.content_part.added", std::move(part));
}

void ResponsesReply::CloseReasoning() {
  json::object done = Place();
  done["content_index"] = 0;
  json::object part = done;
  done["text"] = text_;
  part["part"] = Part(text_, true);
  Emit("response.reasoning_text.done", std::move(done));
  Emit("response.content_part.done", std::move(part));
  json::object item = Item("completed");
  Emit("response.output_item.done", {{"output_index", output_.size()}, {"item", item}});
  output_.push_back(std::move(item));
}

void ResponsesReply::CloseMessage() {
  json::object done = Place();
  done["content_index"] = 0;
  json::object part = done;
  done["text"] = text_;
  done["logprobs"] = logprobs_;
  part["part"] = Part(text_, true);
  Emit("response.output_text.done", std::move(done));
  Emit("response.content_part.done", std::move(part));
  json::object item = Item(reason_ == scheduler::FinishReason::kLength ? "incomplete" : "completed");
  Emit("response.output_item.done", {{"output_index", output_.size()}, {"item", item}});
  output_.push_back(std::move(item));
}

void ResponsesReply::CloseCall() {
  const bool cut = call_end_ == text::FoundToolCall::End::kCut;
  json::object done = Place();
  if (input_) {
    done["input"] = text_;
    Emit("response.custom_tool_call_input.done", std::move(done));
  } else {
    done["name"] = call_name_;
    done["arguments"] = text_;
    Emit("response.function_call_arguments.done", std::move(done));
  }
  json::object item = CallItem(cut ? "incomplete" : "completed");
  Emit("response.output_item.done", {{"output_index", output_.size()}, {"item", item}});
  output_.push_back(std::move(item));
}

// The call is closed by what follows it.
void ResponsesReply::TakeCallPiece(const text::ToolCallPiece& piece) {
  if (!piece.name.empty()) {
    Enter(Open::kNone);
    open_ = Open::kCall;
    const auto& custom = shape_.custom_tools;
    input_.reset();
    if (std::ranges::find(custom, piece.name) != custom.end()) input_.emplace();
    item_id_ = UniqueId(input_ ? "ctc_" : "fc_");
    call_id_ = UniqueId("call_");
    call_name_ = piece.name;
    text_.clear();
    Emit("response.output_item.added", {{"output_index", output_.size()}, {"item", CallItem("in_progress")}});
  }
  std::string more = input_ ? input_->Take(piece.arguments) : piece.arguments;
  if (more.empty()) return;
  text_ += more;
  json::object delta = Place();
  delta["delta"] = std::move(more);
  Emit(input_ ? "response.custom_tool_call_input.delta" : "response.function_call_arguments.delta", std::move(delta));
}

json::object ResponsesReply::CallItem(std::string_view status) const {
  json::object out;
  out["id"] = item_id_;
  out["type"] = input_ ? "custom_tool_call" : "function_call";
  out["call_id"] = call_id_;
  out["name"] = call_name_;
  out[input_ ? "input" : "arguments"] = text_;
  out["status"] = status;
  return out;
}

void ResponsesReply::Take(const scheduler::StreamEvent& event) {
  const AnswerParser::Output parsed = parser_.Take(event);
  if (event.finish) reason_ = event.finish->reason;
  for (const text::ToolCallPiece& piece : parsed.PiecesOfOpenCall()) TakeCallPiece(piece);
  if (!parsed.reasoning.empty()) {
    Enter(Open::kReasoning);
    text_ += parsed.reasoning;
    json::object delta = Place();
    delta["content_index"] = 0;
    delta["delta"] = parsed.reasoning;
    Emit("response.reasoning_text.delta", std::move(delta));
  }
  if (!parsed.content.empty()) {
    Enter(Open::kMessage);
    text_ += parsed.content;
    json::array logprobs;
    if (shape_.logprobs) {
      for (const auto& token : event.tokens) logprobs.push_back(DescribeLogprobs(token));
      for (const json::value& entry : logprobs) logprobs_.push_back(entry);
    }
    json::object delta = Place();
    delta["content_index"] = 0;
    delta["delta"] = parsed.content;
    delta["logprobs"] = std::move(logprobs);
    Emit("response.output_text.delta", std::move(delta));
  }
  for (const text::ToolCallPiece& piece : parsed.PiecesOfNewCalls()) TakeCallPiece(piece);
  if (!parsed.calls.empty()) call_end_ = parsed.calls.back().end;
  if (!event.finish) return;
  // An answer without anything is a message without text.
  if (open_ == Open::kNone && output_.empty()) Enter(Open::kMessage);
  Enter(Open::kNone);
}

json::object ResponsesReply::Finished(const scheduler::Usage& usage) {
  const bool cut = reason_ == scheduler::FinishReason::kLength;
  json::object out = Started(cut ? "incomplete" : "completed");
  if (cut) {
    out["incomplete_details"] = {{"reason", "max_output_tokens"}};
  } else {
    out["completed_at"] = std::time(nullptr);
  }
  out["output"] = output_;
  out["usage"] = ResponsesUsage(usage, parser_.reasoning_tokens());
  if (on_end_) on_end_(out);
  return out;
}

net::Response ResponsesReply::Whole(const std::vector<scheduler::StreamEvent>& answers, const ReplyTotals& totals) {
  Take(answers.front());
  return net::Response(200, "application/json", json::serialize(Finished(totals.usage())));
}

void ResponsesReply::Begin(std::string& out) {
  events_ = &out;
  Emit("response.created", {{"response", Started("in_progress")}});
  Emit("response.in_progress", {{"response", Started("in_progress")}});
}

void ResponsesReply::Append(size_t, const scheduler::StreamEvent& event, std::string& out) {
  events_ = &out;
  Take(event);
}

void ResponsesReply::End(const ReplyTotals& totals, std::string& out) {
  events_ = &out;
  const bool cut = reason_ == scheduler::FinishReason::kLength;
  Emit(cut ? "response.incomplete" : "response.completed", {{"response", Finished(totals.usage())}});
}

void ResponsesReply::Fail(const ApiError& error, std::string& out) {
  events_ = &out;
  json::object failed = Started("failed");
  failed["error"] = {{"code", "server_error"}, {"message", error.message}};
  failed["output"] = output_;
  if (on_end_) on_end_(failed);
  Emit("response.failed", {{"response", std::move(failed)}});
}

}  // namespace inferflux::server
