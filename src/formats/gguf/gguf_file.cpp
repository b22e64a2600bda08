#include "formats/gguf/gguf_file.h"

#include <filesystem>
#include <optional>

#include "formats/gguf/gguf_parser.h"
#include "formats/gguf/split_name.h"
#include "formats/printable.h"

namespace inferflux::formats {
namespace {

struct SplitPlace {
  uint32_t number;  // from 0
  uint32_t count;
};

// The number of this part of a split model according to the metadata; nothing if the model is not split.
Result<std::optional<SplitPlace>> ReadSplitPlace(const GgufMetadata& metadata) {
  const auto count = metadata.GetOr<uint32_t>("split.count", 1);
  if (!count) return Forward(count);
  if (*count <= 1) return std::nullopt;
  const auto number = metadata.Get<uint32_t>("split.no");
  if (!number) return Forward(number);
  if (*count > kMaxSplits || *number >= *count) {
    return Fail(ErrorCode::kDataLoss, "{}: it says that it is part {} of {} (from 0; at most {} parts)",
                metadata.source(), *number, *count, kMaxSplits);
  }
  return SplitPlace{*number, *count};
}

}  // namespace

Result<std::shared_ptr<const GgufFile>> GgufFile::Parse(std::span<const std::byte> bytes, std::string source) {
  auto contents = ParseGguf(bytes, source);
  if (!contents) return Forward(contents);
  std::shared_ptr<GgufFile> file(new GgufFile);
  file->version_ = contents->version;
  file->metadata_ = std::move(contents->metadata);
  if (auto added = file->AddTensors(source, std::move(contents->tensors)); !added) return Forward(added);
  return file;
}

Result<std::shared_ptr<const GgufFile>> GgufFile::Open(const std::string& path) {
  auto mapping = MappedFile::Open(path);
  if (!mapping) return Forward(mapping);
  auto parsed = Parse((*mapping)->bytes(), path);
  if (!parsed) return parsed;
  const auto file = std::const_pointer_cast<GgufFile>(*parsed);  // no other owner until it is returned
  file->mappings_.push_back(std::move(*mapping));
  if (auto opened = file->OpenSplits(path); !opened) return Forward(opened);
  return file;
}

Status GgufFile::OpenSplits(const std::string& path) {
  const auto place = ReadSplitPlace(metadata_);
  if (!place) return Forward(place);
  if (!*place) return {};
  const auto [number, count] = **place;
  const std::string suffix = SplitSuffix(number + 1, count);
  if (!path.ends_with(suffix)) {
    return Fail(ErrorCode::kDataLoss, "{}: part {} of {} of a split model must be named '...{}'", path, number + 1,
                count, suffix);
  }
  const std::string stem = path.substr(0, path.size() - suffix.size());
  if (number != 0) {
    return Fail(ErrorCode::kInvalidArgument, "{}: this is part {} of {} of a split model; open its first part, '{}{}'",
                path, number + 1, count, stem, SplitSuffix(1, count));
  }
  for (uint32_t i = 1; i < count; ++i) {
    const std::string part_path = stem + SplitSuffix(i + 1, count);
    auto mapping = MappedFile::Open(part_path);
    if (!mapping) return Forward(mapping, fmt::format("{}: part {} of {}", path, i + 1, count));
    auto part = ParseGguf((*mapping)->bytes(), part_path);
    if (!part) return Forward(part);
    const auto part_place = ReadSplitPlace(part->metadata);
    if (!part_place) return Forward(part_place);
    if (!*part_place || (*part_place)->number != i || (*part_place)->count != count) {
      return Fail(ErrorCode::kDataLoss, "{}: its metadata does not say that it is part {} of {}", part_path, i + 1,
                  count);
    }
    mappings_.push_back(std::move(*mapping));
    if (auto added = AddTensors(part_path, std::move(part->tensors)); !added) return added;
  }
  const auto total = metadata_.GetOr<uint64_t>("split.tensors.count", tensors_.size());
  if (!total) return Forward(total);
  if (*total != tensors_.size()) {
    return Fail(ErrorCode::kDataLoss, "{}: split.tensors.count is {}, but its {} parts hold {} tensors", path, *total,
                count, tensors_.size());
  }
  return {};
}

Status GgufFile::AddTensors(const std::string& source, std::vector<GgufTensor> tensors) {
  for (const GgufTensor& tensor : tensors) {
    if (!index_.emplace(tensor.name, tensors_.size()).second) {
      return Fail(ErrorCode::kDataLoss, "{}: tensor '{}' appears twice", source, Printable(tensor.name));
    }
    tensors_.push_back(tensor);
  }
  return {};
}

const GgufTensor* GgufFile::FindTensor(std::string_view name) const {
  const auto it = index_.find(name);
  return it == index_.end() ? nullptr : &tensors_[it->second];
}

Result<const GgufTensor*> GgufFile::Tensor(std::string_view name) const {
  if (const GgufTensor* tensor = FindTensor(name)) return tensor;
  return Fail(ErrorCode::kNotFound, "{}: tensor '{}' is missing", metadata_.source(), name);
}

}  // namespace inferflux::formats
