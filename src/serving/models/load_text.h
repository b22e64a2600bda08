// The text settings of a model's file: its vocabulary and its chat template.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "model/loading/model_source.h"
#include "text/chat_template.h"
#include "text/tokenizer/tokenizer.h"

namespace inferflux::serving {

struct ModelText {
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::shared_ptr<const text::ChatTemplate> chat_template;  // null: the file has none
  int32_t pair_separators = 1;                              // end tokens between the two texts of a pair
  std::string rerank_template = {};                         // empty: the file has none
};

// Errors name the file. kNotFound if it has no vocabulary; kDataLoss if the vocabulary contradicts the weights.
Result<ModelText> LoadText(const model::ModelSource& source);

}  // namespace inferflux::serving
