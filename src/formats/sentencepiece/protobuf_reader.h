// The fields of one protobuf message, in the order of the file. Source: protobuf's encoding specification.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace inferflux::formats {

class ProtobufReader {
 public:
  enum class Wire : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  struct Field {
    uint32_t number = 0;
    Wire wire = Wire::kVarint;
    uint64_t value = 0;      // of a number, as stored in the file
    std::string_view bytes;  // of kBytes
  };

  // `source` names the message in errors.
  ProtobufReader(std::string_view message, std::string source) : rest_(message), source_(std::move(source)) {}

  // The next field; nothing at the end. kDataLoss if the message is truncated or uses the obsolete groups.
  Result<std::optional<Field>> Next();

 private:
  Result<uint64_t> ReadVarint();
  Result<std::string_view> Take(uint64_t size);

  std::string_view rest_;
  std::string source_;
};

}  // namespace inferflux::formats
