// All safetensors of a Hugging Face directory as one set of tensors: model.safetensors, or the shards listed in
// model.safetensors.index.json.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "formats/safetensors/safetensors_file.h"

namespace inferflux::formats {

class SafetensorsModel {
 public:
  // Errors: a missing shard, a name in the index that its shard lacks, a tensor in two shards.
  static Result<SafetensorsModel> Open(const std::string& directory);

  const std::vector<const SafetensorsTensor*>& tensors() const { return tensors_; }
  const SafetensorsTensor* FindTensor(std::string_view name) const;
  // kNotFound with the names of directory and tensor.
  Result<const SafetensorsTensor*> Tensor(std::string_view name) const;

 private:
  Status AddFile(std::shared_ptr<const SafetensorsFile> file);

  std::string directory_;
  std::vector<std::shared_ptr<const SafetensorsFile>> files_;
  std::vector<const SafetensorsTensor*> tensors_;
  std::unordered_map<std::string_view, const SafetensorsTensor*> index_;
};

}  // namespace inferflux::formats
