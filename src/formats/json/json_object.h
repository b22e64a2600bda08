// Typed access to JSON from files. Errors name the file, the path of the key, and the expected and the found type.
//
// A key with the value null counts as absent, as in Hugging Face's files.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace inferflux::formats {

// "a string", "a number", ...
std::string_view JsonKindName(boost::json::kind kind);

// The value of a JSON document. Nesting beyond 32 levels, trailing text and invalid UTF-8 are errors.
Result<boost::json::value> ParseJson(std::string_view text, const std::string& source);

class JsonObject {
 public:
  // `text` must contain an object. `source` names it in errors.
  static Result<JsonObject> Parse(std::string_view text, std::string source);
  // Files above 1 GiB are refused.
  static Result<JsonObject> ReadFile(const std::string& path);
  // A part of a document, such as "config.json: rope_scaling". The caller keeps the document alive.
  static JsonObject Borrow(const boost::json::object& object, std::string source);

  // T: bool, int64_t, uint64_t, int32_t, uint32_t, double, float (integers from any number that fits exactly, floats
  // from any number), std::string, JsonObject, or a std::vector of one of these. kNotFound if the key is absent.
  template <class T>
  Result<T> Get(std::string_view key) const;
  // Empty if the key is absent; an error if its type is wrong.
  template <class T>
  Result<std::optional<T>> Find(std::string_view key) const;
  template <class T>
  Result<T> GetOr(std::string_view key, T fallback) const {
    auto found = Find<T>(key);
    if (!found) return Forward(found);
    return *found ? std::move(**found) : std::move(fallback);
  }
  // Null if it is absent or null.
  const boost::json::value* FindValue(std::string_view key) const;

  const boost::json::object& raw() const { return *object_; }
  const std::string& source() const { return source_; }

 private:
  JsonObject(std::shared_ptr<const boost::json::object> object, std::string source)
      : object_(std::move(object)), source_(std::move(source)) {}

  std::shared_ptr<const boost::json::object> object_;
  std::string source_;
};

// One value as T, for documents that are not plain objects; `where` begins its errors.
template <class T>
Result<T> JsonAs(const boost::json::value& value, const std::string& where);

}  // namespace inferflux::formats
