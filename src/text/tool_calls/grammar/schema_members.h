// The members that the schema of an object names, for formats that write each of them separately.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace inferflux::text {

inline constexpr size_t kMaxArgumentName = 256;  // bytes
inline constexpr uint32_t kMaxMadeUpName = 64;   // characters of a name that the model chooses

// Why a schema cannot be enforced, and which part of it.
inline auto Refused(std::string_view at, std::string_view why) {
  return Fail(ErrorCode::kUnsupported, "at {}: {}", at, why);
}

// Views into the schema.
struct SchemaMember {
  std::string_view name;
  const boost::json::value* schema = nullptr;
  bool required = false;
};

// In the schema's order. `at` is the schema's place, for messages. kUnsupported if it requires a member without a
// schema: its value could be anything, and nothing would show its type.
Result<std::vector<SchemaMember>> SchemaMembers(const boost::json::object& schema, std::string_view at);

}  // namespace inferflux::text
