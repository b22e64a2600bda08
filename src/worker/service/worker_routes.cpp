#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "worker/contract/generation_codec.h"
#include "worker/service/execute.h"
#include "worker/service/worker_service.h"

namespace inferflux::worker {
namespace asio = boost::asio;
namespace {

using Infos = std::vector<scheduler::SessionInfo>;

net::Response Json(int status, std::string body) { return net::Response(status, "application/json", std::move(body)); }

net::Response Readiness(const WorkerStatus& status) {
  const WorkerInfo info = status.Info();
  if (TakesRequests(info.state)) return Json(200, ToText(info));
  net::Response out = Json(503, ToText(info));
  out.headers.push_back({"Retry-After", "1"});
  return out;
}

// Passes the scheduler's answer to the thread that serves the request. Either may end first.
struct SessionBox {
  std::mutex mutex;
  std::optional<Result<Infos>> answer;
  std::shared_ptr<net::Notifier> notifier;
};

asio::awaitable<void> RunSession(WorkerService& service, const net::Request& request, net::ResponseWriter& writer) {
  const auto model = service.status.model();
  if (!model) {
    co_await writer.Send(NotServing(service.status.state()));
    co_return;
  }
  auto command = FromText<scheduler::SessionCommand>(request.body);
  if (!command) {
    co_await writer.Send(RefusalOf(command.error()));
    co_return;
  }
  const auto box = std::make_shared<SessionBox>();
  box->notifier = writer.notifier();
  model->scheduler->Session(std::move(*command), [box](Result<Infos> infos) {
    const std::lock_guard lock(box->mutex);
    box->answer = std::move(infos);
    if (box->notifier) box->notifier->Notify();
  });
  const auto take = [&] {
    const std::lock_guard lock(box->mutex);
    return std::exchange(box->answer, std::nullopt);
  };
  std::optional<Result<Infos>> answer = take();
  while (!answer && !writer.Gone()) {
    co_await writer.notifier()->Wait();
    answer = take();
  }
  {
    const std::lock_guard lock(box->mutex);
    box->notifier.reset();
  }
  if (!answer) co_return;
  net::Response response =
      *answer ? Json(200, ToText(SessionList{std::move(**answer)})) : RefusalOf(ToMessage(answer->error()));
  co_await writer.Send(std::move(response));
}

// With a token, only who has it is served; /healthz says no more than that the process lives.
net::Handler Guarded(WorkerService& service, net::Handler handler) {
  return [&service, handler = std::move(handler)](const net::Request& request,
                                                  net::ResponseWriter& writer) -> asio::awaitable<void> {
    if (!service.token.Admits(request)) {
      net::Response refusal =
          Json(401, ToText(ErrorOf(WorkerErrorCode::kInvalidRequest, "the request needs the pool's token")));
      co_await writer.Send(std::move(refusal));
      co_return;
    }
    co_await handler(request, writer);
  };
}

template <class Make>
net::Handler AnswerWith(Make make) {
  return [make = std::move(make)](const net::Request& request, net::ResponseWriter& writer) -> asio::awaitable<void> {
    net::Response response = make(request);
    co_await writer.Send(std::move(response));
  };
}

}  // namespace

bool RunningRequests::Add(const std::string& id, std::weak_ptr<scheduler::TokenStream> stream) {
  const std::lock_guard lock(mutex_);
  return streams_.emplace(id, std::move(stream)).second;
}

void RunningRequests::Remove(const std::string& id) {
  const std::lock_guard lock(mutex_);
  streams_.erase(id);
}

void RunningRequests::Cancel(const std::string& id) {
  std::shared_ptr<scheduler::TokenStream> stream;
  {
    const std::lock_guard lock(mutex_);
    const auto found = streams_.find(id);
    if (found != streams_.end()) stream = found->second.lock();
  }
  if (stream) stream->Cancel();
}

net::Router MakeWorkerRoutes(WorkerService& service) {
  net::Router out;
  out.Add("GET", "/healthz", AnswerWith([](const net::Request&) { return Json(200, R"({"status":"ok"})"); }));
  out.Add("GET", "/readyz",
          Guarded(service, AnswerWith([&service](const net::Request&) { return Readiness(service.status); })));
  out.Add("GET", "/info", Guarded(service, AnswerWith([&service](const net::Request&) {
                                    return Json(200, ToText(service.status.Info()));
                                  })));
  out.Add("POST", "/execute", Guarded(service, [&service](const net::Request& request, net::ResponseWriter& writer) {
            return Execute(service, request, writer);
          }));
  out.Add("POST", "/cancel", Guarded(service, AnswerWith([&service](const net::Request& request) {
                                       const auto message = FromText<CancelRequest>(request.body);
                                       if (!message) return RefusalOf(message.error());
                                       service.running.Cancel(message->request_id);
                                       return Json(202, "{}");
                                     })));
  out.Add("POST", "/sessions", Guarded(service, [&service](const net::Request& request, net::ResponseWriter& writer) {
            return RunSession(service, request, writer);
          }));
  out.Add("POST", "/shutdown", Guarded(service, AnswerWith([&service](const net::Request&) {
                                         service.shut_down();
                                         return Json(202, "{}");
                                       })));
  return out;
}

}  // namespace inferflux::worker
