#include "formats/gguf/gguf_metadata_builder.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "formats/gguf/append_bytes.h"

namespace inferflux::formats {
namespace {

template <class T>
constexpr GgufValueType ValueTypeOf() {
  if constexpr (std::is_same_v<T, bool>) return GgufValueType::kBool;
  if constexpr (std::is_same_v<T, float>) return GgufValueType::kFloat32;
  if constexpr (std::is_same_v<T, double>) return GgufValueType::kFloat64;
  if constexpr (std::is_same_v<T, uint8_t>) return GgufValueType::kUint8;
  if constexpr (std::is_same_v<T, int8_t>) return GgufValueType::kInt8;
  if constexpr (std::is_same_v<T, uint16_t>) return GgufValueType::kUint16;
  if constexpr (std::is_same_v<T, int16_t>) return GgufValueType::kInt16;
  if constexpr (std::is_same_v<T, uint32_t>) return GgufValueType::kUint32;
  if constexpr (std::is_same_v<T, int32_t>) return GgufValueType::kInt32;
  if constexpr (std::is_same_v<T, uint64_t>) return GgufValueType::kUint64;
  if constexpr (std::is_same_v<T, int64_t>) return GgufValueType::kInt64;
}

}  // namespace

template <class T>
requires std::is_arithmetic_v<T>
void GgufMetadataBuilder::Set(std::string_view key, T value) {
  Pair pair{.key = std::string(key), .type = ValueTypeOf<T>()};
  AppendBytes(pair.encoded, pair.type);
  pair.payload = pair.encoded.size();
  AppendBytes(pair.encoded, value);
  Put(std::move(pair));
}

void GgufMetadataBuilder::Set(std::string_view key, std::string_view text) {
  Pair pair{.key = std::string(key), .type = GgufValueType::kString};
  AppendBytes(pair.encoded, pair.type);
  pair.payload = pair.encoded.size() + sizeof(uint64_t);
  AppendText(pair.encoded, text);
  Put(std::move(pair));
}

template <class T>
requires std::is_arithmetic_v<T>
void GgufMetadataBuilder::SetArray(std::string_view key, std::span<const T> values) {
  Pair pair{
      .key = std::string(key), .type = GgufValueType::kArray, .element_type = ValueTypeOf<T>(), .count = values.size()};
  AppendBytes(pair.encoded, pair.type);
  AppendBytes(pair.encoded, pair.element_type);
  AppendBytes(pair.encoded, pair.count);
  pair.payload = pair.encoded.size();
  pair.encoded.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  Put(std::move(pair));
}

template <class Text>
void GgufMetadataBuilder::SetTexts(std::string_view key, std::span<const Text> texts) {
  Pair pair{.key = std::string(key),
            .type = GgufValueType::kArray,
            .element_type = GgufValueType::kString,
            .count = texts.size()};
  AppendBytes(pair.encoded, pair.type);
  AppendBytes(pair.encoded, pair.element_type);
  AppendBytes(pair.encoded, pair.count);
  pair.payload = pair.encoded.size();
  for (const Text& text : texts) AppendText(pair.encoded, text);
  Put(std::move(pair));
}

void GgufMetadataBuilder::SetArray(std::string_view key, std::span<const std::string> texts) { SetTexts(key, texts); }
void GgufMetadataBuilder::SetArray(std::string_view key, std::span<const std::string_view> texts) {
  SetTexts(key, texts);
}

void GgufMetadataBuilder::Copy(const GgufEntry& entry) {
  const std::string_view encoded(reinterpret_cast<const char*>(entry.encoded.data()), entry.encoded.size());
  Put({.key = std::string(entry.key),
       .encoded = std::string(encoded),
       .type = entry.type,
       .element_type = entry.element_type,
       .count = entry.count,
       .payload = entry.encoded.size() - entry.payload.size()});
}

void GgufMetadataBuilder::Put(Pair pair) {
  const auto it = std::find_if(pairs_.begin(), pairs_.end(), [&](const Pair& other) { return other.key == pair.key; });
  if (it != pairs_.end()) {
    *it = std::move(pair);
  } else {
    pairs_.push_back(std::move(pair));
  }
}

void GgufMetadataBuilder::Remove(std::string_view key) {
  std::erase_if(pairs_, [&](const Pair& pair) { return pair.key == key; });
}

GgufMetadata GgufMetadataBuilder::Build(std::string source) {
  const auto owned = std::make_shared<const std::vector<Pair>>(std::exchange(pairs_, {}));
  std::vector<GgufEntry> entries;
  for (const Pair& pair : *owned) {
    const auto encoded = std::as_bytes(std::span(pair.encoded));
    entries.push_back({.key = pair.key,
                       .type = pair.type,
                       .element_type = pair.element_type,
                       .count = pair.count,
                       .payload = encoded.subspan(pair.payload),
                       .encoded = encoded});
  }
  return GgufMetadata(std::move(source), std::move(entries), owned);
}

#define INFERFLUX_INSTANTIATE(T)                                  \
  template void GgufMetadataBuilder::Set<T>(std::string_view, T); \
  template void GgufMetadataBuilder::SetArray<T>(std::string_view, std::span<const T>);
INFERFLUX_INSTANTIATE(bool)
INFERFLUX_INSTANTIATE(uint8_t)
INFERFLUX_INSTANTIATE(int8_t)
INFERFLUX_INSTANTIATE(uint16_t)
INFERFLUX_INSTANTIATE(int16_t)
INFERFLUX_INSTANTIATE(uint32_t)
INFERFLUX_INSTANTIATE(int32_t)
INFERFLUX_INSTANTIATE(uint64_t)
INFERFLUX_INSTANTIATE(int64_t)
INFERFLUX_INSTANTIATE(float)
INFERFLUX_INSTANTIATE(double)
#undef INFERFLUX_INSTANTIATE

}  // namespace inferflux::formats
