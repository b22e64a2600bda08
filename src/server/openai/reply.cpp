#include "server/openai/reply.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <ctime>
#include <optional>
#include <utility>
#include <vector>

#include "net/sse.h"
#include "server/request/unique_id.h"
#include "serving/generation/generation_group.h"

namespace inferflux::server {
namespace asio = boost::asio;
namespace json = boost::json;
using scheduler::FinishReason;
using scheduler::StreamEvent;
using serving::GenerationGroup;

std::string_view FinishName(FinishReason reason) { return reason == FinishReason::kLength ? "length" : "stop"; }

namespace {

// What all choices of a reply have in common, and what they add up to.
class Tally {
 public:
  explicit Tally(const Job& job)
      : per_prompt_(job.choices_per_prompt),
        id_(UniqueId(job.format->id_prefix())),
        object_(job.format->object_name(job.stream)),
        model_(job.model->id),
        created_(std::time(nullptr)) {}

  // A prompt's tokens count once, whatever n is.
  void Count(size_t index, const scheduler::Finish& finish) {
    if (index % per_prompt_ == 0) {
      usage_.prompt_tokens += finish.usage.prompt_tokens;
      usage_.cached_tokens += finish.usage.cached_tokens;
    }
    usage_.completion_tokens += finish.usage.completion_tokens;
    usage_.drafted_tokens += finish.usage.drafted_tokens;
    usage_.accepted_tokens += finish.usage.accepted_tokens;
    if (finish.reason == FinishReason::kError && !error_) error_ = FromError(finish.error, "");
    if (finish.reason == FinishReason::kCancelled && !error_) error_ = FromStatus(503, "the generation was cancelled");
    if (finish.reason == FinishReason::kLength) outcome_ = "length";
  }

  json::object Envelope(json::array choices) const {
    json::object out;
    out["id"] = id_;
    out["object"] = object_;
    out["created"] = created_;
    out["model"] = model_;
    out["choices"] = std::move(choices);
    return out;
  }

  json::object Usage() const {
    json::object out;
    out["prompt_tokens"] = usage_.prompt_tokens;
    out["completion_tokens"] = usage_.completion_tokens;
    out["total_tokens"] = usage_.prompt_tokens + usage_.completion_tokens;
    out["prompt_tokens_details"] = {{"cached_tokens", usage_.cached_tokens}};
    if (usage_.drafted_tokens > 0) {
      out["completion_tokens_details"] = {
          {"accepted_prediction_tokens", usage_.accepted_tokens},
          {"rejected_prediction_tokens", usage_.drafted_tokens - usage_.accepted_tokens}};
    }
    return out;
  }

  const std::optional<ApiError>& error() const { return error_; }
  const Outcome& outcome() const { return outcome_; }

 private:
  const size_t per_prompt_;
  const std::string id_;
  const std::string object_;
  const std::string model_;
  const int64_t created_;
  scheduler::Usage usage_;
  std::optional<ApiError> error_;
  Outcome outcome_ = "stop";
};

// Waits until the group has given something; false where the client has gone.
asio::awaitable<bool> NextEvents(GenerationGroup& group, net::ResponseWriter& writer,
                                 GenerationGroup::OnEvent on_event) {
  while (!writer.Gone()) {
    if (group.Drain(on_event)) co_return true;
    co_await writer.notifier()->Wait();
  }
  co_return false;
}

asio::awaitable<Outcome> ReplyWhole(Job& job, GenerationGroup group, net::ResponseWriter& writer) {
  Tally tally(job);
  std::vector<StreamEvent> whole(group.size());
  const auto collect = [&](size_t index, StreamEvent event) {
    StreamEvent& all = whole[index];
    all.text += event.text;
    std::move(event.tokens.begin(), event.tokens.end(), std::back_inserter(all.tokens));
    if (!event.prompt.empty()) all.prompt = std::move(event.prompt);
    if (!event.finish) return;
    tally.Count(index, *event.finish);
    all.finish = std::move(event.finish);
  };
  while (!group.finished() && !tally.error()) {
    if (!co_await NextEvents(group, writer, collect)) co_return "cancelled";
  }
  if (tally.error()) {
    co_await writer.Send(ErrorResponse(*tally.error()));
    co_return "error";
  }
  json::array choices;
  for (size_t i = 0; i < whole.size(); ++i) choices.push_back(job.format->Whole(i, whole[i]));
  json::object reply = tally.Envelope(std::move(choices));
  reply["usage"] = tally.Usage();
  net::Response response(200, "application/json", json::serialize(reply));
  co_await writer.Send(std::move(response));
  co_return tally.outcome();
}

// The chunks of a stream, as the bytes of its events.
class ChunkSink {
 public:
  ChunkSink(Job& job, Tally& tally, size_t choices) : job_(job), tally_(tally) {
    for (size_t i = 0; i < choices; ++i) {
      if (json::value opening = job_.format->Opening(i); opening.is_object()) Put({std::move(opening)});
    }
  }

