// Metadata that is made in memory: typed values under GGUF's keys. A GgufWriter writes them to a file; Build hands them
// to the readers that a file's own metadata go through.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "formats/gguf/gguf_metadata.h"
#include "formats/gguf/gguf_value.h"

namespace inferflux::formats {

class GgufMetadataBuilder {
 public:
  // A key that is set again takes the new value in its old place. T: bool, a fixed-width integer, float or double.
  template <class T>
  requires std::is_arithmetic_v<T>
  void Set(std::string_view key, T value);
  void Set(std::string_view key, std::string_view text);
  void Set(std::string_view key, const char* text) { Set(key, std::string_view(text)); }
  template <class T>
  requires std::is_arithmetic_v<T>
  void SetArray(std::string_view key, std::span<const T> values);
  void SetArray(std::string_view key, std::span<const std::string> texts);
  void SetArray(std::string_view key, std::span<const std::string_view> texts);
  // A key and value as another file has them.
  void Copy(const GgufEntry& entry);
  void Remove(std::string_view key);

  // `source` names the metadata in errors. The result owns the values; the builder is empty afterwards.
  GgufMetadata Build(std::string source);

 protected:
  struct Pair {
    std::string key;
    std::string encoded;  // type and value, as a file holds them
    GgufValueType type = GgufValueType::kUint8;
    GgufValueType element_type = GgufValueType::kUint8;  // arrays only
    uint64_t count = 1;                                  // elements of an array; 1 otherwise
    size_t payload = 0;                                  // where the value begins in `encoded`
  };
  const std::vector<Pair>& pairs() const { return pairs_; }

 private:
  template <class Text>
  void SetTexts(std::string_view key, std::span<const Text> texts);
  void Put(Pair pair);

  std::vector<Pair> pairs_;
};

}  // namespace inferflux::formats
