// One piece of a trace: something that took a time, and what is known of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "telemetry/trace_context.h"

namespace inferflux::telemetry {

using SpanTime = std::chrono::system_clock::time_point;

struct Attribute {
  std::string key;
  std::variant<std::string, int64_t, std::vector<std::string>> value;
};

struct Span {
  enum class Kind : uint8_t { kInternal = 1, kServer = 2 };  // the numbers of OTLP

  TraceId trace{};
  SpanId id{};
  std::optional<SpanId> parent;
  std::string name;
  Kind kind = Kind::kInternal;
  SpanTime begin;
  SpanTime end;
  std::vector<Attribute> attributes;
  bool failed = false;
  std::string message;  // of a failure
};

}  // namespace inferflux::telemetry
