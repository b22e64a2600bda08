#include "formats/gguf/gguf_parser.h"

#include <algorithm>
#include <bit>
#include <unordered_set>

#include "base/checked_math.h"
#include "formats/byte_reader.h"
#include "formats/printable.h"

namespace inferflux::formats {
namespace {

constexpr uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr uint64_t kMaxKeyBytes = 65535;
constexpr uint64_t kMaxTensorNameBytes = 256;
constexpr int kMaxArrayDepth = 4;
constexpr uint32_t kDefaultAlignment = 32;
constexpr uint32_t kMinAlignment = 8;  // so that every element of every type is aligned in memory
constexpr uint32_t kMaxAlignment = 1u << 20;

// The minimum size of a metadata entry and of a tensor info in a file: bounds the counts in the header.
constexpr uint64_t kMinEntryBytes = 8 + 1 + 4 + 1;
constexpr uint64_t kMinTensorBytes = 8 + 1 + 4 + 8 + 4 + 8;

Result<std::string_view> ReadString(ByteReader& reader, std::string_view what) {
  const auto length = reader.Read<uint64_t>(what);
  if (!length) return Forward(length);
  const auto bytes = reader.Take(*length, what);
  if (!bytes) return Forward(bytes);
  return AsText(*bytes);
}

Result<GgufValueType> ReadValueType(ByteReader& reader, std::string_view what) {
  const uint64_t offset = reader.offset();
  const auto id = reader.Read<uint32_t>(what);
  if (!id) return Forward(id);
  if (*id >= kGgufValueTypeCount) {
    return Fail(ErrorCode::kDataLoss, "value type {} of {} at byte {} is unknown", *id, what, offset);
  }
  return static_cast<GgufValueType>(*id);
}

struct ArrayHeader {
  GgufValueType element_type;
  uint64_t count;
};

Result<ArrayHeader> ReadArrayHeader(ByteReader& reader, std::string_view what) {
  const auto type = ReadValueType(reader, what);
  if (!type) return Forward(type);
  const uint64_t offset = reader.offset();
  const auto count = reader.Read<uint64_t>(what);
  if (!count) return Forward(count);
  const uint64_t least_bytes = *type == GgufValueType::kArray ? 12 : *type == GgufValueType::kString ? 8 : 1;
  if (*count > reader.remaining() / least_bytes) {
    return Fail(ErrorCode::kDataLoss, "{} claims {} elements at byte {}, more than the {} bytes after it can hold",
                what, *count, offset, reader.remaining());
  }
  return ArrayHeader{*type, *count};
}

Status CheckBools(std::span<const std::byte> bytes, uint64_t offset, std::string_view what) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (std::to_integer<uint8_t>(bytes[i]) > 1) {
      return Fail(ErrorCode::kDataLoss, "{} holds a bool that is neither 0 nor 1 at byte {}", what, offset + i);
    }
  }
  return {};
}

// Skips an array's elements and checks them.
Status SkipElements(ByteReader& reader, const ArrayHeader& array, std::string_view what, int depth) {
  const uint64_t offset = reader.offset();
  if (const uint32_t size = GgufScalarBytes(array.element_type)) {
    const auto bytes = CheckedMul(array.count, size);
    if (!bytes) return Fail(ErrorCode::kDataLoss, "the size of {} at byte {} overflows", what, offset);
    const auto taken = reader.Take(*bytes, what);
    if (!taken) return Forward(taken);
    return array.element_type == GgufValueType::kBool ? CheckBools(*taken, offset, what) : Status{};
  }
  if (array.element_type == GgufValueType::kArray && depth == kMaxArrayDepth) {
    return Fail(ErrorCode::kDataLoss, "{} nests arrays more than {} deep at byte {}", what, kMaxArrayDepth, offset);
  }
  for (uint64_t i = 0; i < array.count; ++i) {
    if (array.element_type == GgufValueType::kString) {
      const auto text = ReadString(reader, what);
      if (!text) return Forward(text);
      continue;
    }
    const auto inner = ReadArrayHeader(reader, what);
    if (!inner) return Forward(inner);
    if (const auto skipped = SkipElements(reader, *inner, what, depth + 1); !skipped) return skipped;
  }
  return {};
}

