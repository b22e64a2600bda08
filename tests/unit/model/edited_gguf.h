// A copy of a test model with something about it changed.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>

#include "formats/gguf/gguf_file.h"
#include "formats/gguf/gguf_writer.h"
#include "model/golden.h"

namespace inferflux::model::testing {

// Where edited models lie until the program ends: what opened one may go on to map it.
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

// Writes tests/data/models/NAME.gguf anew, without the tensors `dropped`, after `edit` changed its metadata. Returns its path.
inline std::string EditedModel(const std::string& name, const std::function<void(formats::GgufWriter&)>& edit,
                               const std::set<std::string>& dropped = {}) {
  const auto file = formats::GgufFile::Open(ModelPath(name + ".gguf"));
  if (!file) throw std::runtime_error(file.error().message);
  const std::string path = EditedFolder::Path() / (name + ".gguf");
  std::filesystem::remove(path);  // not written over: an earlier one may still be mapped
  std::ofstream out(path, std::ios::binary);
  formats::GgufWriter writer(out);
  for (const auto& entry : (*file)->metadata().entries()) writer.Copy(entry);
  edit(writer);
  for (const auto& tensor : (*file)->tensors()) {
    if (dropped.contains(std::string(tensor.name))) continue;
    EXPECT_TRUE(writer.AddTensor(tensor.name, tensor.type, tensor.shape()));
  }
  EXPECT_TRUE(writer.WriteHeader());
  for (const auto& tensor : (*file)->tensors()) {
    if (dropped.contains(std::string(tensor.name))) continue;
    EXPECT_TRUE(writer.WriteData(tensor.data));
  }
  EXPECT_TRUE(writer.Finish());
  return path;
}

}  // namespace inferflux::model::testing
