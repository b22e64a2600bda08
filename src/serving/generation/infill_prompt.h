// The prompt of a model that fills in the middle of a text.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/token_id.h"
#include "serving/models/served_model.h"

namespace inferflux::serving {

struct InfillText {
  std::string prefix;
  std::string suffix;
  std::vector<std::pair<std::string, std::string>> files = {};  // other files for context: name and text
};

// kUnsupported, as the end of a sentence about the field, if the model's vocabulary has no marks for it. The
// order is prefix, suffix, middle for every model: DeepSeek's marks have that order, and the marks of the others
// name the part that follows, so they allow any order.
Result<std::vector<TokenId>> InfillPrompt(const ServedModel& model, const InfillText& text);

}  // namespace inferflux::serving
