#include "apps/console/embedded_model.h"

#include <filesystem>
#include <system_error>

namespace inferflux::apps {

Result<std::string> FindEmbeddedModel() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return Fail(ErrorCode::kIo, "cannot find this program's own path: {}", error.message());
  const std::string file = std::string(kEmbeddedModelId) + ".gguf";
  const fs::path installed = program.parent_path().parent_path() / "share" / "inferflux" / "models" / file;
  const fs::path beside = program.parent_path() / file;
  for (const fs::path& path : {installed, beside}) {
    if (fs::exists(path, error)) return path.string();
  }
  for (fs::path folder = program.parent_path(); folder.has_relative_path(); folder = folder.parent_path()) {
    const fs::path in_tree = folder / "models" / "tiny" / file;
    if (fs::exists(in_tree, error)) return in_tree.string();
  }
  return Fail(ErrorCode::kNotFound,
              "the model that comes with InferFlux ({}) is not beside this program; name one with --model", file);
}

}  // namespace inferflux::apps
