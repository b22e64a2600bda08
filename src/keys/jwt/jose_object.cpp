#include "keys/jwt/jose_object.h"

#include <boost/json/parse.hpp>
#include <boost/json/parse_options.hpp>
#include <utility>

#include "base/json/json_scan.h"

namespace inferflux::keys {
namespace json = boost::json;
namespace {

constexpr size_t kMaxDepth = 8;

}  // namespace

Result<json::object> ParseJoseObject(std::string_view text, std::string_view what) {
  if (ScanJson(text, kMaxDepth).repeated) {
    return Fail(ErrorCode::kInvalidArgument, "{} has a member twice in one object", what);
  }
  json::parse_options options;
  options.max_depth = kMaxDepth;
  boost::system::error_code error;
  json::value value = json::parse(text, error, {}, options);
  if (error || !value.is_object()) {
    return Fail(ErrorCode::kInvalidArgument, "{} is not a JSON object", what);
  }
  return std::move(value.as_object());
}

Result<std::optional<std::string_view>> FindString(const json::object& object, std::string_view name,
                                                   std::string_view what) {
  const json::value* found = object.if_contains(name);
  if (found == nullptr) return std::nullopt;
  if (!found->is_string()) return Fail(ErrorCode::kInvalidArgument, "'{}' of {} is not a string", name, what);
  return std::string_view(found->get_string());
}

}  // namespace inferflux::keys
