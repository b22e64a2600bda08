#include "server/request/first_use.h"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <future>

namespace inferflux::server {
namespace asio = boost::asio;
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLoadPoll{20};

ApiError LoadError(const std::string& id, const Error& error) {
  switch (error.code) {
    case ErrorCode::kResourceExhausted:
      return {503, error.message, "service_unavailable_error", "model", "insufficient_memory", 10};
    case ErrorCode::kUnavailable:
    case ErrorCode::kCancelled:
      return FromStatus(503, error.message);
    case ErrorCode::kNotFound:
      return {404, error.message, "invalid_request_error", "model", "model_not_found"};
    default:
      return {500, fmt::format("the model '{}' failed to load: {}", id, error.message), "server_error", "model",
              "model_load_failed"};
  }
}

}  // namespace

ApiError NotPrepared(Services& services, const Caller& caller, ApiError error) {
  if (error.code == kPreparationLimit) {
    services.clients.CountRefusal("preparation", caller);
    error.retry_after = services.clients.RetryAfter(caller);
  }
  return error;
}

asio::awaitable<ModelWait> AwaitModel(Services& services, const Caller& caller, ApiError needed,
                                      net::ResponseWriter& writer) {
  ModelWait out;
  const std::string id = needed.load_first;
  if (!caller.MayLoad()) {
    out.error = {
        403,
        fmt::format("{}, and to load it on first use takes a key with the scope 'load' or 'admin'", needed.message),
        "invalid_request_error", "model", "insufficient_scope"};
    co_return out;
  }
  const auto began = Clock::now();
  const auto done = services.pool.StartLoadOf(id);
  asio::steady_timer timer(co_await asio::this_coro::executor);
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - began).count(); };
  while (done.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    if (writer.Gone()) {
      out.error = FromStatus(503, "the client has left, or the server is stopping");
      co_return out;
    }
    if (needed.load_timeout > 0 && seconds() >= needed.load_timeout) {
      out.error = FromError({ErrorCode::kResourceExhausted,
                             fmt::format("the request's timeout passed while the model '{}' was being loaded; its load "
                                         "goes on",
                                         id)},
                            "");
      co_return out;
    }
    timer.expires_after(kLoadPoll);
    co_await timer.async_wait(asio::use_awaitable);
  }
  out.seconds = seconds();
  const auto& loaded = done.get();
  if (loaded) {
    out.model = *loaded;
  } else {
    out.error = LoadError(id, loaded.error());
  }
  co_return out;
}

}  // namespace inferflux::server
