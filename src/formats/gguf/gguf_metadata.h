// Typed access to GGUF metadata.
//
// Integers convert between all integer types when the value fits, and float32 and float64 convert both ways: writers
// disagree on widths. Nothing else converts. Errors name the file, the key, and the type wanted and found.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "formats/gguf/gguf_value.h"

namespace inferflux::formats {

class GgufMetadata {
 public:
  GgufMetadata() = default;
  // `entries` have distinct keys. `source` names the file in errors. `owner` keeps alive the memory that they point
  // into; null if the caller does.
  GgufMetadata(std::string source, std::vector<GgufEntry> entries, std::shared_ptr<const void> owner = nullptr);

  const std::vector<GgufEntry>& entries() const { return entries_; }
  const std::string& source() const { return source_; }

  const GgufEntry* Find(std::string_view key) const;
  bool Contains(std::string_view key) const { return Find(key) != nullptr; }

  // T: bool, any fixed-width integer, float, double, std::string_view (into the file), std::string, or a std::vector of
  // one of those except std::string. kNotFound if the key is absent.
  template <class T>
  Result<T> Get(std::string_view key) const;

  // `fallback` if the key is absent; an error if its type is wrong.
  template <class T>
  Result<T> GetOr(std::string_view key, T fallback) const {
    return Contains(key) ? Get<T>(key) : Result<T>(std::move(fallback));
  }

 private:
  std::string source_ = "GGUF";
  std::shared_ptr<const void> owner_;
  std::vector<GgufEntry> entries_;
  std::unordered_map<std::string_view, size_t> index_;
};

}  // namespace inferflux::formats
