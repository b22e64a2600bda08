// Tokens that give a conversation its structure, by their names. Files disagree on how they mark them.
#pragma once

#include "text/tokenizer/vocab.h"

namespace inferflux::model {

// Makes tokens with the names of turn markers control tokens, and the file's own bos, eos, eot and eom too.
void MarkControlTokens(text::VocabSpec& vocab);

// Sets vocab.end_of_generation: the file's eos, eot and eom, and every control token that is known by name to end a
// generation. Call after MarkControlTokens.
void FindEndOfGeneration(text::VocabSpec& vocab);

}  // namespace inferflux::model
