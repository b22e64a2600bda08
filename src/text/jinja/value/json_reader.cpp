#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <limits>

#include "text/jinja/value/json.h"
#include "text/jinja/value/python_characters.h"

namespace inferflux::text::jinja {
namespace {

Value FromText(Runtime& rt, std::string_view text, bool trusted) {
  if (FindInvalidUtf8(text) != std::string_view::npos) Raise("a string of the request is not valid UTF-8");
  return MakeStr(rt, text, trusted);
}

}  // namespace

Value FromJson(Runtime& rt, const boost::json::value& json, bool trusted) {
  const Meter::Level level(rt.meter());
  rt.meter().Step();
  switch (json.kind()) {
    case boost::json::kind::null:
      return Value();
    case boost::json::kind::bool_:
      return Value::Bool(json.get_bool(), trusted);
    case boost::json::kind::int64:
      return Value::Int(json.get_int64(), trusted);
    case boost::json::kind::double_:
      return Value::Float(json.get_double(), trusted);
    case boost::json::kind::uint64: {
      const uint64_t value = json.get_uint64();
      if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        Raise("the number {} of the request does not fit a 64-bit integer", value);
      }
      return Value::Int(static_cast<int64_t>(value), trusted);
    }
    case boost::json::kind::string:
      return FromText(rt, json.get_string(), trusted);
    case boost::json::kind::array: {
      std::vector<Value> items;
      items.reserve(json.get_array().size());
      for (const auto& item : json.get_array()) items.push_back(FromJson(rt, item, trusted));
      return MakeList(rt, std::move(items));
    }
    case boost::json::kind::object: {
      const auto dict = NewDict(rt);
      for (const auto& [key, value] : json.get_object()) {
        dict->Set(FromText(rt, key, trusted), FromJson(rt, value, trusted));
      }
      return Value::DictPtr(dict);
    }
  }
  return Value();
}

}  // namespace inferflux::text::jinja
