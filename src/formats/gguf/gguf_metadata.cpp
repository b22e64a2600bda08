#include "formats/gguf/gguf_metadata.h"

#include <cstring>
#include <limits>
#include <type_traits>

#include "formats/byte_reader.h"
#include "formats/is_vector.h"

namespace inferflux::formats {
namespace {

template <class T>
constexpr std::string_view WantedName() {
  if constexpr (std::is_same_v<T, bool>) return "bool";
  if constexpr (std::is_same_v<T, std::string_view>) return "string";
  if constexpr (std::is_same_v<T, float>) return "float32";
  if constexpr (std::is_same_v<T, double>) return "float64";
  if constexpr (std::is_same_v<T, uint8_t>) return "uint8";
  if constexpr (std::is_same_v<T, int8_t>) return "int8";
  if constexpr (std::is_same_v<T, uint16_t>) return "uint16";
  if constexpr (std::is_same_v<T, int16_t>) return "int16";
  if constexpr (std::is_same_v<T, uint32_t>) return "uint32";
  if constexpr (std::is_same_v<T, int32_t>) return "int32";
  if constexpr (std::is_same_v<T, uint64_t>) return "uint64";
  if constexpr (std::is_same_v<T, int64_t>) return "int64";
}

template <class T>
T Load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

// Calls visit(value) with the scalar at `at` in its own C++ type.
template <class Visitor>
auto VisitScalar(GgufValueType type, const std::byte* at, Visitor visit) {
  switch (type) {
    case GgufValueType::kUint8:
      return visit(Load<uint8_t>(at));
    case GgufValueType::kInt8:
      return visit(Load<int8_t>(at));
    case GgufValueType::kUint16:
      return visit(Load<uint16_t>(at));
    case GgufValueType::kInt16:
      return visit(Load<int16_t>(at));
    case GgufValueType::kUint32:
      return visit(Load<uint32_t>(at));
    case GgufValueType::kInt32:
      return visit(Load<int32_t>(at));
    case GgufValueType::kFloat32:
      return visit(Load<float>(at));
    case GgufValueType::kUint64:
      return visit(Load<uint64_t>(at));
    case GgufValueType::kInt64:
      return visit(Load<int64_t>(at));
    case GgufValueType::kFloat64:
      return visit(Load<double>(at));
    default:
      return visit(Load<uint8_t>(at) != 0);  // bool; strings and arrays never come here
  }
}

enum class Conversion { kDone, kWrongType, kOutOfRange };

template <class T, class V>
Conversion Convert(V value, T& out) {
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<V, bool>) {
    if constexpr (!std::is_same_v<T, V>) return Conversion::kWrongType;
  } else if constexpr (std::is_integral_v<T> != std::is_integral_v<V>) {
    return Conversion::kWrongType;
  } else if constexpr (std::is_integral_v<T>) {
    if (!std::in_range<T>(value)) return Conversion::kOutOfRange;
  }
  out = static_cast<T>(value);
  return Conversion::kDone;
}

std::string FoundName(const GgufEntry& entry) {
  if (entry.type != GgufValueType::kArray) return std::string(GgufValueTypeName(entry.type));
  return fmt::format("array of {}", GgufValueTypeName(entry.element_type));
}

// "'llama.block_count' (byte 240)"; what was made in memory has no place in a file.
std::string KeyAndPlace(const GgufEntry& entry) {
  return entry.offset == 0 ? fmt::format("'{}'", entry.key) : fmt::format("'{}' (byte {})", entry.key, entry.offset);
}

tl::unexpected<Error> WrongType(const std::string& source, const GgufEntry& entry, std::string_view wanted) {
  return Fail(ErrorCode::kDataLoss, "{}: metadata key {} should be {}, but is {}", source, KeyAndPlace(entry), wanted,
              FoundName(entry));
}

template <class T>
Result<T> GetScalar(const std::string& source, const GgufEntry& entry) {
  if constexpr (std::is_same_v<T, std::string_view>) {
    if (entry.type != GgufValueType::kString) return WrongType(source, entry, "string");
    return AsText(entry.payload);
  } else {
    if (GgufScalarBytes(entry.type) == 0) return WrongType(source, entry, WantedName<T>());
    T out{};
    const auto done = VisitScalar(entry.type, entry.payload.data(), [&](auto value) { return Convert<T>(value, out); });
    if (done == Conversion::kWrongType) return WrongType(source, entry, WantedName<T>());
    if (done == Conversion::kOutOfRange) {
      return Fail(ErrorCode::kDataLoss, "{}: the value of metadata key {} does not fit in {}", source,
                  KeyAndPlace(entry), WantedName<T>());
    }
    return out;
  }
}

std::vector<std::string_view> ReadStrings(const GgufEntry& entry) {
  std::vector<std::string_view> strings;
  strings.reserve(entry.count);  // at most an eighth of the file: each string has a length of 8 bytes
  const std::byte* at = entry.payload.data();
  for (uint64_t i = 0; i < entry.count; ++i) {
    const auto length = Load<uint64_t>(at);
    strings.push_back(AsText({at + sizeof(length), length}));
    at += sizeof(length) + length;
  }
  return strings;
}

template <class E>
Result<std::vector<E>> GetArray(const std::string& source, const GgufEntry& entry) {
  const std::string wanted = fmt::format("array of {}", WantedName<E>());
  if (entry.type != GgufValueType::kArray) return WrongType(source, entry, wanted);
  if constexpr (std::is_same_v<E, std::string_view>) {
    if (entry.element_type != GgufValueType::kString) return WrongType(source, entry, wanted);
    return ReadStrings(entry);
  } else {
    const uint32_t size = GgufScalarBytes(entry.element_type);
    if (size == 0) return WrongType(source, entry, wanted);
    std::vector<E> values(entry.count);
    for (uint64_t i = 0; i < entry.count; ++i) {
      E value{};
      const auto done = VisitScalar(entry.element_type, entry.payload.data() + i * size,
                                    [&](auto element) { return Convert<E>(element, value); });
      if (done == Conversion::kWrongType) return WrongType(source, entry, wanted);
      if (done == Conversion::kOutOfRange) {
        return Fail(ErrorCode::kDataLoss, "{}: element {} of metadata key {} does not fit in {}", source, i,
                    KeyAndPlace(entry), WantedName<E>());
      }
      values[i] = value;
    }
    return values;
  }
}

}  // namespace

