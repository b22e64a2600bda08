#include "server/openai/llama_server/infill_reply.h"

#include <boost/json/serialize.hpp>

#include "net/sse.h"

namespace inferflux::server {
namespace json = boost::json;

json::object InfillReply::Final(const std::string& content, const ReplyTotals& totals) const {
  const scheduler::Usage& usage = totals.usage();
  json::object out;
  out["content"] = content;
  out["stop"] = true;
  out["model"] = model_;
  out["tokens_predicted"] = usage.completion_tokens;
  out["tokens_evaluated"] = usage.prompt_tokens;
  out["tokens_cached"] = usage.cached_tokens;
  out["truncated"] = false;
  out["stop_type"] = finish_.reason == scheduler::FinishReason::kLength ? "limit"
                     : finish_.stop_string                              ? "word"
                                                                        : "eos";
  out["stopping_word"] = finish_.stop_string.value_or("");
  return out;
}

net::Response InfillReply::Whole(const std::vector<scheduler::StreamEvent>& answers, const ReplyTotals& totals) {
  finish_ = *answers.front().finish;
  return net::Response(200, "application/json", json::serialize(Final(answers.front().text, totals)));
}

void InfillReply::Append(size_t, const scheduler::StreamEvent& event, std::string& out) {
  if (event.finish) finish_ = *event.finish;
  if (event.text.empty()) return;
  net::AppendSseData(out, json::serialize(json::object{{"content", event.text}, {"stop", false}}));
}

void InfillReply::End(const ReplyTotals& totals, std::string& out) {
  net::AppendSseData(out, json::serialize(Final("", totals)));
}

void InfillReply::Fail(const ApiError& error, std::string& out) { net::AppendSseData(out, ErrorJson(error)); }

}  // namespace inferflux::server
