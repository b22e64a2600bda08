// Spans as OTLP's JSON: an ExportTraceServiceRequest of opentelemetry-proto 1.x in the JSON mapping of OTLP, in which
// ids are hexadecimal and 64-bit numbers are strings.
#pragma once

#include <span>
#include <string>

#include "telemetry/span.h"

namespace inferflux::telemetry {

std::string OtlpJson(const std::string& service_name, std::span<const Span> spans);

}  // namespace inferflux::telemetry
