// A model made of another one's file: a small JSON file `NAME.inferflux.json` beside it, with a chat template, a system
// message and defaults of its own. Ollama's create and copy write it.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace inferflux::serving {

inline constexpr std::string_view kRecipeSuffix = ".inferflux.json";
inline constexpr size_t kMostRecipeBytes = 4u << 20;

struct ModelRecipe {
  std::string from;           // the name of the file or directory, in the recipe's own directory
  std::string chat_template;  // empty: the file's own
  std::string system;         // of chats that have no system message; empty: none
  std::string license;
  boost::json::array messages;     // a chat begins with them, behind its system message
  int32_t context = 0;             // most tokens in a sequence; 0: as the server has it
  int32_t max_tokens = 0;          // of requests that name none; 0: no default
  std::vector<std::string> stop;   // of requests that name none
  boost::json::object sampling;    // defaults by the names of sampling_table.h
  boost::json::object parameters;  // the same three as they were written, to show them
};

bool IsRecipe(std::string_view path);

// kDataLoss names the file and what is wrong with it.
Result<ModelRecipe> ReadRecipe(const std::string& path);
// The same from the text of the file at `path`.
Result<ModelRecipe> ParseRecipe(std::string_view text, const std::string& path);
std::string RecipeJson(const ModelRecipe& recipe);

// The path of the recipe's file or directory, which is in the directory of `path`, also with links resolved.
Result<std::string> BaseOf(const std::string& path, const ModelRecipe& recipe);

}  // namespace inferflux::serving
