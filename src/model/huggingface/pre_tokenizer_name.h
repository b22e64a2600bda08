// GGUF files name the rule by which a byte-level tokenizer splits text; tokenizer.json contains the rule itself.
#pragma once

#include <string>

#include "base/result.h"
#include "formats/huggingface/hf_tokenizer.h"

namespace inferflux::model {

// The name whose rule equals the tokenizer's, pattern by pattern. kUnsupported, with the patterns, if there is none: a
// similar rule would tokenise wrongly without an error.
Result<std::string> FindPreTokenizerName(const formats::HfTokenizer& tokenizer);

}  // namespace inferflux::model
