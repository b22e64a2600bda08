#include "formats/gguf/gguf_writer.h"

#include <algorithm>
#include <array>

#include "base/checked_math.h"
#include "formats/gguf/append_bytes.h"

namespace inferflux::formats {
GgufWriter::GgufWriter(std::ostream& out, uint32_t alignment) : out_(out), alignment_(alignment) {
  if (alignment != 32) Set<uint32_t>("general.alignment", alignment);
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
  AppendBytes<uint32_t>(header, 3);
  AppendBytes<uint64_t>(header, tensors_.size());
  AppendBytes<uint64_t>(header, pairs().size());
  for (const Pair& pair : pairs()) {
    AppendText(header, pair.key);
    header.append(pair.encoded);
  }
  for (const Tensor& tensor : tensors_) {
    AppendText(header, tensor.name);
    AppendBytes<uint32_t>(header, static_cast<uint32_t>(tensor.dims.size()));
    for (const uint64_t dim : tensor.dims) AppendBytes(header, dim);
    AppendBytes(header, tensor.type);
    AppendBytes(header, tensor.offset);
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

}  // namespace inferflux::formats
