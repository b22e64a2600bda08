#include "telemetry/trace_context.h"

#include <algorithm>
#include <cstddef>
#include <random>

namespace inferflux::telemetry {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr size_t kHeaderBytes = 55;

// Big letters are not allowed.
bool ReadHex(std::string_view text, uint8_t* out) {
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t value = kHexDigits.find(text[i]);
    if (value == std::string_view::npos) return false;
    out[i / 2] = static_cast<uint8_t>(i % 2 == 0 ? value << 4 : out[i / 2] | value);
  }
  return true;
}

template <class Id>
std::string Hex(const Id& id) {
  std::string out;
  for (const uint8_t byte : id) {
    out += kHexDigits[byte >> 4];
    out += kHexDigits[byte & 15];
  }
  return out;
}

template <class Id>
bool IsZero(const Id& id) {
  return std::ranges::all_of(id, [](uint8_t byte) { return byte == 0; });
}

template <class Id>
Id RandomId() {
  thread_local std::mt19937_64 random = [] {
    std::random_device device;
    std::seed_seq seed{device(), device(), device(), device(), device(), device(), device(), device()};
    return std::mt19937_64(seed);
  }();
  Id out{};
  do {
    std::ranges::generate(out, [] { return static_cast<uint8_t>(random() >> 56); });
  } while (IsZero(out));
  return out;
}

}  // namespace

std::optional<TraceContext> ParseTraceParent(std::string_view header) {
  if (header.size() < kHeaderBytes || header[2] != '-' || header[35] != '-' || header[52] != '-') return std::nullopt;
  uint8_t version = 0;
  uint8_t flags = 0;
  TraceContext out;
  if (!ReadHex(header.substr(0, 2), &version) || !ReadHex(header.substr(3, 32), out.trace.data()) ||
      !ReadHex(header.substr(36, 16), out.span.data()) || !ReadHex(header.substr(53, 2), &flags)) {
    return std::nullopt;
  }
  const bool longer = header.size() > kHeaderBytes;
  if (version == 0xff || (longer && (version == 0 || header[kHeaderBytes] != '-'))) return std::nullopt;
  if (IsZero(out.trace) || IsZero(out.span)) return std::nullopt;
  out.sampled = (flags & 1) != 0;
  return out;
}

std::string FormatTraceParent(const TraceContext& context) {
  return "00-" + Hex(context.trace) + "-" + Hex(context.span) + (context.sampled ? "-01" : "-00");
}

TraceId NewTraceId() { return RandomId<TraceId>(); }
SpanId NewSpanId() { return RandomId<SpanId>(); }

bool IsSampled(const TraceId& trace, int percent) {
  uint64_t value = 0;  // the last seven bytes are random, says level 2 of the standard
  for (size_t i = 9; i < trace.size(); ++i) value = value << 8 | trace[i];
  return value < (uint64_t{1} << 56) / 100 * static_cast<uint64_t>(percent) || percent >= 100;
}

std::string ToHex(const TraceId& id) { return Hex(id); }
std::string ToHex(const SpanId& id) { return Hex(id); }

}  // namespace inferflux::telemetry
