// Tokens that structure a conversation, by name. Files disagree on how they mark them.
#pragma once

#include "text/tokenizer/vocab.h"

namespace inferflux::model {

// Makes tokens with the names of turn markers control tokens, and also the file's bos, eos, eot and eom.
void MarkControlTokens(text::VocabSpec& vocab);

// Sets vocab.end_of_generation: the file's eos, eot and eom, and every control token whose name is known to end a
// generation. Call after MarkControlTokens.
void FindEndOfGeneration(text::VocabSpec& vocab);

}  // namespace inferflux::model