  void Take(size_t index, const StreamEvent& event) {
    if (event.finish) tally_.Count(index, *event.finish);
    if (tally_.error()) return;
    json::array choices;
    job_.format->Append(index, event, choices);
    for (json::value& choice : choices) Put({std::move(choice)});
  }

  // An error is the terminal event of a stream that it ends; else the usage closes it where that was asked for.
  void Close() {
    if (tally_.error()) {
      net::AppendSseData(bytes_, ErrorJson(*tally_.error()));
    } else if (job_.include_usage) {
      json::object last = tally_.Envelope({});
      last["usage"] = tally_.Usage();
      net::AppendSseData(bytes_, json::serialize(last));
    }
    net::AppendSseData(bytes_, "[DONE]");
  }

  std::string Release() { return std::exchange(bytes_, {}); }

 private:
  void Put(json::array choice) {
    json::object chunk = tally_.Envelope(std::move(choice));
    if (job_.include_usage) chunk["usage"] = nullptr;
    net::AppendSseData(bytes_, json::serialize(chunk));
  }

  Job& job_;
  Tally& tally_;
  std::string bytes_;
};

asio::awaitable<Outcome> ReplyStream(Job& job, GenerationGroup group, net::ResponseWriter& writer) {
  Tally tally(job);
  ChunkSink sink(job, tally, group.size());
  const auto take = [&](size_t index, StreamEvent event) { sink.Take(index, event); };
  // The head goes out with the first event, so that a request which fails at once fails with its own status.
  if (!co_await NextEvents(group, writer, take)) co_return "cancelled";
  if (tally.error()) {
    co_await writer.Send(ErrorResponse(*tally.error()));
    co_return "error";
  }
  net::Response head(200, "text/event-stream; charset=utf-8");
  head.headers.push_back({"Cache-Control", "no-cache"});
  head.headers.push_back({"X-Accel-Buffering", "no"});  // asks nginx not to hold events back
  if (!co_await writer.Begin(std::move(head))) co_return "cancelled";
  while (!group.finished() && !tally.error()) {
    if (!co_await writer.Write(sink.Release())) co_return "cancelled";
    if (!co_await NextEvents(group, writer, take)) co_return "cancelled";
  }
  sink.Close();
  if (!co_await writer.Write(sink.Release()) || !co_await writer.End()) co_return "cancelled";
  if (tally.error()) co_return "error";
  co_return tally.outcome();
}

}  // namespace

asio::awaitable<Outcome> Reply(Job job, net::ResponseWriter& writer) {
  auto group = GenerationGroup::Submit(*job.model->scheduler, std::move(job.requests),
                                       [notifier = writer.notifier()] { notifier->Notify(); });
  if (!group) {
    ApiError error = FromError(group.error(), job.prompt_param);
    error.retry_after = job.model->scheduler->stats().retry_after_seconds;
    co_await writer.Send(ErrorResponse(error));
    co_return "rejected";
  }
  if (job.stream) co_return co_await ReplyStream(job, std::move(*group), writer);
  co_return co_await ReplyWhole(job, std::move(*group), writer);
}

}  // namespace inferflux::server
