#include "server/reply/generate.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <string>
#include <utility>

#include "server/reply/reply_loop.h"
#include "server/request/count_request.h"

namespace inferflux::server {
namespace asio = boost::asio;
namespace {

// The result goes through a unique_ptr because a coroutine's result must be default-constructible here.
using PreparedJob = std::unique_ptr<ApiResult<Job>>;

asio::awaitable<PreparedJob> RunPrepare(GeneratingEndpoint endpoint, const Services& services,
                                        const net::Request& request, const Caller& caller) {
  co_return std::make_unique<ApiResult<Job>>(endpoint.prepare(services, request, caller));
}

}  // namespace

asio::awaitable<void> Generate(GeneratingEndpoint endpoint, Services& services, const Caller& caller,
                               const net::Request& request, net::ResponseWriter& writer) {
  const std::string name(endpoint.name);
  const PreparedJob job = co_await asio::co_spawn(services.preparation, RunPrepare(endpoint, services, request, caller),
                                                  asio::use_awaitable);
  if (!*job) {
    CountRequest(services.metrics, name, nullptr, "rejected");
    co_await writer.Send(endpoint.refuse(job->error()));
    co_return;
  }
  const auto model = (*job)->model;
  const Outcome outcome = co_await Reply(std::move(**job), writer);
  CountRequest(services.metrics, name, model.get(), outcome);
}

}  // namespace inferflux::server
