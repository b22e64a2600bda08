// What each client holds of the server now, held to its limits (keys/limits.h): the connections on which it has
// requests, the bytes of their bodies, and the tokens that were computed for it. A client is a key, or an address where
// no keys are required. A refusal is a 429 with the time after which to retry, by the client's own rate.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "metrics/registry.h"
#include "net/listening/body_allowance.h"
#include "scheduler/generation.h"
#include "scheduler/queue/service_rate.h"
#include "server/request/access/api_keys.h"
#include "server/request/api_error.h"

namespace inferflux::server {

// Any thread.
class ClientTable {
 public:
  using Clock = std::chrono::steady_clock;

  explicit ClientTable(metrics::Registry& metrics) : metrics_(metrics) {}

  // 429 if the client used up its tokens of the minute.
  ApiStatus CheckTokens(const Caller& caller);

  // Admits a request whose head has arrived: it counts until the result is destroyed. 429 if the client has requests on
  // as many connections as it may. `refuse` words the refusal of the body.
  ApiResult<std::shared_ptr<net::BodyAllowance>> Enter(const Caller& caller, net::Response (*refuse)(const ApiError&));

  // What the scheduler needs to know of the client's limits.
  scheduler::AccountLimits AccountLimitsOf(const Caller& caller);

  // Counts a refusal in the metrics. The variety of labels is bounded: keys by their names, all tokens as one, and all
  // addresses as one.
  void CountRefusal(std::string_view limit, const Caller& caller);

  // Seconds after which the client should retry: the mean time between the ends of its last requests.
  int32_t RetryAfter(const Caller& caller);

  // Clients that are remembered.
  size_t size() const;

 private:
  struct Client {
    std::mutex mutex;
    int64_t requests = 0;  // that are being read or answered
    int64_t body_bytes = 0;
    scheduler::ServiceRate rate;
    std::shared_ptr<scheduler::TokenBucket> tokens = std::make_shared<scheduler::TokenBucket>();
  };
  class Hold;

  std::shared_ptr<Client> Of(const Caller& caller);
  void ForgetIdle();
  ApiError Refusal(std::string_view limit, const Caller& caller, std::string message, int32_t retry_after);
  static int32_t SecondsOf(Client& client);

  metrics::Registry& metrics_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<Client>> clients_;
};

}  // namespace inferflux::server
