// modules.json: what sentence-transformers does with a model's hidden states.
#pragma once

#include <string>

#include "base/result.h"
#include "formats/gguf/gguf_metadata_builder.h"

namespace inferflux::model {

// Sets PREFIXpooling_type, and PREFIXpooling_normalize where vectors keep their length; nothing where the directory has
// no modules.json. A module or a pooling that would be computed otherwise here is an error that names it.
Status WriteSentenceModules(const std::string& directory, const std::string& prefix,
                            formats::GgufMetadataBuilder& metadata);

}  // namespace inferflux::model
