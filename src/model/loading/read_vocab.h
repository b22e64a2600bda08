// The vocabulary of a model on disk, without its weights.
#pragma once

#include <string>

#include "base/result.h"
#include "model/loading/vocab_from_gguf.h"

namespace inferflux::model {

// `path`: a GGUF file, possibly with the vocabulary alone, or a Hugging Face directory. Errors name it.
Result<VocabSpecs> ReadVocab(const std::string& path);

}  // namespace inferflux::model
