#include "telemetry/otlp_json.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <string>
#include <utility>

#include "base/version/version.h"

namespace inferflux::telemetry {
namespace json = boost::json;
namespace {

constexpr int kStatusError = 2;  // STATUS_CODE_ERROR

json::object ValueOf(const std::string& value) { return {{"stringValue", value}}; }
json::object ValueOf(int64_t value) { return {{"intValue", std::to_string(value)}}; }
json::object ValueOf(const std::vector<std::string>& value) {
  json::array values;
  for (const std::string& each : value) values.push_back(ValueOf(each));
  return {{"arrayValue", json::object{{"values", std::move(values)}}}};
}

json::array AttributesOf(const std::vector<Attribute>& attributes) {
  json::array out;
  for (const Attribute& each : attributes) {
    out.push_back(
        {{"key", each.key}, {"value", std::visit([](const auto& value) { return ValueOf(value); }, each.value)}});
  }
  return out;
}

std::string Nanoseconds(SpanTime time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
}

json::object SpanJson(const Span& span) {
  json::object out{{"traceId", ToHex(span.trace)}, {"spanId", ToHex(span.id)}};
  if (span.parent) out["parentSpanId"] = ToHex(*span.parent);
  out["name"] = span.name;
  out["kind"] = static_cast<int>(span.kind);
  out["startTimeUnixNano"] = Nanoseconds(span.begin);
  out["endTimeUnixNano"] = Nanoseconds(span.end);
  out["attributes"] = AttributesOf(span.attributes);
  if (span.failed) out["status"] = {{"code", kStatusError}, {"message", span.message}};
  return out;
}

}  // namespace

std::string OtlpJson(const std::string& service_name, std::span<const Span> spans) {
  json::array list;
  for (const Span& span : spans) list.push_back(SpanJson(span));
  const json::object scope{{"name", "inferflux"}, {"version", std::string(kVersion)}};
  const json::object resource{
      {"attributes", AttributesOf({{"service.name", service_name}, {"service.version", std::string(kVersion)}})}};
  json::array scopes;
  scopes.push_back(json::object{{"scope", scope}, {"spans", std::move(list)}});
  json::array resources;
  resources.push_back(json::object{{"resource", resource}, {"scopeSpans", std::move(scopes)}});
  return json::serialize(json::object{{"resourceSpans", std::move(resources)}});
}

}  // namespace inferflux::telemetry
