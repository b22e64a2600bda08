#include "worker/memory_check.h"

#include <filesystem>
#include <system_error>

#include "formats/gguf/split_name.h"

namespace inferflux::worker {
namespace fs = std::filesystem;
namespace {

constexpr double kMiB = 1 << 20;

// 0 for a file that cannot be read.
int64_t SizeOf(const fs::path& file) {
  std::error_code unread;
  const auto size = fs::file_size(file, unread);
  return unread ? 0 : static_cast<int64_t>(size);
}

}  // namespace

Result<int64_t> WeightBytes(const std::string& path) {
  std::error_code failed;
  int64_t out = 0;
  if (fs::is_directory(path, failed)) {
    for (fs::directory_iterator it(path, failed), end; !failed && it != end; it.increment(failed)) {
      if (it->path().extension() == ".safetensors") out += SizeOf(it->path());
    }
    return out;
  }
  const auto size = fs::file_size(path, failed);
  if (failed) return Fail(ErrorCode::kNotFound, "cannot read {}: {}", path, failed.message());
  const auto split = formats::ParseSplitName(fs::path(path).filename().string());
  if (!split) return static_cast<int64_t>(size);
  for (uint32_t part = 1; part <= split->parts; ++part) {
    out += SizeOf(fs::path(path).parent_path() / (split->base + formats::SplitSuffix(part, split->parts)));
  }
  return out;
}

int64_t NeededBytes(int64_t weight_bytes, int64_t kv_bytes) {
  return static_cast<int64_t>(1.1 * static_cast<double>(weight_bytes + kv_bytes));
}

Status CheckMemory(int64_t weight_bytes, int64_t kv_bytes, int64_t available, const std::string& where) {
  const int64_t needed = NeededBytes(weight_bytes, kv_bytes);
  if (available <= 0 || needed <= available) return {};
  return Fail(ErrorCode::kResourceExhausted,
              "the model needs {:.0f} MiB for weights, keys and values, and {} has {:.0f} MiB; use a smaller model, a "
              "smaller runtime.kv_budget, or another device",
              static_cast<double>(needed) / kMiB, where, static_cast<double>(available) / kMiB);
}

}  // namespace inferflux::worker
