#include "formats/sentencepiece/protobuf_reader.h"

#include <cstring>

namespace inferflux::formats {

Result<uint64_t> ProtobufReader::ReadVarint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return Fail(ErrorCode::kDataLoss, "{}: a number is truncated or too long", source_);
}

Result<std::string_view> ProtobufReader::Take(uint64_t size) {
  if (size > rest_.size())
    return Fail(ErrorCode::kDataLoss, "{}: a field of {} bytes where {} follow", source_, size, rest_.size());
  const std::string_view out = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return out;
}

Result<std::optional<ProtobufReader::Field>> ProtobufReader::Next() {
  if (rest_.empty()) return std::optional<Field>();
  const auto tag = ReadVarint();
  if (!tag) return Forward(tag);
  Field field;
  field.wire = static_cast<Wire>(*tag & 7);
  if (*tag >> 3 == 0 || *tag >> 3 > (1u << 29) - 1)
    return Fail(ErrorCode::kDataLoss, "{}: field number {} is out of range", source_, *tag >> 3);
  field.number = static_cast<uint32_t>(*tag >> 3);
  if (field.wire == Wire::kVarint || field.wire == Wire::kBytes) {
    const auto number = ReadVarint();
    if (!number) return Forward(number);
    if (field.wire == Wire::kVarint) {
      field.value = *number;
      return field;
    }
    auto bytes = Take(*number);
    if (!bytes) return Forward(bytes);
    field.bytes = *bytes;
    return field;
  }
  if (field.wire != Wire::kFixed32 && field.wire != Wire::kFixed64) {
    return Fail(ErrorCode::kDataLoss, "{}: field {} has wire type {}, which is not read", source_, field.number,
                *tag & 7);
  }
  const auto bytes = Take(field.wire == Wire::kFixed32 ? 4 : 8);
  if (!bytes) return Forward(bytes);
  std::memcpy(&field.value, bytes->data(), bytes->size());  // little-endian, as here
  return field;
}

}  // namespace inferflux::formats
