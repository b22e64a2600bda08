#include "server/batches/batch_input.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <optional>
#include <unordered_set>
#include <utility>

#include "server/request/fields.h"
#include "server/request/json_body.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

struct BatchRequest {
  std::string custom_id;
  std::string method;
  std::string url;
  std::optional<json::object> body;
};

ApiStatus TakeBatchBody(const json::value& value, std::string_view param, BatchRequest& out) {
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  out.body = **object;
  return {};
}

constexpr Field<BatchRequest> kBatchLineFields[] = {
    {"custom_id", TextField<BatchRequest>{&BatchRequest::custom_id, kMostCustomId}},
    {"method", TextField<BatchRequest>{&BatchRequest::method, 16}},
    {"url", TextField<BatchRequest>{&BatchRequest::url, 256}},
    {"body", CustomField<BatchRequest>{TakeBatchBody}},
};

ApiResult<BatchRequest> ParseBatchLine(std::string_view line, std::string_view endpoint) {
  if (line.size() > kMostBatchLineBytes) return Refuse("", "it has more than {} bytes", kMostBatchLineBytes);
  const auto object = ParseJsonBody(line);
  if (!object) return RefuseAs("invalid_json_line", "", object.error().message);
  BatchRequest out;
  if (ApiStatus taken = ParseObject<BatchRequest>(kBatchLineFields, "", *object, out); !taken) return Forward(taken);
  for (const char* name : {"custom_id", "method", "url", "body"}) {
    if (const json::value* given = object->if_contains(name); given == nullptr || given->is_null()) {
      return RefuseAs("missing_required_parameter", name, fmt::format("'{}' is missing", name));
    }
  }
  if (out.custom_id.empty()) return Refuse("custom_id", "must not be empty");
  if (out.method != "POST") return RefuseAs("invalid_method", "method", "'method' must be \"POST\"");
  if (out.url != endpoint) {
    return RefuseAs("mismatched_endpoint", "url",
                    fmt::format("'url' is \"{}\", and the batch was created for {}", out.url, endpoint));
  }
  const auto is_true = [&](const char* name) {
    const json::value* given = out.body->if_contains(name);
    return given != nullptr && given->is_bool() && given->get_bool();
  };
  if (is_true("stream")) return Refuse("body.stream", "must be false: the result of a batch is given whole");
  if (is_true("background")) return Refuse("body.background", "must be false: a batch runs in the background itself");
  return out;
}

}  // namespace

BatchInput ParseBatchInput(std::string_view content, std::string_view endpoint) {
  BatchInput out;
  std::unordered_set<std::string> ids;
  int64_t number = 0;
  while (!content.empty() && out.errors.size() < kMostInputErrors) {
    const size_t end = std::min(content.find('\n'), content.size());
    std::string_view line = content.substr(0, end);
    content.remove_prefix(std::min(content.size(), end + 1));
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    if (out.lines.size() == kMostBatchLines) {
      out.errors.push_back(
          {"too_many_requests", fmt::format("the file has more than {} requests; divide it", kMostBatchLines), 0, ""});
      break;
    }
    auto request = ParseBatchLine(line, endpoint);
    if (!request) {
      ApiError& error = request.error();
      out.errors.push_back({std::move(error.code), std::move(error.message), number, std::move(error.param)});
    } else if (!ids.insert(request->custom_id).second) {
      out.errors.push_back({"duplicate_custom_id",
                            fmt::format("an earlier line has the custom_id '{}' too", request->custom_id), number,
                            "custom_id"});
    } else {
      out.lines.push_back({number, std::move(request->custom_id), json::serialize(*request->body)});
    }
  }
  if (out.lines.empty() && out.errors.empty()) {
    out.errors.push_back({"empty_file", "the file holds no request", 0, ""});
  }
  return out;
}

}  // namespace inferflux::server
