#include "apps/inferctl/client/json_member.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace inferflux::apps {
namespace json = boost::json;

const json::value* Member(const json::value& object, std::string_view name) {
  return object.is_object() ? object.get_object().if_contains(name) : nullptr;
}

std::string Show(const json::value* value) {
  if (value == nullptr) return "-";
  if (value->is_string()) return value->get_string().empty() ? "-" : std::string(value->get_string());
  if (value->is_int64()) return std::to_string(value->get_int64());
  if (value->is_bool()) return value->get_bool() ? "yes" : "no";
  return "-";
}

}  // namespace inferflux::apps
