#include "worker/remote/remote_scheduler.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "net/sse.h"
#include "scheduler/queue/admission.h"
#include "worker/contract/generation_codec.h"

namespace inferflux::worker {
namespace asio = boost::asio;
namespace {

using Clock = std::chrono::steady_clock;
using scheduler::FinishReason;
using scheduler::StreamEvent;

constexpr auto kTimerAwait = asio::as_tuple(asio::use_awaitable);
// How long a cancelled answer may take to end before its connection is closed.
constexpr std::chrono::milliseconds kCancelTime{2'000};
constexpr std::chrono::seconds kStopTime{10};
// The beginning of the id of a session that carries a prompt from one worker to another. No client can name it so.
constexpr std::string_view kPromptSession = "prompt ";
constexpr std::chrono::seconds kPromptTime{60};  // for the KV of a prompt in the store

StreamEvent LastEvent(FinishReason reason, Error error) {
  StreamEvent out;
  out.finish = scheduler::Finish{.reason = reason, .error = std::move(error), .usage = {}};
  return out;
}

// The error of an answer that is no stream of events.
Error RefusalFrom(const WorkerLink& link, int status, const std::string& body) {
  if (const auto error = FromText<WireError>(body)) return FromMessage(*error);
  if (const auto invalid = FromText<InvalidRequest>(body); invalid && !invalid->errors.empty()) {
    std::string all;
    for (const InvalidField& each : invalid->errors) all += (all.empty() ? "" : "; ") + each.field + " " + each.message;
    return {.code = ErrorCode::kInvalidArgument, .message = std::move(all)};
  }
  return {.code = ErrorCode::kInternal, .message = fmt::format("worker {} answered {}", link.worker_id, status)};
}

net::ClientRequest ExecutionOf(const scheduler::GenerationRequest& request, const std::string& id,
                               const WorkerLink& link) {
  return {.method = "POST",
          .target = "/execute",
          .headers = link.headers,
          .body = ToText(ToMessage(request, id, Clock::now()))};
}

class InFlight {
 public:
  explicit InFlight(WorkerLink& link) : link_(link) { ++link_.in_flight; }
  ~InFlight() { --link_.in_flight; }
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

 private:
  WorkerLink& link_;
};

}  // namespace

// One request, on the io thread, except for its stream.
struct RemoteScheduler::Call : std::enable_shared_from_this<Call> {
  Call(asio::io_context& io, scheduler::GenerationRequest spec, std::string name)
      : request(std::move(spec)), id(std::move(name)), wake(io), give_up(io) {
    wake.expires_at(Clock::time_point::max());
  }

