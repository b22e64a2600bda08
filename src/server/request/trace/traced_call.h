// A call of an endpoint that runs a model, with its trace: hands the spans over when it ends, however it ends.
#pragma once

#include <memory>
#include <string_view>

#include "net/response_writer.h"
#include "server/request/trace/request_trace.h"
#include "telemetry/span_exporter.h"

namespace inferflux::server {

// Where traces go, and which are recorded.
struct Tracing {
  telemetry::SpanExporter* exporter = nullptr;  // null: there are no traces
  int percent = 100;                            // of the traces that begin here
};

class TracedCall {
 public:
  TracedCall(const Tracing& tracing, const net::Request& request, std::string_view route, net::ResponseWriter& writer);
  ~TracedCall();
  TracedCall(const TracedCall&) = delete;
  TracedCall& operator=(const TracedCall&) = delete;

  const std::shared_ptr<RequestTrace>& trace() const { return trace_; }
  // Passes everything on, and notes what the trace has to say.
  net::ResponseWriter& writer();

 private:
  class Writer;

  telemetry::SpanExporter& exporter_;
  const std::shared_ptr<RequestTrace> trace_;
  const std::unique_ptr<Writer> writer_;
};

}  // namespace inferflux::server
