#include "model/loading/read_vocab.h"

#include <filesystem>

#include "formats/gguf/gguf_file.h"
#include "model/huggingface/directory_vocab.h"

namespace inferflux::model {

Result<VocabSpecs> ReadVocab(const std::string& path) {
  std::error_code ignored;  // if the status cannot be read, opening the path reports why
  if (std::filesystem::is_directory(path, ignored)) {
    const auto config = formats::ReadHfConfig(path);
    if (!config) return Forward(config);
    formats::GgufMetadataBuilder metadata;
    if (auto written = WriteDirectoryVocab(path, *config, "", metadata); !written) return Forward(written);
    return VocabFromGguf(metadata.Build(path));
  }
  const auto file = formats::GgufFile::Open(path);
  if (!file) return Forward(file);
  auto specs = VocabFromGguf((*file)->metadata());
  if (!specs) return Forward(specs, path);
  return specs;
}

}  // namespace inferflux::model