  scheduler::GenerationRequest request;
  const std::string id;
  const Clock::time_point submitted = Clock::now();
  const std::shared_ptr<scheduler::TokenStream> stream = std::make_shared<scheduler::TokenStream>();
  std::shared_ptr<WorkerLink> prompt_link;  // computes the prompt first; may be null
  std::shared_ptr<WorkerLink> link;
  net::Exchange* prefill = nullptr;        // while another worker computes its prompt
  std::unique_ptr<net::SentRequest> sent;  // on a connection to `link`; null: not yet
  net::Exchange* exchange = nullptr;       // while its answer is read
  asio::steady_timer wake;                 // cancelled when the client has read something, or has gone
  asio::steady_timer give_up;              // ends the reading of a cancelled answer
  EventReader reader;
  bool cancel_sent = false;
  std::optional<Clock::time_point> last_token;
};

RemoteScheduler::RemoteScheduler(asio::io_context& io, std::shared_ptr<WorkerDirectory> workers,
                                 engine::EngineInfo info, metrics::ModelMetrics metrics)
    : io_(io),
      workers_(std::move(workers)),
      info_(std::move(info)),
      poster_(std::make_shared<Poster>(io)),
      metrics_(std::move(metrics)) {}

RemoteScheduler::~RemoteScheduler() { Stop(); }

Result<std::shared_ptr<scheduler::TokenStream>> RemoteScheduler::Submit(scheduler::GenerationRequest request) {
  if (stopping_) return Fail(ErrorCode::kUnavailable, "the model is being unloaded");
  if (draining_) return Fail(ErrorCode::kUnavailable, "the server is stopping");
  if (const auto fits = CheckRequest(request, info_); !fits) return Forward(fits);
  auto prompt_link = workers_->RoutePrefill(request);
  auto link = workers_->Route(request, nullptr);
  if (!link) return Forward(link);
  const auto call =
      std::make_shared<Call>(io_, std::move(request), fmt::format("{}-{}", (*link)->worker_id, next_id_++));
  call->prompt_link = std::move(prompt_link);
  call->link = std::move(*link);
  // At once, on this thread: the worker begins while the thread that reads its answer wakes up.
  if (!call->prompt_link) call->sent = call->link->client->SendNow(ExecutionOf(call->request, call->id, *call->link));
  call->stream->SetWake([this, poster = poster_, weak = std::weak_ptr(call)] {
    poster->Post([this, weak] {
      if (const auto woken = weak.lock()) OnWake(*woken);
    });
  });
  {
    const std::lock_guard lock(mutex_);
    calls_.insert(call);
    metrics_.running_sequences.Set(static_cast<double>(calls_.size()));
  }
  const bool posted = poster_->Post([this, call] { asio::co_spawn(io_, Run(call), asio::detached); });
  if (!posted) {
    Forget(call);
    return Fail(ErrorCode::kUnavailable, "the model is being unloaded");
  }
  return call->stream;
}

asio::awaitable<void> RemoteScheduler::Run(CallPtr call) {
  std::shared_ptr<WorkerLink> failed;
  if (call->prompt_link) co_await Prefill(*call, *call->prompt_link);
  for (;;) {
    if (stopping_ || call->stream->cancelled()) {
      Deliver(*call, LastEvent(FinishReason::kCancelled,
                               {.code = ErrorCode::kUnavailable, .message = "the generation was cancelled"}));
      break;
    }
    if (cut_) {
      Deliver(*call,
              LastEvent(FinishReason::kError, {.code = ErrorCode::kUnavailable, .message = "the server is stopping"}));
      break;
    }
    const Status ended = co_await Attempt(*call, *call->link);
    if (ended) break;
    if (stopping_ || cut_ || call->stream->cancelled()) continue;
    const bool lost = ended.error().code == ErrorCode::kUnavailable;
    if (!lost || failed || call->reader.delivered()) {
      Error error = ended.error();
      if (lost) error.message = fmt::format("worker {} was lost: {}", call->link->worker_id, error.message);
      Deliver(*call, LastEvent(FinishReason::kError, std::move(error)));
      break;
    }
    failed = call->link;
    auto other = workers_->Route(call->request, failed.get());
    if (!other) {
      Deliver(*call, LastEvent(FinishReason::kError, other.error()));
      break;
    }
    log::Write(log::Level::kInfo,
               fmt::format("worker {} was lost before the first token of a request; {} gets it", failed->worker_id,
                           (*other)->worker_id),
               {{"request_id", call->request.request_id}});
    workers_->CountRetry();
    call->link = std::move(*other);
    call->reader = {};
  }
  Forget(call);
}

// Returns when the store has the prompt's KV, or when something has failed.
asio::awaitable<void> RemoteScheduler::Prefill(Call& call, WorkerLink& link) {
  const InFlight counted(link);
  scheduler::GenerationRequest prompt;
  prompt.prompt = call.request.prompt;
  prompt.max_tokens = 1;
  prompt.ignore_eos = true;
  prompt.account = call.request.account;
  prompt.request_id = call.request.request_id;
  prompt.trace_parent = call.request.trace_parent;
  prompt.cache_salt = call.request.cache_salt;
  prompt.priority = call.request.priority;
  prompt.deadline = call.request.deadline;
  prompt.session = call.request.session.value_or(scheduler::SessionUse{
      .id = fmt::format("{}{:x} {}", kPromptSession, nonce_, call.id), .ttl = kPromptTime, .once = false});
  net::ClientRequest execute{.method = "POST",
                             .target = "/execute",
                             .headers = link.headers,
                             .body = ToText(ToMessage(prompt, call.id + "-prompt", Clock::now()))};
  auto exchange = co_await link.client->Start(std::move(execute));
  if (!exchange || (*exchange)->status() != 200 || stopping_ || cut_) co_return;
  call.prefill = exchange->get();
  const auto answer = co_await (*exchange)->ReadAll();
  call.prefill = nullptr;
  if (!answer || call.stream->cancelled() || stopping_ || cut_) co_return;
  const scheduler::SessionCommand save{
      .action = scheduler::SessionCommand::Action::kSave, .id = prompt.session->id, .salt = prompt.cache_salt};
  const net::ClientRequest request{
      .method = "POST", .target = "/sessions", .headers = link.headers, .body = ToText(save)};
  const auto saved = co_await link.client->Send(request);
  if (!saved || saved->status != 200) {
    log::Write(log::Level::kWarning,
               fmt::format("worker {} computed a prompt and could not hand it over", link.worker_id),
               {{"request_id", call.request.request_id}});
    co_return;
  }
  workers_->CountPrefill();
  if (call.request.session) co_return;
  call.request.session = prompt.session;
  call.request.session->once = true;
}

// Success: the answer is complete, and its last event has been delivered.
asio::awaitable<Status> RemoteScheduler::Attempt(Call& call, WorkerLink& link) {
  const InFlight counted(link);
  if (!call.sent) call.sent = link.client->SendNow(ExecutionOf(call.request, call.id, link));
  auto exchange = co_await link.client->Resume(std::move(call.sent));
  if (!exchange) co_return Forward(exchange);
  if ((*exchange)->status() != 200) {
    const auto body = co_await (*exchange)->ReadAll();
    if (!body) co_return Forward(body);
    co_return tl::make_unexpected(RefusalFrom(link, (*exchange)->status(), *body));
  }
  // Hasten closes only an exchange that it sees here, so a stop while the head was awaited is noticed now.
  if (stopping_ || cut_) co_return Fail(ErrorCode::kUnavailable, "the server is stopping");
  call.exchange = exchange->get();
  OnWake(call);  // it may have been cancelled meanwhile
  Status ended = co_await ReadEvents(call, **exchange);
  call.exchange = nullptr;
  co_return ended;
}

asio::awaitable<Status> RemoteScheduler::ReadEvents(Call& call, net::Exchange& exchange) {
  net::SseParser parser;
  for (;;) {
    const auto piece = co_await exchange.Read();
    if (!piece) co_return Forward(piece);
    if (piece->empty()) {
      if (call.reader.finished()) co_return Status();
      co_return Fail(ErrorCode::kUnavailable, "its answer ended early");
    }
    Status broken;
    const Status fed = parser.Feed(*piece, [&](const net::SseParser::Event& event) {
      if (!broken) return;
      auto read = call.reader.Read(event.data);
      if (!read) {
        broken = Forward(read);
      } else if (*read) {
        Deliver(call, std::move(**read));
      }
    });
    if (!fed) co_return Forward(fed);
    if (!broken) co_return broken;
    // A client that does not read stops the reading of its answer, and so, in the end, its sequence.
    while (call.stream->full() && !call.stream->cancelled() && !stopping_ && !cut_)
      co_await call.wake.async_wait(kTimerAwait);
  }
}

void RemoteScheduler::OnWake(Call& call) {
  call.wake.cancel();
  if (call.stream->cancelled() && call.prefill != nullptr) return call.prefill->Close();
  if (!call.stream->cancelled() || call.cancel_sent || call.exchange == nullptr) return;
  call.cancel_sent = true;
  call.give_up.expires_after(kCancelTime);
  call.give_up.async_wait([weak = call.weak_from_this()](boost::system::error_code) {
    const auto late = weak.lock();
    if (late && late->exchange != nullptr) late->exchange->Close();
  });
  net::ClientRequest request{
      .method = "POST", .target = "/cancel", .headers = call.link->headers, .body = ToText(CancelRequest{call.id})};
  asio::co_spawn(
      io_,
      [](std::shared_ptr<net::AsyncClient> client, net::ClientRequest message) -> asio::awaitable<void> {
        co_await client->Send(std::move(message));
      }(call.link->client, std::move(request)),
      asio::detached);
}

void RemoteScheduler::Deliver(Call& call, StreamEvent event) {
  const auto now = Clock::now();
  const auto seconds = [](auto time) { return std::chrono::duration<double>(time).count(); };
  if (!event.tokens.empty() || !event.text.empty()) {
    if (call.last_token) {
      metrics_.inter_token.Observe(seconds(now - *call.last_token));
    } else {
      metrics_.time_to_first.Observe(seconds(now - call.submitted));
    }
    call.last_token = now;
  }
  if (event.finish) {
    const scheduler::Usage& usage = event.finish->usage;
    metrics_.prompt_tokens.Add(usage.prompt_tokens - usage.cached_tokens);
    metrics_.cached_tokens.Add(usage.cached_tokens);
    metrics_.generated_tokens.Add(usage.completion_tokens);
    metrics_.drafted_tokens.Add(usage.drafted_tokens);
    metrics_.accepted_tokens.Add(usage.accepted_tokens);
    if (const auto& bucket = call.request.account_limits.tokens) {
      bucket->Charge(usage.prompt_tokens - usage.cached_tokens + usage.completion_tokens, now);
    }
    history_.Add({.request_id = call.request.request_id,
                  .account = call.request.account,
                  .seconds = seconds(now - call.submitted),
                  .reason = event.finish->reason,
                  .usage = usage,
                  .phases = event.finish->phases});
  }
  call.stream->Push(std::move(event));
}

void RemoteScheduler::Forget(const CallPtr& call) {
  const std::lock_guard lock(mutex_);
  calls_.erase(call);
  metrics_.running_sequences.Set(static_cast<double>(calls_.size()));
  if (calls_.empty()) idle_.notify_all();
}

void RemoteScheduler::Session(scheduler::SessionCommand command, scheduler::SessionReply reply) {
  const bool posted = poster_->Post(
      [this, command = std::move(command), reply] { asio::co_spawn(io_, RunSession(command, reply), asio::detached); });
  if (!posted) reply(Fail(ErrorCode::kUnavailable, "the model is being unloaded"));
}

// A list is that of all workers; any other command is for the worker that knows the session.
asio::awaitable<void> RemoteScheduler::RunSession(scheduler::SessionCommand command, scheduler::SessionReply reply) {
  const bool list = command.action == scheduler::SessionCommand::Action::kList;
  std::vector<scheduler::SessionInfo> all;
  Error error{.code = ErrorCode::kUnavailable, .message = "no worker of the model serves"};
  bool any = false;
  for (const auto& link : workers_->Links()) {
    // Named, because GCC 12 destroys such a temporary twice inside a co_await expression.
    const net::ClientRequest request{
        .method = "POST", .target = "/sessions", .headers = link->headers, .body = ToText(command)};
    const auto answer = co_await link->client->Send(request);
    if (!answer) {
      error = answer.error();
      continue;
    }
    const auto sessions = FromText<SessionList>(answer->body);
    if (answer->status != 200 || !sessions) {
      error = RefusalFrom(*link, answer->status, answer->body);
      continue;
    }
    any = true;
    std::ranges::copy_if(sessions->sessions, std::back_inserter(all),
                         [](const auto& session) { return !session.id.starts_with(kPromptSession); });
    if (!list) break;
  }
  reply(any ? Result<std::vector<scheduler::SessionInfo>>(std::move(all)) : tl::make_unexpected(error));
}

// The workers drain their own queues: what waits there has been accepted, and ends with the rest.
void RemoteScheduler::Drain(bool running) {
  draining_ = true;
  if (!running || cut_.exchange(true)) return;
  Hasten();
}

// Makes each call look at the flags now.
void RemoteScheduler::Hasten() {
  std::vector<CallPtr> running;
  {
    const std::lock_guard lock(mutex_);
    running.assign(calls_.begin(), calls_.end());
  }
  // Without `this`: where nothing runs, the scheduler may be gone before the io thread comes to this. A call that is
  // submitted after the copy sees the flags when it begins.
  poster_->Post([running = std::move(running)] {
    for (const CallPtr& call : running) {
      call->wake.cancel();
      if (call->exchange != nullptr) call->exchange->Close();
      if (call->prefill != nullptr) call->prefill->Close();
    }
  });
}

void RemoteScheduler::Stop() {
  std::call_once(stopped_, [this] {
    stopping_ = true;
    Hasten();
    const auto await_idle = [this] {
      std::unique_lock lock(mutex_);
      return idle_.wait_for(lock, kStopTime, [this] { return calls_.empty(); });
    };
    const bool idle = await_idle();
    poster_->Close();
    workers_->Stop();
    // What waits for a worker that hangs ends with that worker's process.
    if (!idle && !await_idle()) log::Error("requests to workers did not end");
  });
}

}  // namespace inferflux::worker