Result<GgufEntry> ReadEntry(ByteReader& reader, uint64_t number) {
  GgufEntry entry;
  const uint64_t key_offset = reader.offset();
  const auto key = ReadString(reader, fmt::format("the key of metadata entry {}", number));
  if (!key) return Forward(key);
  if (key->empty() || key->size() > kMaxKeyBytes) {
    return Fail(ErrorCode::kDataLoss, "the key of metadata entry {} at byte {} has {} bytes, not 1 to {}", number,
                key_offset, key->size(), kMaxKeyBytes);
  }
  entry.key = *key;
  const std::string what = fmt::format("the value of metadata key '{}'", Printable(entry.key));
  entry.offset = reader.offset();
  const auto type = ReadValueType(reader, what);
  if (!type) return Forward(type);
  entry.type = *type;
  if (entry.type == GgufValueType::kString) {
    const auto text = ReadString(reader, what);
    if (!text) return Forward(text);
    entry.payload = std::as_bytes(std::span(*text));
  } else if (entry.type == GgufValueType::kArray) {
    const auto array = ReadArrayHeader(reader, what);
    if (!array) return Forward(array);
    entry.element_type = array->element_type;
    entry.count = array->count;
    const uint64_t start = reader.offset();
    if (const auto skipped = SkipElements(reader, *array, what, 1); !skipped) return Forward(skipped);
    entry.payload = reader.Since(start);
  } else {
    const uint64_t start = reader.offset();
    const auto scalar = reader.Take(GgufScalarBytes(entry.type), what);
    if (!scalar) return Forward(scalar);
    if (entry.type == GgufValueType::kBool) {
      if (const auto ok = CheckBools(*scalar, start, what); !ok) return Forward(ok);
    }
    entry.payload = *scalar;
  }
  entry.encoded = reader.Since(entry.offset);
  return entry;
}

Result<std::vector<GgufEntry>> ReadEntries(ByteReader& reader, uint64_t count) {
  std::vector<GgufEntry> entries;
  entries.reserve(std::min<uint64_t>(count, 4096));
  std::unordered_set<std::string_view> keys;
  for (uint64_t i = 0; i < count; ++i) {
    auto entry = ReadEntry(reader, i);
    if (!entry) return Forward(entry);
    if (!keys.insert(entry->key).second) {
      return Fail(ErrorCode::kDataLoss, "metadata key '{}' appears twice, again at byte {}", Printable(entry->key),
                  entry->offset);
    }
    entries.push_back(*entry);
  }
  return entries;
}

struct TensorInfo {
  GgufTensor tensor;
  uint64_t info_offset = 0;  // of this info, in the file
  uint64_t data_offset = 0;  // relative to the data section
  uint64_t bytes = 0;
};

Result<TensorInfo> ReadTensorInfo(ByteReader& reader, uint64_t number) {
  TensorInfo info;
  info.info_offset = reader.offset();
  const auto name = ReadString(reader, fmt::format("the name of tensor {}", number));
  if (!name) return Forward(name);
  if (name->empty() || name->size() > kMaxTensorNameBytes) {
    return Fail(ErrorCode::kDataLoss, "the name of tensor {} at byte {} has {} bytes, not 1 to {}", number,
                info.info_offset, name->size(), kMaxTensorNameBytes);
  }
  GgufTensor& tensor = info.tensor;
  tensor.name = *name;
  const std::string what = fmt::format("the description of tensor '{}'", Printable(tensor.name));
  const auto rank = reader.Read<uint32_t>(what);
  if (!rank) return Forward(rank);
  if (*rank == 0 || *rank > kGgufMaxDims) {
    return Fail(ErrorCode::kDataLoss, "tensor '{}' at byte {} has {} dimensions, not 1 to {}", Printable(tensor.name),
                info.info_offset, *rank, kGgufMaxDims);
  }
  tensor.rank = *rank;
  for (uint32_t i = 0; i < tensor.rank; ++i) {
    const auto dim = reader.Read<uint64_t>(what);
    if (!dim) return Forward(dim);
    tensor.dims[i] = *dim;
  }
  const auto type_id = reader.Read<uint32_t>(what);
  if (!type_id) return Forward(type_id);
  const auto data_offset = reader.Read<uint64_t>(what);
  if (!data_offset) return Forward(data_offset);
  info.data_offset = *data_offset;
  const std::string where = fmt::format("tensor '{}' at byte {}", Printable(tensor.name), info.info_offset);
  auto type = TensorTypeFromId(*type_id);
  if (!type) return Forward(type, where);
  tensor.type = *type;
  auto bytes = TensorBytes(tensor.type, tensor.shape());
  if (!bytes) return Forward(bytes, where);
  info.bytes = *bytes;
  return info;
}

