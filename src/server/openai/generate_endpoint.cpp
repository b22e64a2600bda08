#include "server/openai/generate_endpoint.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <utility>

#include "server/openai/reply.h"
#include "server/request/count_request.h"

namespace inferflux::server {
namespace asio = boost::asio;
namespace {

// The result goes through a unique_ptr because a coroutine's result must be default-constructible here.
using PreparedJob = std::unique_ptr<ApiResult<Job>>;

asio::awaitable<PreparedJob> RunPrepare(Prepare prepare, const Services& services, const net::Request& request,
                                        const Caller& caller) {
  co_return std::make_unique<ApiResult<Job>>(prepare(services, request, caller));
}

}  // namespace

asio::awaitable<void> Generate(Services& services, const std::string& name, Prepare prepare, const Caller& caller,
                               const net::Request& request, net::ResponseWriter& writer) {
  const PreparedJob job = co_await asio::co_spawn(services.preparation, RunPrepare(prepare, services, request, caller),
                                                  asio::use_awaitable);
  if (!*job) {
    CountRequest(services.metrics, name, nullptr, "rejected");
    co_await writer.Send(ErrorResponse(job->error()));
    co_return;
  }
  const auto model = (*job)->model;
  const Outcome outcome = co_await Reply(std::move(**job), writer);
  CountRequest(services.metrics, name, model.get(), outcome);
}

}  // namespace inferflux::server
