#include "server/completion_format.h"

#include <utility>

#include "server/logprobs.h"

namespace inferflux::server {
namespace json = boost::json;

json::object CompletionFormat::Choice(size_t index, const scheduler::StreamEvent& event) {
  json::object out;
  out["text"] = event.text;
  out["index"] = index;
  out["logprobs"] = nullptr;
  if (logprobs_ && !event.tokens.empty()) out["logprobs"] = CompletionLogprobs(event.tokens, offsets_[index]);
  out["finish_reason"] = nullptr;
  return out;
}

json::object CompletionFormat::Whole(size_t index, const scheduler::StreamEvent& all) {
  json::object out = Choice(index, all);
  out["finish_reason"] = FinishName(all.finish->reason);
  return out;
}

void CompletionFormat::Append(size_t index, const scheduler::StreamEvent& event, json::array& choices) {
  if (!event.text.empty() || (logprobs_ && !event.tokens.empty())) choices.push_back(Choice(index, event));
  if (!event.finish) return;
  json::object last = Choice(index, {});
  last["finish_reason"] = FinishName(event.finish->reason);
  choices.push_back(std::move(last));
}

}  // namespace inferflux::server
