// A directory's metadata as a GGUF file without tensors, so that they pass through the very readers that a file's do.
#pragma once

#include <memory>
#include <string>

#include "base/function_ref.h"
#include "base/result.h"
#include "formats/gguf/gguf_file.h"
#include "formats/gguf/gguf_writer.h"

namespace inferflux::model {

// What `fill` writes, read back; `source` names it in errors.
Result<std::shared_ptr<const formats::GgufFile>> MakeMetadataFile(FunctionRef<Status(formats::GgufWriter&)> fill,
                                                                  const std::string& source);

}  // namespace inferflux::model
