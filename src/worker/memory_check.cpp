#include "worker/memory_check.h"

#include <filesystem>
#include <string_view>
#include <system_error>

namespace inferflux::worker {
namespace fs = std::filesystem;
namespace {

constexpr double kMiB = 1 << 20;

constexpr std::string_view kPart = "-00001";
constexpr std::string_view kCount = "-of-00003.gguf";

// "model-00001-of-00003.gguf" or a sibling of it.
bool IsPart(std::string_view name) {
  if (name.size() <= kPart.size() + kCount.size() || !name.ends_with(".gguf")) return false;
  const std::string_view tail = name.substr(name.size() - kPart.size() - kCount.size());
  return tail.starts_with("-") && tail.substr(kPart.size(), 4) == "-of-";
}

// Whether two names differ in the number of the part alone.
bool AreSiblings(std::string_view a, std::string_view b) {
  return a.size() == b.size() && IsPart(a) && IsPart(b) &&
         a.substr(a.size() - kCount.size()) == b.substr(b.size() - kCount.size()) &&
         a.substr(0, a.size() - kCount.size() - kPart.size()) == b.substr(0, b.size() - kCount.size() - kPart.size());
}

template <typename Counts>
int64_t SizesIn(const fs::path& folder, const Counts& counts) {
  int64_t out = 0;
  std::error_code failed;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
    if (!counts(it->path().filename().string())) continue;
    std::error_code unread;
    const auto size = it->file_size(unread);
    if (!unread) out += static_cast<int64_t>(size);
  }
  return out;
}

}  // namespace

Result<int64_t> WeightBytes(const std::string& path) {
  std::error_code failed;
  if (fs::is_directory(path, failed)) {
    return SizesIn(path, [](std::string_view name) { return name.ends_with(".safetensors"); });
  }
  const auto size = fs::file_size(path, failed);
  if (failed) return Fail(ErrorCode::kNotFound, "cannot read {}: {}", path, failed.message());
  const std::string name = fs::path(path).filename().string();
  if (!IsPart(name)) return static_cast<int64_t>(size);
  return SizesIn(fs::absolute(path, failed).parent_path(),
                 [&](std::string_view other) { return AreSiblings(name, other); });
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
