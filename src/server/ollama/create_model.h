// The body of POST /api/create as a recipe: a file of the models directory with a template, a system message and
// parameters.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <vector>

#include "server/reply/field_rows.h"
#include "server/request/api_error.h"
#include "serving/models/model_recipe.h"
#include "serving/pool/models_directory.h"

namespace inferflux::server {

struct CreateModel {
  std::string name;
  serving::ModelRecipe recipe;
  bool stream = true;
};

// 404 if `from` names no model of the directory.
ApiResult<CreateModel> ParseCreateModel(const boost::json::object& body, const serving::ModelsDirectory& directory);

// The recipe that makes the model `name` again: a copy of its recipe, or one of its file.
ApiResult<serving::ModelRecipe> RecipeOf(const serving::ModelsDirectory& directory, const std::string& name,
                                         std::string_view param);

// Without the tag ":latest", which Ollama's clients add.
std::string WithoutTag(std::string name);

// Its fields, for the documentation.
std::vector<FieldRow> CreateModelFieldRows();

}  // namespace inferflux::server
