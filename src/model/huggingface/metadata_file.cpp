#include "model/huggingface/metadata_file.h"

#include <span>
#include <sstream>
#include <utility>

namespace inferflux::model {
namespace {

struct InMemory {
  std::string bytes;
  std::shared_ptr<const formats::GgufFile> file;  // looks into them
};

}  // namespace

Result<std::shared_ptr<const formats::GgufFile>> MakeMetadataFile(FunctionRef<Status(formats::GgufWriter&)> fill,
                                                                  const std::string& source) {
  std::ostringstream stream;
  formats::GgufWriter writer(stream);
  if (auto filled = fill(writer); !filled) return Forward(filled);
  if (auto written = writer.WriteHeader(); !written) return Forward(written);
  if (auto written = writer.Finish(); !written) return Forward(written);
  auto memory = std::make_shared<InMemory>(InMemory{std::move(stream).str(), nullptr});
  auto file = formats::GgufFile::Parse(std::as_bytes(std::span(memory->bytes)), source);
  if (!file) return file;
  memory->file = std::move(*file);
  return std::shared_ptr<const formats::GgufFile>(memory, memory->file.get());
}

}  // namespace inferflux::model
