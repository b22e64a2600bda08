// Reads little-endian values from a span of bytes, never past its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "base/result.h"

namespace inferflux::formats {

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  uint64_t offset() const { return offset_; }
  uint64_t remaining() const { return bytes_.size() - offset_; }

  // `what` names the value for errors: "the length of key 12".
  template <class T>
  requires std::is_trivially_copyable_v<T> Result<T> Read(std::string_view what) {
    if (remaining() < sizeof(T)) return Truncated(what, sizeof(T));
    T value;
    std::memcpy(&value, bytes_.data() + offset_, sizeof(T));
    offset_ += sizeof(T);
    return value;
  }

  Result<std::span<const std::byte>> Take(uint64_t size, std::string_view what) {
    if (remaining() < size) return Truncated(what, size);
    const auto taken = bytes_.subspan(offset_, size);
    offset_ += size;
    return taken;
  }

  // The bytes from `start`, an earlier offset, to the current position.
  std::span<const std::byte> Since(uint64_t start) const { return bytes_.subspan(start, offset_ - start); }

 private:
  tl::unexpected<Error> Truncated(std::string_view what, uint64_t size) const {
    return Fail(ErrorCode::kDataLoss, "the file ends inside {}: {} bytes wanted at byte {}, {} are left", what, size,
                offset_, remaining());
  }

  std::span<const std::byte> bytes_;
  uint64_t offset_ = 0;
};

inline std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace inferflux::formats
