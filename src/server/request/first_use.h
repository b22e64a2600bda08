// Load on first use: a request that names a model of the pool that is not loaded waits for its load.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
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

// kSmall: takes microseconds, whatever the request says, so that it may run on a socket's thread.
enum class PreparationSize : uint8_t { kAny, kSmall };

// What a preparation returns: a coroutine's result must be default-constructible here.
template <class T>
using Prepared = std::unique_ptr<ApiResult<T>>;

template <class T>
using Prepare = std::function<ApiResult<T>(const Caller&)>;

// Counts that a preparation was not finished, and says when to retry.
ApiError NotPrepared(Services& services, const Caller& caller, ApiError error);

template <class T>
boost::asio::awaitable<Prepared<T>> PrepareOnce(Services& services, const Caller& caller, const Prepare<T>& prepare,
                                                net::ResponseWriter& writer, PreparationSize size) {
  Prepared<T> out;
  const std::function<void()> work = [&] { out = std::make_unique<ApiResult<T>>(prepare(caller)); };
  ApiStatus ended;
  if (size == PreparationSize::kSmall) {
    ended = co_await services.preparation.RunSmall(caller, writer, work);
  } else {
    ended = co_await services.preparation.Run(caller, writer, work);
  }
  if (!ended) out = std::make_unique<ApiResult<T>>(tl::make_unexpected(NotPrepared(services, caller, ended.error())));
  co_return out;
}

// Runs `prepare` in the preparation pool. If the model that it needs is not loaded, waits for it and runs it again. A
// caller that has used up its tokens of the minute is refused.
template <class T>
boost::asio::awaitable<Prepared<T>> PrepareWithModel(Services& services, const Caller& caller,
                                                     const Prepare<T>& prepare, net::ResponseWriter& writer,
                                                     PreparationSize size = PreparationSize::kAny) {
  if (const ApiStatus tokens = services.clients.CheckTokens(caller); !tokens) {
    co_return std::make_unique<ApiResult<T>>(Forward(tokens));
  }
  Caller limited = caller;
  limited.account_limits = services.clients.AccountLimitsOf(caller);
  Prepared<T> out = co_await PrepareOnce<T>(services, limited, prepare, writer, size);
  if (*out || out->error().load_first.empty()) co_return out;
  ApiError needed = out->error();
  const ModelWait wait = co_await AwaitModel(services, caller, std::move(needed), writer);
  if (!wait.model) co_return std::make_unique<ApiResult<T>>(tl::make_unexpected(wait.error));
  limited.waited_seconds = wait.seconds;
  out = co_await PrepareOnce<T>(services, limited, prepare, writer, size);
  co_return out;
}

}  // namespace inferflux::server
