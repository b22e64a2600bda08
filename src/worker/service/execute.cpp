#include "worker/service/execute.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/work_budget/work_budget.h"
#include "worker/contract/generation_codec.h"

namespace inferflux::worker {
namespace asio = boost::asio;
namespace {

using Clock = std::chrono::steady_clock;
using scheduler::StreamEvent;

constexpr size_t kMostTextInline = 4096;  // bytes of a raw prompt that are tokenised on a socket's thread

// A request that is ready for the scheduler, or all that is wrong with it. Default-constructible, as a coroutine's
// result must be.
struct Prepared {
  std::string request_id;
  std::optional<scheduler::GenerationRequest> request;
  FieldErrors errors;
};

Prepared Prepare(const ExecuteRequest& message, const serving::ServedModel& model, Clock::time_point began) {
  Prepared out{.request_id = message.request_id};
  out.request = FromMessage(message, model, began, out.errors);
  return out;
}

constexpr std::chrono::seconds kMostPreparation{10};  // of processor time

asio::awaitable<std::unique_ptr<Prepared>> PrepareElsewhere(const ExecuteRequest& message,
                                                            const serving::ServedModel& model,
                                                            Clock::time_point began) {
  // The pool has held the grammar to its own limit already, without the model's tokens.
  const WorkBudget budget({.cpu = kMostPreparation});
  co_return std::make_unique<Prepared>(Prepare(message, model, began));
}

// Lets go of a stream and of its id, however the answer ends.
class Answering {
 public:
  Answering(WorkerService& service, std::string id, std::shared_ptr<scheduler::TokenStream> stream)
      : service_(service), id_(std::move(id)), stream_(std::move(stream)) {
    ++service_.status.answering;
  }
  Answering(const Answering&) = delete;
  Answering& operator=(const Answering&) = delete;
  ~Answering() {
    stream_->SetNotify({});
    stream_->Cancel();  // no effect after its last event
    service_.running.Remove(id_);
    --service_.status.answering;
  }
  scheduler::TokenStream& stream() { return *stream_; }

  scheduler::Usage usage;  // once the stream has ended

 private:
  WorkerService& service_;
  const std::string id_;
  const std::shared_ptr<scheduler::TokenStream> stream_;
};

asio::awaitable<void> StreamEvents(WorkerService& service, Answering& answering, const std::string& id,
                                   Clock::time_point began, net::ResponseWriter& writer) {
  net::Response head(200, "text/event-stream; charset=utf-8");
  head.headers.push_back({"Cache-Control", "no-cache"});
  EventWriter events(began);
  events.Started(id, service.status.worker_id(), head.body);  // in one write, which wakes the pool once
  if (!co_await writer.Begin(std::move(head))) co_return;
  std::string bytes;
  bool finished = false;
  while (!finished) {
    while (auto event = answering.stream().TryPop()) {
      finished = event->finish.has_value();
      if (finished) answering.usage = event->finish->usage;
      events.Append(*event, Clock::now(), bytes);
    }
    if (finished) break;
    if (!bytes.empty() && !co_await writer.Write(std::exchange(bytes, {}))) co_return;
    if (writer.Gone()) co_return;
    co_await writer.notifier()->Wait();
  }
  co_await writer.End(std::move(bytes));
}

void LogGeneration(const ExecuteRequest& message, const scheduler::Usage& usage, Clock::duration time) {
  std::vector<log::Field> fields{
      {"request_id", message.client_request_id},
      {"generation_id", message.request_id},
      {"prompt_tokens", std::to_string(usage.prompt_tokens), true},
      {"completion_tokens", std::to_string(usage.completion_tokens), true},
      {"ms", fmt::format("{:.1f}", std::chrono::duration<double, std::milli>(time).count()), true}};
  if (!message.trace_parent.empty()) fields.push_back({"trace_parent", message.trace_parent});
  log::Write(log::Level::kInfo, "generation", fields);
}

}  // namespace

WireError ErrorOf(WorkerErrorCode code, std::string message) {
  return {.code = code,
          .message = std::move(message),
          .retriable = FactsOf(code).retriable,
          .kind = ErrorCode::kUnavailable};
}

net::Response RefusalOf(const WireError& error) {
  // A full queue is told apart from a worker that is not there by its status.
  const bool full = error.kind == ErrorCode::kResourceExhausted && error.code == WorkerErrorCode::kWorkerUnhealthy;
  net::Response out(full ? 429 : FactsOf(error.code).status, "application/json", ToText(error));
  if (error.retriable) out.headers.push_back({"Retry-After", "1"});
  return out;
}

net::Response RefusalOf(const FieldErrors& errors) {
  InvalidRequest body;
  for (const FieldError& error : errors.all()) body.errors.push_back({error.field, error.constraint, error.message});
  return net::Response(400, "application/json", ToText(body));
}

bool TakesRequests(WorkerState state) { return state == WorkerState::kReady || state == WorkerState::kBusy; }

net::Response NotServing(WorkerState state) {
  return RefusalOf(ErrorOf(WorkerErrorCode::kWorkerUnhealthy, fmt::format("the worker is {}", WordOf(state))));
}

asio::awaitable<void> Execute(WorkerService& service, const net::Request& request, net::ResponseWriter& writer) {
  const auto began = Clock::now();
  const WorkerState state = service.status.state();
  const auto model = service.status.model();
  if (!TakesRequests(state) || !model) {
    co_await writer.Send(NotServing(state));
    co_return;
  }
  auto message = FromText<ExecuteRequest>(request.body);
  if (!message) {
    co_await writer.Send(RefusalOf(message.error()));
    co_return;
  }
  std::unique_ptr<Prepared> prepared;
  if (message->grammar || message->text.size() > kMostTextInline) {
    prepared =
        co_await asio::co_spawn(service.preparation, PrepareElsewhere(*message, *model, began), asio::use_awaitable);
  } else {
    prepared = std::make_unique<Prepared>(Prepare(*message, *model, began));
  }
  if (!prepared->request) {
    co_await writer.Send(RefusalOf(prepared->errors));
    co_return;
  }
  auto stream = model->scheduler->Submit(std::move(*prepared->request));
  if (!stream) {
    co_await writer.Send(RefusalOf(ToMessage(stream.error())));
    co_return;
  }
  if (!service.running.Add(prepared->request_id, *stream)) {
    (*stream)->Cancel();
    FieldErrors taken;
    taken.Add("request_id", "unique", "is that of a running generation");
    co_await writer.Send(RefusalOf(taken));
    co_return;
  }
  Answering answering(service, prepared->request_id, std::move(*stream));
  answering.stream().SetNotify([notifier = writer.notifier()] { notifier->Notify(); });
  co_await StreamEvents(service, answering, prepared->request_id, began, writer);
  LogGeneration(*message, answering.usage, Clock::now() - began);
}

}  // namespace inferflux::worker
