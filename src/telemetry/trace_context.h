// Which trace a request belongs to, as the header `traceparent` of W3C Trace Context (level 1) carries it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace inferflux::telemetry {

using TraceId = std::array<uint8_t, 16>;  // not all zero
using SpanId = std::array<uint8_t, 8>;    // not all zero

struct TraceContext {
  TraceId trace{};
  SpanId span{};         // of the caller's span, or of one's own to hand on
  bool sampled = false;  // whether it is recorded

  friend bool operator==(const TraceContext&, const TraceContext&) = default;
};

// "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01". None if the header is wrong: the trace then begins here. A
// later version may have more at its end.
std::optional<TraceContext> ParseTraceParent(std::string_view header);
std::string FormatTraceParent(const TraceContext& context);

// Random ones.
TraceId NewTraceId();
SpanId NewSpanId();

// Whether to record a trace that begins here: `percent` of them, chosen by the id, so that services that ask so agree.
bool IsSampled(const TraceId& trace, int percent);

// In small hexadecimal digits.
std::string ToHex(const TraceId& id);
std::string ToHex(const SpanId& id);

}  // namespace inferflux::telemetry
