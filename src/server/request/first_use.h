// Load on first use: a request that names a model of the pool that is not loaded waits for its load.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <functional>
#include <memory>
#include <utility>

#include "net/response_writer.h"
#include "server/request/api_error.h"
#include "server/request/services.h"

namespace inferflux::server {

// How a wait for a model ended.
struct ModelWait {
  std::shared_ptr<const serving::ServedModel> model;  // keeps it loaded; null after an error
  double seconds = 0;
  ApiError error = {};
};

// Begins the load that `needed` asks for, or joins it, and waits. The load goes on if the client leaves or the
// request's timeout passes. 403 if the caller's key lacks the scope.
boost::asio::awaitable<ModelWait> AwaitModel(Services& services, const Caller& caller, ApiError needed,
                                             net::ResponseWriter& writer);

// What a preparation returns: a coroutine's result must be default-constructible here.
template <class T>
using Prepared = std::unique_ptr<ApiResult<T>>;

template <class T>
using Prepare = std::function<ApiResult<T>(const Caller&)>;

template <class T>
boost::asio::awaitable<Prepared<T>> RunPrepare(const Prepare<T>& prepare, const Caller& caller) {
  co_return std::make_unique<ApiResult<T>>(prepare(caller));
}

// Runs `prepare` in the preparation pool. If the model that it needs is not loaded, waits for it and runs it again.
template <class T>
boost::asio::awaitable<Prepared<T>> PrepareWithModel(Services& services, const Caller& caller,
                                                     const Prepare<T>& prepare, net::ResponseWriter& writer) {
  Prepared<T> out =
      co_await boost::asio::co_spawn(services.preparation, RunPrepare<T>(prepare, caller), boost::asio::use_awaitable);
  if (*out || out->error().load_first.empty()) co_return out;
  ApiError needed = out->error();
  const ModelWait wait = co_await AwaitModel(services, caller, std::move(needed), writer);
  if (!wait.model) co_return std::make_unique<ApiResult<T>>(tl::make_unexpected(wait.error));
  Caller waited = caller;
  waited.waited_seconds = wait.seconds;
  out =
      co_await boost::asio::co_spawn(services.preparation, RunPrepare<T>(prepare, waited), boost::asio::use_awaitable);
  co_return out;
}

}  // namespace inferflux::server
