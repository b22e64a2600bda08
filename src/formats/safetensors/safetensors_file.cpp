#include "formats/safetensors/safetensors_file.h"

#include <algorithm>

#include "base/checked_math.h"
#include "formats/byte_reader.h"
#include "formats/json/json_object.h"
#include "formats/printable.h"

namespace inferflux::formats {
namespace {

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit
constexpr size_t kMaxDims = 16;

// Bytes of a tensor, or nothing if that overflows.
std::optional<uint64_t> TensorBytes(SafetensorsDtype dtype, std::span<const uint64_t> shape) {
  std::optional<uint64_t> bytes = Traits(dtype).bytes;
  for (const uint64_t dim : shape) {
    if (dim == 0) return 0;
    bytes = CheckedMul(*bytes, dim);
    if (!bytes) return std::nullopt;
  }
  return bytes;
}

Result<SafetensorsTensor> ReadTensor(std::string_view name, const boost::json::value& value, const std::string& source,
                                     std::span<const std::byte> data) {
  const std::string where = fmt::format("{}: tensor '{}'", source, Printable(name));
  const auto description = JsonAs<JsonObject>(value, where);
  if (!description) return Forward(description);
  const auto dtype_name = description->Get<std::string>("dtype");
  if (!dtype_name) return Forward(dtype_name);
  const auto dtype = SafetensorsDtypeFromName(*dtype_name);
  if (!dtype) return Fail(ErrorCode::kUnsupported, "{}: dtype '{}' is unknown", where, Printable(*dtype_name));
  auto shape = description->Get<std::vector<uint64_t>>("shape");
  if (!shape) return Forward(shape);
  if (shape->size() > kMaxDims)
    return Fail(ErrorCode::kDataLoss, "{}: {} dimensions; at most {} are read", where, shape->size(), kMaxDims);
  const auto offsets = description->Get<std::vector<uint64_t>>("data_offsets");
  if (!offsets) return Forward(offsets);
  if (offsets->size() != 2 || (*offsets)[0] > (*offsets)[1]) {
    return Fail(ErrorCode::kDataLoss, "{}: data_offsets should be [begin, end]", where);
  }
  const uint64_t begin = (*offsets)[0];
  const uint64_t end = (*offsets)[1];
  if (end > data.size()) {
    return Fail(ErrorCode::kDataLoss,
                "{}: its data ends at {}, but the file holds {} bytes of data; it is truncated or corrupt", where, end,
                data.size());
  }
  const auto bytes = TensorBytes(*dtype, *shape);
  if (!bytes || *bytes != end - begin) {
    return Fail(ErrorCode::kDataLoss, "{}: data_offsets span {} bytes, but {} of shape [{}] need {}", where,
                end - begin, *dtype_name, fmt::join(*shape, ", "),
                bytes ? fmt::format("{}", *bytes) : "more than 64 bits count");
  }
  return SafetensorsTensor{std::string(name), *dtype, std::move(*shape), data.subspan(begin, end - begin)};
}

// Each byte of the data section must belong to exactly one tensor.
Status CheckCoverage(std::span<const SafetensorsTensor> sorted, std::span<const std::byte> data,
                     const std::string& source) {
  const std::byte* expected = data.data();
  std::string_view before = "the header";
  for (const SafetensorsTensor& tensor : sorted) {
    if (tensor.data.data() != expected) {
      return Fail(ErrorCode::kDataLoss, "{}: tensor '{}' {} {}: it starts at data offset {}, not at {}", source,
                  Printable(tensor.name), tensor.data.data() < expected ? "overlaps" : "leaves a gap after",
                  Printable(before), tensor.data.data() - data.data(), expected - data.data());
    }
    expected += tensor.data.size();
    before = tensor.name;
  }
  if (expected != data.data() + data.size()) {
    return Fail(ErrorCode::kDataLoss, "{}: the last {} bytes belong to no tensor", source,
                data.data() + data.size() - expected);
  }
  return {};
}

}  // namespace

uint64_t SafetensorsTensor::elements() const { return data.size() / Traits(dtype).bytes; }

Result<std::shared_ptr<const SafetensorsFile>> SafetensorsFile::Parse(std::span<const std::byte> bytes,
                                                                      std::string source) {
  ByteReader reader(bytes);
  auto length = reader.Read<uint64_t>("the header's length");
  if (!length) return Forward(length, source);
  if (*length > kMaxHeaderBytes || *length > reader.remaining()) {
    return Fail(
        ErrorCode::kDataLoss,
        "{}: not a safetensors file, or truncated: it claims a header of {} bytes; {} follow, and at most {} are read",
        source, *length, reader.remaining(), kMaxHeaderBytes);
  }
  const auto header = reader.Take(*length, "the header");
  if (!header) return Forward(header);
  std::shared_ptr<SafetensorsFile> file(new SafetensorsFile);
  file->source_ = std::move(source);
  if (auto read = file->ReadHeader(AsText(*header), bytes.subspan(reader.offset())); !read) return Forward(read);
  return file;
}

Result<std::shared_ptr<const SafetensorsFile>> SafetensorsFile::Open(const std::string& path) {
  auto mapping = MappedFile::Open(path);
  if (!mapping) return Forward(mapping);
  auto parsed = Parse((*mapping)->bytes(), path);
  if (!parsed) return parsed;
  std::const_pointer_cast<SafetensorsFile>(*parsed)->mapping_ = std::move(*mapping);
  return parsed;
}

Status SafetensorsFile::ReadHeader(std::string_view header, std::span<const std::byte> data) {
  auto root = JsonObject::Parse(header, source_);
  if (!root) return Forward(root);
  for (const auto& [name, value] : root->raw()) {
    if (name == "__metadata__") {
      const auto pairs = JsonAs<JsonObject>(value, fmt::format("{}: __metadata__", source_));
      if (!pairs) return Forward(pairs);
      for (const auto& pair : pairs->raw()) {
        auto text =
            JsonAs<std::string>(pair.value(), fmt::format("{}: __metadata__.{}", source_, Printable(pair.key())));
        if (!text) return Forward(text);
        metadata_.emplace(pair.key(), std::move(*text));
      }
      continue;
    }
    auto tensor = ReadTensor(name, value, source_, data);
    if (!tensor) return Forward(tensor);
    tensors_.push_back(std::move(*tensor));
  }
  std::sort(tensors_.begin(), tensors_.end(), [](const SafetensorsTensor& a, const SafetensorsTensor& b) {
    return std::pair(a.data.data(), a.data.size()) < std::pair(b.data.data(), b.data.size());
  });
  if (auto covered = CheckCoverage(tensors_, data, source_); !covered) return covered;
  for (size_t i = 0; i < tensors_.size(); ++i) index_.emplace(tensors_[i].name, i);
  return {};
}

const SafetensorsTensor* SafetensorsFile::FindTensor(std::string_view name) const {
  const auto it = index_.find(name);
  return it == index_.end() ? nullptr : &tensors_[it->second];
}

}  // namespace inferflux::formats