// Points each tensor at its data. `data` is the file from the start of the data section on.
Status PlaceTensors(std::vector<TensorInfo>& infos, std::span<const std::byte> data, uint64_t data_start,
                    uint64_t alignment) {
  for (TensorInfo& info : infos) {
    if (info.data_offset % alignment != 0) {
      return Fail(ErrorCode::kDataLoss, "tensor '{}' at byte {}: data offset {} is not a multiple of the alignment {}",
                  Printable(info.tensor.name), info.info_offset, info.data_offset, alignment);
    }
    if (info.data_offset > data.size() || info.bytes > data.size() - info.data_offset) {
      return Fail(ErrorCode::kDataLoss,
                  "tensor '{}' at byte {}: {} bytes of data at offset {} reach past the end of the file, whose data "
                  "section is {} bytes from byte {}; the file is truncated or corrupt",
                  Printable(info.tensor.name), info.info_offset, info.bytes, info.data_offset, data.size(), data_start);
    }
    info.tensor.data = data.subspan(info.data_offset, info.bytes);
  }
  std::vector<const TensorInfo*> by_offset;
  by_offset.reserve(infos.size());
  for (const TensorInfo& info : infos) by_offset.push_back(&info);
  std::sort(by_offset.begin(), by_offset.end(),
            [](const TensorInfo* a, const TensorInfo* b) { return a->data_offset < b->data_offset; });
  for (size_t i = 1; i < by_offset.size(); ++i) {
    const TensorInfo& before = *by_offset[i - 1];
    const TensorInfo& after = *by_offset[i];
    if (before.data_offset + before.bytes > after.data_offset) {
      return Fail(ErrorCode::kDataLoss,
                  "tensors '{}' and '{}' overlap: the first ends at data offset {}, the second starts at {}",
                  Printable(before.tensor.name), Printable(after.tensor.name), before.data_offset + before.bytes,
                  after.data_offset);
    }
  }
  return {};
}

Status CheckVersion(uint32_t version) {
  if (version == 2 || version == 3) return {};
  const uint32_t swapped = __builtin_bswap32(version);
  if (swapped >= 1 && swapped <= 3) {
    return Fail(ErrorCode::kUnsupported, "a big-endian GGUF file; convert it for a little-endian machine");
  }
  return Fail(ErrorCode::kUnsupported, "GGUF version {} at byte 4; versions 2 and 3 are read{}", version,
              version == 1 ? "; convert the model again" : "");
}

Result<uint64_t> ReadAlignment(const GgufMetadata& metadata) {
  const auto alignment = metadata.GetOr<uint32_t>("general.alignment", kDefaultAlignment);
  if (!alignment) return Forward(alignment);
  if (!std::has_single_bit(*alignment) || *alignment < kMinAlignment || *alignment > kMaxAlignment) {
    return Fail(ErrorCode::kDataLoss, "{}: general.alignment is {}, not a power of two from {} to {}",
                metadata.source(), *alignment, kMinAlignment, kMaxAlignment);
  }
  return *alignment;
}

Result<GgufContents> ParseChecked(std::span<const std::byte> bytes, const std::string& source) {
  ByteReader reader(bytes);
  const auto magic = reader.Read<uint32_t>("the magic number");
  if (!magic) return Forward(magic);
  if (*magic != kMagic) {
    return Fail(ErrorCode::kDataLoss, "not a GGUF file: it starts with 0x{:08x}, not with \"GGUF\"", *magic);
  }
  const auto version = reader.Read<uint32_t>("the version");
  if (!version) return Forward(version);
  if (auto ok = CheckVersion(*version); !ok) return Forward(ok);
  const auto tensor_count = reader.Read<uint64_t>("the tensor count");
  if (!tensor_count) return Forward(tensor_count);
  const auto entry_count = reader.Read<uint64_t>("the metadata count");
  if (!entry_count) return Forward(entry_count);
  if (*tensor_count > reader.remaining() / kMinTensorBytes || *entry_count > reader.remaining() / kMinEntryBytes) {
    return Fail(ErrorCode::kDataLoss,
                "the header claims {} tensors and {} metadata entries, more than {} bytes can hold", *tensor_count,
                *entry_count, reader.remaining());
  }
  auto entries = ReadEntries(reader, *entry_count);
  if (!entries) return Forward(entries);
  GgufContents contents{*version, GgufMetadata(source, std::move(*entries)), {}};
  const auto alignment = ReadAlignment(contents.metadata);
  if (!alignment) return Forward(alignment);

  std::vector<TensorInfo> infos;
  infos.reserve(std::min<uint64_t>(*tensor_count, 4096));
  for (uint64_t i = 0; i < *tensor_count; ++i) {
    auto info = ReadTensorInfo(reader, i);
    if (!info) return Forward(info);
    infos.push_back(*info);
  }
  if (infos.empty()) return contents;
  const uint64_t data_start = (reader.offset() + *alignment - 1) & ~(*alignment - 1);
  if (data_start > bytes.size())
    return Fail(ErrorCode::kDataLoss, "the file ends before its data section at byte {}", data_start);
  if (auto ok = PlaceTensors(infos, bytes.subspan(data_start), data_start, *alignment); !ok) return Forward(ok);
  contents.tensors.reserve(infos.size());
  for (const TensorInfo& info : infos) contents.tensors.push_back(info.tensor);
  return contents;
}

}  // namespace

Result<GgufContents> ParseGguf(std::span<const std::byte> bytes, const std::string& source) {
  auto contents = ParseChecked(bytes, source);
  // Errors of typed access already contain the source.
  if (!contents && !contents.error().message.starts_with(source)) return Forward(contents, source);
  return contents;
}

}  // namespace inferflux::formats
