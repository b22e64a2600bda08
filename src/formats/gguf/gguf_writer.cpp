#include "formats/gguf/gguf_writer.h"

#include <algorithm>
#include <array>

#include "base/checked_math.h"

namespace inferflux::formats {
namespace {

template <class T>
void Append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

void AppendText(std::string& out, std::string_view text) {
  Append<uint64_t>(out, text.size());
  out.append(text);
}

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

template <class Text>
std::string EncodeTexts(std::span<const Text> texts) {
  std::string encoded;
  Append(encoded, GgufValueType::kArray);
  Append(encoded, GgufValueType::kString);
  Append<uint64_t>(encoded, texts.size());
  for (const Text& text : texts) AppendText(encoded, text);
  return encoded;
}

}  // namespace

GgufWriter::GgufWriter(std::ostream& out, uint32_t alignment) : out_(out), alignment_(alignment) {
  if (alignment != 32) Set<uint32_t>("general.alignment", alignment);
}

template <class T>
requires std::is_arithmetic_v<T>
void GgufWriter::Set(std::string_view key, T value) {
  std::string encoded;
  Append(encoded, ValueTypeOf<T>());
  Append(encoded, value);
  Put(key, std::move(encoded));
}

void GgufWriter::Set(std::string_view key, std::string_view text) {
  std::string encoded;
  Append(encoded, GgufValueType::kString);
  AppendText(encoded, text);
  Put(key, std::move(encoded));
}

template <class T>
requires std::is_arithmetic_v<T>
void GgufWriter::SetArray(std::string_view key, std::span<const T> values) {
  std::string encoded;
  Append(encoded, GgufValueType::kArray);
  Append(encoded, ValueTypeOf<T>());
  Append<uint64_t>(encoded, values.size());
  encoded.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  Put(key, std::move(encoded));
}

void GgufWriter::SetArray(std::string_view key, std::span<const std::string> texts) { Put(key, EncodeTexts(texts)); }
void GgufWriter::SetArray(std::string_view key, std::span<const std::string_view> texts) {
  Put(key, EncodeTexts(texts));
}

void GgufWriter::Put(std::string_view key, std::string encoded) {
  const auto it = std::find_if(pairs_.begin(), pairs_.end(), [&](const Pair& pair) { return pair.key == key; });
  if (it != pairs_.end()) {
    it->encoded = std::move(encoded);
  } else {
    pairs_.push_back({std::string(key), std::move(encoded)});
  }
}

void GgufWriter::Remove(std::string_view key) {
  std::erase_if(pairs_, [&](const Pair& pair) { return pair.key == key; });
}

Status GgufWriter::AddTensor(std::string_view name, TensorType type, std::span<const uint64_t> dims) {
  if (dims.size() > 4) {
    return Fail(ErrorCode::kInvalidArgument, "tensor '{}' has {} dimensions, not 1 to 4", name, dims.size());
  }
  auto bytes = TensorBytes(type, dims);
  if (!bytes) return Forward(bytes, fmt::format("tensor '{}'", name));
  const auto sum = CheckedAdd(data_bytes_, *bytes);
  const auto end = sum ? CheckedAdd(*sum, alignment_ - 1) : std::nullopt;
  if (!end) return Fail(ErrorCode::kInvalidArgument, "tensor '{}': the file would overflow 64 bits", name);
  if (!names_.emplace(name).second) return Fail(ErrorCode::kInvalidArgument, "tensor '{}' was added before", name);
  tensors_.push_back({std::string(name), type, {dims.begin(), dims.end()}, *bytes, data_bytes_});
  data_bytes_ = *end / alignment_ * alignment_;
  return {};
}

Status GgufWriter::WriteHeader() {
  std::string header = "GGUF";
  Append<uint32_t>(header, 3);
  Append<uint64_t>(header, tensors_.size());
  Append<uint64_t>(header, pairs_.size());
  for (const Pair& pair : pairs_) {
    AppendText(header, pair.key);
    header.append(pair.encoded);
  }
  for (const Tensor& tensor : tensors_) {
    AppendText(header, tensor.name);
    Append<uint32_t>(header, static_cast<uint32_t>(tensor.dims.size()));
    for (const uint64_t dim : tensor.dims) Append(header, dim);
    Append(header, tensor.type);
    Append(header, tensor.offset);
  }
  out_.write(header.data(), static_cast<std::streamsize>(header.size()));
  Pad(header.size());
  if (!out_) return Fail(ErrorCode::kIo, "writing the GGUF header failed: is the disk full?");
  return {};
}

void GgufWriter::Pad(uint64_t written) {
  for (uint64_t i = written; i % alignment_ != 0; ++i) out_.put('\0');
}

Status GgufWriter::WriteData(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (current_ == tensors_.size()) {
      return Fail(ErrorCode::kInvalidArgument, "{} bytes more than the tensors hold", bytes.size());
    }
    const Tensor& tensor = tensors_[current_];
    const auto take = std::min<uint64_t>(bytes.size(), tensor.bytes - current_bytes_);
    out_.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(take));
    if (!out_) return Fail(ErrorCode::kIo, "writing tensor '{}' failed: is the disk full?", tensor.name);
    bytes = bytes.subspan(take);
    current_bytes_ += take;
    if (current_bytes_ == tensor.bytes) {
      Pad(tensor.bytes);
      ++current_;
      current_bytes_ = 0;
    }
  }
  return {};
}

Status GgufWriter::Finish() {
  if (current_ != tensors_.size()) {
    return Fail(ErrorCode::kInvalidArgument, "tensor '{}' has {} of its {} bytes", tensors_[current_].name,
                current_bytes_, tensors_[current_].bytes);
  }
  if (!out_.flush()) return Fail(ErrorCode::kIo, "writing the GGUF file failed: is the disk full?");
  return {};
}

#define INFERFLUX_INSTANTIATE(T)                         \
  template void GgufWriter::Set<T>(std::string_view, T); \
  template void GgufWriter::SetArray<T>(std::string_view, std::span<const T>);
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
