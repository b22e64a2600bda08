#include "compute/cuda/runtime.h"

namespace inferflux::cuda {
namespace {

std::string VersionName(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

}  // namespace

// A driver runs whatever was built with its own major version (CUDA Compatibility, "Minor Version Compatibility").
Status CheckDriver(int driver, int built_with) {
  if (driver <= 0) {
    return Fail(ErrorCode::kUnsupported, "there is no NVIDIA driver here; CUDA {} needs one", VersionName(built_with));
  }
  if (driver / 1000 < built_with / 1000) {
    return Fail(ErrorCode::kUnsupported,
                "NVIDIA's driver supports CUDA up to {}, and this build needs {}: install a newer driver",
                VersionName(driver), VersionName(built_with / 1000 * 1000));
  }
  return {};
}

}  // namespace inferflux::cuda
