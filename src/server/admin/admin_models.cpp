#include "server/admin/admin_models.h"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <chrono>
#include <future>
#include <optional>
#include <utility>

#include "config/schema.h"
#include "net/sse.h"
#include "server/admin/load_request.h"
#include "server/reply/unload_model.h"
#include "server/request/describe_model.h"
#include "server/request/json_body.h"

namespace inferflux::server {
namespace asio = boost::asio;
namespace json = boost::json;
namespace {

using Loaded = serving::ModelPool::Loaded;

constexpr std::chrono::milliseconds kPoll{100};
constexpr int64_t kUsualGrace = 30;  // seconds
constexpr int64_t kMaxGrace = 3600;

json::object DescribeLoading(const serving::LoadingModel& model) {
  json::object out;
  out["id"] = model.id;
  out["path"] = model.path;
  out["state"] = "loading";
  out["requested_backend"] = model.requested_backend;
  out["backend"] = model.progress.backend;
  out["provider"] = model.progress.provider;
  out["progress"] = model.progress.fraction;
  out["seconds"] = model.seconds;
  return out;
}

json::object DescribeFailed(const serving::FailedModel& model) {
  return {{"id", model.id},
          {"path", model.path},
          {"state", "failed"},
          {"requested_backend", model.requested_backend},
          {"error", model.error}};
}

json::object DescribeLoaded(const Services& services, const serving::ServedModel& model) {
  const scheduler::SchedulerStats stats = model.scheduler->stats();
  json::object out = DescribeServed(model, ModelView::kOperator);
  out["state"] = "ready";
  out["default"] = model.id == services.models.default_id();
  out["running"] = stats.running;
  out["queued"] = stats.queued;
  if (const auto stay = services.pool.Stay(model.id)) {
    const bool stays = stay->keep_alive == serving::kKeepLoaded;
    out["pinned"] = stay->pinned;
    out["keep_alive"] = stays ? -1 : static_cast<int64_t>(stay->keep_alive.count());
    out["pool_bytes"] = stay->bytes;
  }
  return out;
}

net::Response Json(int status, const json::object& body) {
  return net::Response(status, "application/json", json::serialize(body));
}

net::Response NoSuchModel(const Error& error) {
  return ErrorResponse({404, error.message, "invalid_request_error", "model", "model_not_found"});
}

// A file that cannot be read, or is no model, is the caller's to choose: the server is well.
ApiError FromLoad(const Error& error) {
  if (error.code != ErrorCode::kDataLoss && error.code != ErrorCode::kIo) return FromError(error, "path");
  return {400, error.message, "invalid_request_error", "path", "invalid_model"};
}

net::Response AnswerLoad(const Services& services, const Loaded& loaded) {
  if (!loaded) return ErrorResponse(FromLoad(loaded.error()));
  return Json(200, DescribeLoaded(services, **loaded));
}

// One event. The last event holds the model or the error, in the format that the endpoint has without a stream.
std::string Event(const json::object& body) {
  std::string out;
  net::AppendSseData(out, json::serialize(body));
  return out;
}

asio::awaitable<void> Pause() {
  asio::steady_timer timer(co_await asio::this_coro::executor, kPoll);
  co_await timer.async_wait(asio::use_awaitable);
}

asio::awaitable<void> TellProgress(Services& services, const std::string& id, const std::shared_future<Loaded>& done,
                                   net::ResponseWriter& writer) {
  net::Response head(200, "text/event-stream");
  if (!co_await writer.Begin(std::move(head))) co_return;
  std::string last;
  while (done.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    for (const serving::LoadingModel& model : services.pool.Loading()) {
      if (model.id != id) continue;
      std::string event = Event(DescribeLoading(model));
      if (event == last) continue;
      last = event;
      if (!co_await writer.Write(std::move(event))) co_return;
    }
    co_await Pause();
  }
  const net::Response answer = AnswerLoad(services, done.get());
  std::string tail;
  net::AppendSseData(tail, answer.body);
  net::AppendSseData(tail, "[DONE]");
  co_await writer.End(std::move(tail));
}

ApiResult<std::chrono::seconds> Grace(const net::Request& request) {
  const auto given = request.query.find("grace_seconds");
  if (given == request.query.end()) return std::chrono::seconds(kUsualGrace);
  int64_t seconds = -1;
  const char* end = given->second.data() + given->second.size();
  const auto [rest, error] = std::from_chars(given->second.data(), end, seconds);
  if (error != std::errc() || rest != end || seconds < 0 || seconds > kMaxGrace) {
    return Refuse("grace_seconds", "must be an integer from 0 to {}", kMaxGrace);
  }
  return std::chrono::seconds(seconds);
}

}  // namespace

net::Response ListAdminModels(Services& services, const net::Request&) {
  json::array data;
  for (const auto& model : services.models.List()) data.push_back(DescribeLoaded(services, *model));
  for (const auto& model : services.pool.Loading()) data.push_back(DescribeLoading(model));
  for (const auto& model : services.pool.Failed()) data.push_back(DescribeFailed(model));
  return Json(200, {{"object", "list"}, {"data", std::move(data)}});
}

net::Response SetDefaultModel(Services& services, const net::Request& request) {
  struct Body {
    std::string id;
  };
  static constexpr Field<Body> kFields[] = {{"id", TextField<Body>{&Body::id, 256}}};
  auto object = ParseJsonBody(request.body);
  if (!object) return ErrorResponse(object.error());
  Body body;
  if (ApiStatus taken = ParseObject<Body>(kFields, "", *object, body); !taken) return ErrorResponse(taken.error());
  if (Status set = services.models.SetDefault(body.id); !set) return NoSuchModel(set.error());
  return Json(200, {{"default", body.id}});
}

net::Response SetModelStay(Services& services, const net::Request& request) {
  struct Body {
    std::optional<int64_t> keep_alive;
    std::optional<bool> pin;
  };
  static constexpr Field<Body> kFields[] = {
      {"keep_alive", IntegerField<Body>{&Body::keep_alive, -1, config::kMaxKeepAlive}},
      {"pin", CustomField<Body>{[](const json::value& value, std::string_view param, Body& out) -> ApiStatus {
         if (!value.is_bool()) return Refuse(param, "must be true or false");
         out.pin = value.get_bool();
         return {};
       }}},
  };
  const std::string& id = request.parameters.at("id");
  auto object = ParseJsonBody(request.body);
  if (!object) return ErrorResponse(object.error());
  Body body;
  if (ApiStatus taken = ParseObject<Body>(kFields, "", *object, body); !taken) return ErrorResponse(taken.error());
  const auto keep_alive = body.keep_alive ? std::optional(serving::KeepAlive(*body.keep_alive)) : std::nullopt;
  const auto model = services.pool.GetLoadedModel(id);  // keeps the model until it is described
  if (!model) return NoSuchModel(model.error());
  if (Status set = services.pool.SetStay(id, body.pin, keep_alive); !set) return NoSuchModel(set.error());
  return Json(200, DescribeLoaded(services, **model));
}

asio::awaitable<void> LoadAdminModel(Services& services, const net::Request& request, net::ResponseWriter& writer) {
  auto body = ParseJsonBody(request.body);
  if (!body) {
    co_await writer.Send(ErrorResponse(body.error()));
    co_return;
  }
  auto load = ParseAdminLoad(*body, services.pool);
  if (!load) {
    co_await writer.Send(ErrorResponse(load.error()));
    co_return;
  }
  const std::string id = load->request.id;
  const bool stream = load->stream;
  const std::shared_future<Loaded> done = services.pool.StartLoad(std::move(load->request), load->is_default);
  if (stream) {
    co_await TellProgress(services, id, done, writer);
    co_return;
  }
  while (done.wait_for(std::chrono::seconds(0)) != std::future_status::ready && !writer.Gone()) co_await Pause();
  if (writer.Gone()) co_return;
  net::Response answer = AnswerLoad(services, done.get());
  co_await writer.Send(std::move(answer));
}

asio::awaitable<void> UnloadAdminModel(Services& services, const net::Request& request, net::ResponseWriter& writer) {
  const auto grace = Grace(request);
  if (!grace) {
    co_await writer.Send(ErrorResponse(grace.error()));
    co_return;
  }
  const std::string id = request.parameters.at("id");
  const Status unloaded = co_await UnloadModel(services, id, *grace);
  const std::string now = services.models.default_id();
  const json::value serves = now.empty() ? json::value(nullptr) : json::value(now);
  net::Response answer =
      unloaded ? Json(200, {{"id", id}, {"deleted", true}, {"default", serves}}) : NoSuchModel(unloaded.error());
  co_await writer.Send(std::move(answer));
}

}  // namespace inferflux::server
