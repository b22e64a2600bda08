#include "worker/memory_check.h"

#include <filesystem>
#include <string_view>
#include <system_error>

namespace inferflux::worker {
namespace fs = std::filesystem;
namespace {

constexpr double kMiB = 1 << 20;

// "model-00001-of-00003.gguf": the part of the name that its siblings share, or empty.
std::string StemOfParts(const std::string& name) {
  constexpr std::string_view kSuffix = "-00001-of-00001.gguf";
  if (name.size() <= kSuffix.size() || !name.ends_with(".gguf")) return {};
  const std::string tail = name.substr(name.size() - kSuffix.size());
  return tail.starts_with("-") && tail.substr(6, 4) == "-of-" ? name.substr(0, name.size() - kSuffix.size()) : "";
}

int64_t SizesIn(const fs::path& folder, const std::string& prefix, std::string_view extension) {
  int64_t out = 0;
  std::error_code failed;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
    if (it->path().extension() != extension || !it->path().filename().string().starts_with(prefix)) continue;
    std::error_code unread;
    const auto size = it->file_size(unread);
    if (!unread) out += static_cast<int64_t>(size);
  }
  return out;
}

}  // namespace

Result<int64_t> WeightBytes(const std::string& path) {
  std::error_code failed;
  if (fs::is_directory(path, failed)) return SizesIn(path, "", ".safetensors");
  const auto size = fs::file_size(path, failed);
  if (failed) return Fail(ErrorCode::kNotFound, "cannot read {}: {}", path, failed.message());
  const std::string parts = StemOfParts(fs::path(path).filename().string());
  if (parts.empty()) return static_cast<int64_t>(size);
  return SizesIn(fs::absolute(path, failed).parent_path(), parts + "-", ".gguf");
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
