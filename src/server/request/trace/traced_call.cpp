#include "server/request/trace/traced_call.h"

#include <boost/asio/awaitable.hpp>
#include <utility>

namespace inferflux::server {
namespace asio = boost::asio;

class TracedCall::Writer final : public net::ResponseWriter {
 public:
  Writer(net::ResponseWriter& to, RequestTrace& trace) : to_(to), trace_(trace) {}

  asio::awaitable<void> Send(net::Response response) override {
    status_ = response.status;
    if (!response.reason.empty()) trace_.Note({"reason", response.reason});
    return to_.Send(std::move(response));
  }
  asio::awaitable<bool> Begin(net::Response head) override {
    status_ = head.status;
    return to_.Begin(std::move(head));
  }
  asio::awaitable<bool> Write(std::string piece) override { return to_.Write(std::move(piece)); }
  asio::awaitable<bool> End(std::string piece) override { return to_.End(std::move(piece)); }
  bool Gone() const override { return to_.Gone(); }
  void Note(log::Field fact) override {
    trace_.Note(fact);
    to_.Note(std::move(fact));
  }
  const std::shared_ptr<net::Notifier>& notifier() const override { return to_.notifier(); }

  int status() const { return status_; }

 private:
  net::ResponseWriter& to_;
  RequestTrace& trace_;
  int status_ = 0;
};

TracedCall::TracedCall(const Tracing& tracing, const net::Request& request, std::string_view route,
                       net::ResponseWriter& writer)
    : exporter_(*tracing.exporter),
      trace_(
          std::make_shared<RequestTrace>(telemetry::ParseTraceParent(net::FindHeader(request.headers, "traceparent")),
                                         tracing.percent, request.method, route, request.id)),
      writer_(std::make_unique<Writer>(writer, *trace_)) {
  if (trace_->sampled()) writer.Note({"trace_id", trace_->trace_id()});
}

net::ResponseWriter& TracedCall::writer() { return *writer_; }

TracedCall::~TracedCall() { exporter_.Add(trace_->End(writer_->status())); }

}  // namespace inferflux::server
