#include "server/openai/openai_reply.h"

#include <boost/json/serialize.hpp>
#include <ctime>
#include <utility>

#include "net/sse.h"
#include "server/request/unique_id.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

json::object Usage(const scheduler::Usage& usage, std::optional<int32_t> reasoning) {
  json::object out;
  out["prompt_tokens"] = usage.prompt_tokens;
  out["completion_tokens"] = usage.completion_tokens;
  out["total_tokens"] = usage.prompt_tokens + usage.completion_tokens;
  out["prompt_tokens_details"] = {{"cached_tokens", usage.cached_tokens}};
  if (reasoning || usage.drafted_tokens > 0) {
    json::object details;
    if (reasoning) details["reasoning_tokens"] = *reasoning;
    details["accepted_prediction_tokens"] = usage.accepted_tokens;
    details["rejected_prediction_tokens"] = usage.drafted_tokens - usage.accepted_tokens;
    out["completion_tokens_details"] = std::move(details);
  }
  return out;
}

}  // namespace

std::string_view FinishName(scheduler::FinishReason reason) {
  return reason == scheduler::FinishReason::kLength ? "length" : "stop";
}

OpenAiReply::OpenAiReply(Shape shape, std::unique_ptr<ReplyFormat> format)
    : shape_(std::move(shape)),
      format_(std::move(format)),
      id_(UniqueId(format_->id_prefix())),
      created_(std::time(nullptr)) {}

json::object OpenAiReply::Envelope(json::array choices) const {
  json::object out;
  out["id"] = id_;
  out["object"] = format_->object_name(shape_.stream);
  out["created"] = created_;
  out["model"] = shape_.model;
  out["choices"] = std::move(choices);
  return out;
}

net::Response OpenAiReply::Whole(const std::vector<scheduler::StreamEvent>& answers, const ReplyTotals& totals) {
  json::array choices;
  for (size_t i = 0; i < answers.size(); ++i) choices.push_back(format_->Whole(i, answers[i]));
  json::object reply = Envelope(std::move(choices));
  reply["usage"] = Usage(totals.usage(), format_->reasoning_tokens());
  return net::Response(200, "application/json", json::serialize(reply));
}

void OpenAiReply::Begin(std::string& out) {
  for (size_t i = 0; i < shape_.choices; ++i) {
    if (json::value opening = format_->Opening(i); opening.is_object()) AppendChunk(std::move(opening), out);
  }
}

void OpenAiReply::Append(size_t index, const scheduler::StreamEvent& event, std::string& out) {
  streamed_tokens_ += static_cast<int32_t>(event.tokens.size());
  json::array choices;
  format_->Append(index, event, choices);
  for (json::value& choice : choices) AppendChunk(std::move(choice), out);
}

void OpenAiReply::End(const ReplyTotals& totals, std::string& out) {
  if (shape_.include_usage) {
    json::object last = Envelope({});
    last["usage"] = Usage(totals.usage(), format_->reasoning_tokens());
    net::AppendSseData(out, json::serialize(last));
  }
  net::AppendSseData(out, "[DONE]");
}

void OpenAiReply::Fail(const ApiError& error, std::string& out) {
  net::AppendSseData(out, ErrorJson(error));
  net::AppendSseData(out, "[DONE]");
}

// What was sent so far.
json::value OpenAiReply::ChunkUsage() const {
  if (!shape_.continuous_usage) return nullptr;
  return Usage({.prompt_tokens = shape_.prompt_tokens, .completion_tokens = streamed_tokens_},
               format_->reasoning_tokens());
}

void OpenAiReply::AppendChunk(json::value choice, std::string& out) const {
  json::array choices;
  choices.push_back(std::move(choice));
  json::object chunk = Envelope(std::move(choices));
  if (shape_.include_usage || shape_.continuous_usage) chunk["usage"] = ChunkUsage();
  net::AppendSseData(out, json::serialize(chunk));
}

}  // namespace inferflux::server