GgufMetadata::GgufMetadata(std::string source, std::vector<GgufEntry> entries, std::shared_ptr<const void> owner)
    : source_(std::move(source)), owner_(std::move(owner)), entries_(std::move(entries)) {
  index_.reserve(entries_.size());
  for (size_t i = 0; i < entries_.size(); ++i) index_.emplace(entries_[i].key, i);
}

const GgufEntry* GgufMetadata::Find(std::string_view key) const {
  const auto it = index_.find(key);
  return it == index_.end() ? nullptr : &entries_[it->second];
}

template <class T>
Result<T> GgufMetadata::Get(std::string_view key) const {
  const GgufEntry* entry = Find(key);
  if (entry == nullptr) return Fail(ErrorCode::kNotFound, "{}: metadata key '{}' is missing", source_, key);
  if constexpr (std::is_same_v<T, std::string>) {
    return GetScalar<std::string_view>(source_, *entry).map([](std::string_view text) { return std::string(text); });
  } else if constexpr (IsVector<T>::value) {
    return GetArray<typename T::value_type>(source_, *entry);
  } else {
    return GetScalar<T>(source_, *entry);
  }
}

#define INFERFLUX_INSTANTIATE(T)                                   \
  template Result<T> GgufMetadata::Get<T>(std::string_view) const; \
  template Result<std::vector<T>> GgufMetadata::Get<std::vector<T>>(std::string_view) const;
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
INFERFLUX_INSTANTIATE(std::string_view)
#undef INFERFLUX_INSTANTIATE
template Result<std::string> GgufMetadata::Get<std::string>(std::string_view) const;

}  // namespace inferflux::formats
