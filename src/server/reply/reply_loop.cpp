#include "server/reply/reply_loop.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "server/reply/likeliest_answers.h"
#include "serving/generation/generation_group.h"

namespace inferflux::server {
namespace asio = boost::asio;
using scheduler::StreamEvent;
using serving::GenerationGroup;

net::Response EventStreamHead() {
  net::Response head(200, "text/event-stream; charset=utf-8");
  head.headers.push_back({"Cache-Control", "no-cache"});
  head.headers.push_back({"X-Accel-Buffering", "no"});  // tells nginx not to buffer events
  return head;
}

net::Response ReplySurface::Head() const { return EventStreamHead(); }

namespace {

// Waits until the group has delivered an event. False if the client has disconnected.
asio::awaitable<bool> NextEvents(GenerationGroup& group, net::ResponseWriter& writer,
                                 GenerationGroup::OnEvent on_event) {
  while (!writer.Gone()) {
    if (group.Drain(on_event)) co_return true;
    co_await writer.notifier()->Wait();
  }
  co_return false;
}

// For the log's line of the request.
void NoteTotals(const ReplyTotals& totals, net::ResponseWriter& writer) {
  const auto count = [&](const char* name, int64_t tokens) { writer.Note({name, std::to_string(tokens), true}); };
  count("prompt_tokens", totals.usage().prompt_tokens);
  count("cached_tokens", totals.usage().cached_tokens);
  count("completion_tokens", totals.usage().completion_tokens);
}

asio::awaitable<Outcome> ReplyWhole(Job& job, GenerationGroup group, net::ResponseWriter& writer) {
  ReplyTotals totals(job.choices_per_prompt, job.trace);
  std::vector<StreamEvent> answers(group.size());
  const auto collect = [&](size_t index, StreamEvent event) {
    StreamEvent& all = answers[index];
    all.text += event.text;
    std::move(event.tokens.begin(), event.tokens.end(), std::back_inserter(all.tokens));
    if (!event.prompt.empty()) all.prompt = std::move(event.prompt);
    if (event.next_tokens) all.next_tokens = std::move(event.next_tokens);
    if (!event.finish) return;
    totals.Count(index, *event.finish);
    all.finish = std::move(event.finish);
  };
  while (!group.finished() && !totals.error()) {
    if (!co_await NextEvents(group, writer, collect)) co_return "cancelled";
  }
  NoteTotals(totals, writer);
  if (totals.error()) {
    co_await writer.Send(job.surface->Refusal(*totals.error()));
    co_return "error";
  }
  if (job.kept_choices > 0) {
    answers = LikeliestAnswers(std::move(answers), job.choices_per_prompt, job.kept_choices);
  }
  net::Response response = job.surface->Whole(answers, totals);
  std::ranges::copy(job.headers, std::back_inserter(response.headers));
  co_await writer.Send(std::move(response));
  co_return totals.outcome();
}

asio::awaitable<Outcome> ReplyStream(Job& job, GenerationGroup group, net::ResponseWriter& writer) {
  ReplyTotals totals(job.choices_per_prompt, job.trace);
  ReplySurface& surface = *job.surface;
  std::string bytes;
  surface.Begin(bytes);
  const auto take = [&](size_t index, StreamEvent event) {
    if (event.finish) totals.Count(index, *event.finish);
    if (!totals.error()) surface.Append(index, event, bytes);
  };
  // The head is sent with the first event, so that a request that fails at once gets its own status.
  if (!co_await NextEvents(group, writer, take)) co_return "cancelled";
  if (totals.error()) {
    co_await writer.Send(surface.Refusal(*totals.error()));
    co_return "error";
  }
  net::Response head = surface.Head();
  std::ranges::copy(job.headers, std::back_inserter(head.headers));
  if (!co_await writer.Begin(std::move(head))) co_return "cancelled";
  while (!group.finished() && !totals.error()) {
    if (!co_await writer.Write(std::exchange(bytes, {}))) co_return "cancelled";
    if (!co_await NextEvents(group, writer, take)) co_return "cancelled";
  }
  // An error ends a stream. It can no longer have its own status.
  NoteTotals(totals, writer);
  if (totals.error()) {
    writer.Note({"reason", totals.error()->message});  // the status is 200
    surface.Fail(*totals.error(), bytes);
  } else {
    surface.End(totals, bytes);
  }
  if (!co_await writer.End(std::move(bytes))) co_return "cancelled";
  if (totals.error()) co_return "error";
  co_return totals.outcome();
}

}  // namespace

asio::awaitable<Outcome> Reply(Job job, net::ResponseWriter& writer) {
  writer.Note({"model", job.model->id});
  const std::string account = job.requests.empty() ? std::string() : job.requests.front().account;
  auto group = GenerationGroup::Submit(*job.model->scheduler, std::move(job.requests),
                                       [notifier = writer.notifier()] { notifier->Notify(); });
  if (!group) {
    ApiError error = FromError(group.error(), job.prompt_param);
    error.retry_after = job.model->scheduler->RetryAfter(account);
    co_await writer.Send(job.surface->Refusal(error));
    co_return "rejected";
  }
  if (job.stream) co_return co_await ReplyStream(job, std::move(*group), writer);
  co_return co_await ReplyWhole(job, std::move(*group), writer);
}

}  // namespace inferflux::server
