// modules.json: how sentence-transformers processes a model's hidden states.
#pragma once

#include <string>

#include "base/result.h"
#include "formats/gguf/gguf_metadata_builder.h"

namespace inferflux::model {

// Sets PREFIXpooling_type, and PREFIXpooling_normalize if vectors keep their length; nothing if the directory has no
// modules.json. A module or a pooling that is not supported here is an error that names it.
Status WriteSentenceModules(const std::string& directory, const std::string& prefix,
                            formats::GgufMetadataBuilder& metadata);

}  // namespace inferflux::model
