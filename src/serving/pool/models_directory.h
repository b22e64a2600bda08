// A directory of models, each found by a name: `NAME.gguf`, the split file `NAME-00001-of-0000N.gguf`, the Hugging Face
// directory `NAME/` (it has a config.json), or the recipe `NAME.inferflux.json` (model_recipe.h).
//
// A name can come from a stranger, so it leads nowhere else: a name has no '/', no control character and no leading
// dot, and each file of a model, with its links resolved, is inside the directory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace inferflux::serving {

struct AvailableModel {
  std::string name;
  std::string path;  // the file, the first part of a split one, the directory, or the recipe
};

class ModelsDirectory {
 public:
  // More entries than this are not read.
  static constexpr size_t kMaxEntries = 10000;

  // kNotFound if there is no such directory.
  static Result<ModelsDirectory> Open(const std::string& path);

  // The path of a model. kInvalidArgument if the name is not one, if two models have it (the message names both), or if
  // a link leads out of the directory; kNotFound if there is no such model.
  Result<std::string> Find(std::string_view name) const;

  // What Find finds, by name.
  std::vector<AvailableModel> List() const;

  // Writes a recipe, which becomes the model of this name; replaces the recipe that has it. kInvalidArgument if the
  // name is not one, or if a model that is no recipe has it.
  Status SaveRecipe(std::string_view name, std::string_view text) const;
  // Deletes the recipe of this name, and never anything else. kNotFound if no model has the name; kInvalidArgument if
  // its model is no recipe.
  Status RemoveRecipe(std::string_view name) const;

  const std::string& path() const { return path_; }

 private:
  explicit ModelsDirectory(std::string path) : path_(std::move(path)) {}

  std::string path_;  // absolute, without links
};

}  // namespace inferflux::serving
