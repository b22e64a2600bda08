// GGUF files name the rule by which a byte-level tokenizer cuts text; tokenizer.json spells the rule out.
#pragma once

#include <string>

#include "base/result.h"
#include "formats/huggingface/hf_tokenizer.h"

namespace inferflux::model {

// The name whose rule is the tokenizer's, pattern by pattern. kUnsupported, with the patterns, where no name has it: a
// near miss would tokenise wrongly without a word.
Result<std::string> FindPreTokenizerName(const formats::HfTokenizer& tokenizer);

}  // namespace inferflux::model
