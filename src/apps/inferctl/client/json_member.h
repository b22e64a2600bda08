// Members of a server's answer, which may lack them: another server may answer, or another version.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <string_view>

namespace inferflux::apps {

// Null if `object` is no object or has no such member.
const boost::json::value* Member(const boost::json::value& object, std::string_view name);

// A text, a number or a switch as words; "-" for anything else.
std::string Show(const boost::json::value* value);

// The member at `path` as words; "-" if there is none.
template <class... Names>
std::string Show(const boost::json::value& object, Names... path) {
  const boost::json::value* value = &object;
  for (const std::string_view name : {std::string_view(path)...}) {
    if (value != nullptr) value = Member(*value, name);
  }
  return Show(value);
}

}  // namespace inferflux::apps
