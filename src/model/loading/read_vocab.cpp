#include "model/loading/read_vocab.h"

#include <filesystem>

#include "formats/gguf/gguf_file.h"
#include "model/huggingface/directory_vocab.h"
#include "model/huggingface/metadata_file.h"

namespace inferflux::model {
namespace {

Result<std::shared_ptr<const formats::GgufFile>> OpenMetadata(const std::string& path) {
  std::error_code ignored;  // a path that cannot be asked about fails where it is opened
  if (!std::filesystem::is_directory(path, ignored)) return formats::GgufFile::Open(path);
  const auto config = formats::ReadHfConfig(path);
  if (!config) return Forward(config);
  const auto write = [&](formats::GgufWriter& writer) { return WriteDirectoryVocab(path, *config, "", writer); };
  return MakeMetadataFile(write, path);
}

}  // namespace

Result<VocabSpecs> ReadVocab(const std::string& path) {
  const auto file = OpenMetadata(path);
  if (!file) return Forward(file);
  auto specs = VocabFromGguf((*file)->metadata());
  if (!specs) return Forward(specs, path);
  return specs;
}

}  // namespace inferflux::model
