// A copy of a test model with some edits.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "formats/gguf/gguf_file.h"
#include "formats/gguf/gguf_writer.h"
#include "model/families/golden.h"

namespace inferflux::model::testing {

// The folder of the edited models until the program ends: an open model may still map its file.
class EditedFolder {
 public:
  static const std::filesystem::path& Path() {
    static const EditedFolder folder;
    return folder.path_;
  }

 private:
  EditedFolder() { std::filesystem::create_directories(path_); }
  ~EditedFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path path_ =
      std::filesystem::path(::testing::TempDir()) / ("inferflux-edited-" + std::to_string(::getpid()));
};

struct ModelEdits {
  std::function<void(formats::GgufWriter&)> metadata = [](formats::GgufWriter&) {};
  std::set<std::string> dropped = {};                    // tensors
  std::map<std::string, std::vector<float>> added = {};  // tensors of one dimension
  // The data that replace a tensor's own.
  std::function<std::vector<std::byte>(const formats::GgufTensor&)> data = [](const formats::GgufTensor& tensor) {
    return std::vector<std::byte>(tensor.data.begin(), tensor.data.end());
  };
  // The shape after the edit.
  std::function<std::vector<uint64_t>(const formats::GgufTensor&)> shape = [](const formats::GgufTensor& tensor) {
    return std::vector<uint64_t>(tensor.shape().begin(), tensor.shape().end());
  };
};

// Writes an edited copy of tests/data/models/NAME.gguf, under the same name or another. Returns its path.
inline std::string EditedModel(const std::string& name, const ModelEdits& edits, const std::string& as = "") {
  const auto file = formats::GgufFile::Open(ModelPath(name + ".gguf"));
  if (!file) throw std::runtime_error(file.error().message);
  const std::string path = EditedFolder::Path() / ((as.empty() ? name : as) + ".gguf");
  std::filesystem::remove(path);  // not overwritten: an earlier one may still be mapped
  std::ofstream out(path, std::ios::binary);
  formats::GgufWriter writer(out);
  for (const auto& entry : (*file)->metadata().entries()) writer.Copy(entry);
  edits.metadata(writer);
  const auto is_kept = [&](const formats::GgufTensor& tensor) {
    return !edits.dropped.contains(std::string(tensor.name));
  };
  for (const auto& tensor : (*file)->tensors()) {
    if (!is_kept(tensor)) continue;
    EXPECT_TRUE(writer.AddTensor(tensor.name, tensor.type, edits.shape(tensor)));
  }
  for (const auto& [added, values] : edits.added) {
    EXPECT_TRUE(writer.AddTensor(added, formats::TensorType::kF32, std::to_array({uint64_t{values.size()}})));
  }
  EXPECT_TRUE(writer.WriteHeader());
  for (const auto& tensor : (*file)->tensors()) {
    if (!is_kept(tensor)) continue;
    EXPECT_TRUE(writer.WriteData(edits.data(tensor)));
  }
  for (const auto& [added, values] : edits.added) EXPECT_TRUE(writer.WriteData(std::as_bytes(std::span(values))));
  EXPECT_TRUE(writer.Finish());
  return path;
}

inline std::string EditedModel(const std::string& name, std::function<void(formats::GgufWriter&)> edit,
                               std::set<std::string> dropped = {}) {
  return EditedModel(name, ModelEdits{.metadata = std::move(edit), .dropped = std::move(dropped)});
}

}  // namespace inferflux::model::testing
