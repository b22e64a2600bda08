#include "formats/safetensors/safetensors_model.h"

#include <filesystem>
#include <set>

#include "formats/json/json_object.h"
#include "formats/printable.h"

namespace inferflux::formats {
namespace {

struct ShardIndex {
  std::set<std::string> files;
  std::vector<std::pair<std::string, std::string>> places;  // tensor, file
};

Result<ShardIndex> ReadIndex(const std::string& path) {
  auto root = JsonObject::ReadFile(path);
  if (!root) return Forward(root);
  const auto map = root->Get<JsonObject>("weight_map");
  if (!map) return Forward(map);
  ShardIndex index;
  for (const auto& pair : map->raw()) {
    auto file = JsonAs<std::string>(pair.value(), fmt::format("{}: weight_map.{}", path, Printable(pair.key())));
    if (!file) return Forward(file);
    if (file->empty() || *file != std::filesystem::path(*file).filename().string() ||
        file->find('\0') != std::string::npos) {
      return Fail(ErrorCode::kDataLoss, "{}: weight_map.{} should name a file beside it, but is '{}'", path,
                  Printable(pair.key()), Printable(*file));
    }
    index.files.insert(*file);
    index.places.emplace_back(pair.key(), std::move(*file));
  }
  if (index.files.empty()) return Fail(ErrorCode::kDataLoss, "{}: weight_map is empty", path);
  return index;
}

}  // namespace

Result<SafetensorsModel> SafetensorsModel::Open(const std::string& directory) {
  namespace fs = std::filesystem;
  SafetensorsModel model;
  model.directory_ = directory;
  const fs::path base(directory);
  const fs::path index_path = base / "model.safetensors.index.json";
  std::error_code ignored;
  if (!fs::exists(index_path, ignored)) {
    auto file = SafetensorsFile::Open((base / "model.safetensors").string());
    if (!file) return Forward(file);
    if (auto added = model.AddFile(std::move(*file)); !added) return Forward(added);
    return model;
  }
  auto index = ReadIndex(index_path.string());
  if (!index) return Forward(index);
  std::unordered_map<std::string_view, const SafetensorsFile*> opened;
  for (const std::string& name : index->files) {
    auto file = SafetensorsFile::Open((base / name).string());
    if (!file) return Forward(file, index_path.string());
    opened.emplace(name, file->get());
    if (auto added = model.AddFile(std::move(*file)); !added) return Forward(added);
  }
  for (const auto& [tensor, file] : index->places) {
    if (opened.at(file)->FindTensor(tensor) == nullptr) {
      return Fail(ErrorCode::kDataLoss, "{}: it says that tensor '{}' is in {}, which lacks it", index_path.string(),
                  Printable(tensor), file);
    }
  }
  return model;
}

Status SafetensorsModel::AddFile(std::shared_ptr<const SafetensorsFile> file) {
  for (const SafetensorsTensor& tensor : file->tensors()) {
    if (!index_.emplace(tensor.name, &tensor).second) {
      return Fail(ErrorCode::kDataLoss, "{}: tensor '{}' is in another shard too", file->source(),
                  Printable(tensor.name));
    }
    tensors_.push_back(&tensor);
  }
  files_.push_back(std::move(file));
  return {};
}

const SafetensorsTensor* SafetensorsModel::FindTensor(std::string_view name) const {
  const auto it = index_.find(name);
  return it == index_.end() ? nullptr : it->second;
}

Result<const SafetensorsTensor*> SafetensorsModel::Tensor(std::string_view name) const {
  if (const SafetensorsTensor* tensor = FindTensor(name)) return tensor;
  return Fail(ErrorCode::kNotFound, "{}: tensor '{}' is missing", directory_, name);
}

}  // namespace inferflux::formats
