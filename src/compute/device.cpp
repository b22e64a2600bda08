#include "compute/device.h"

#include <charconv>

namespace inferflux::compute {

Result<int32_t> FindDevice(std::span<const Device> devices, std::string_view word, std::string_view backend) {
  if (devices.empty()) return Fail(ErrorCode::kUnsupported, "the backend {} has no device on this machine", backend);
  if (word.empty()) return 0;
  size_t index = 0;
  const auto parsed = std::from_chars(word.data(), word.data() + word.size(), index);
  if (parsed.ec == std::errc() && parsed.ptr == word.data() + word.size() && index < devices.size()) {
    return static_cast<int32_t>(index);
  }
  std::string known;
  for (size_t i = 0; i < devices.size(); ++i) {
    if (word == devices[i].id || word == devices[i].name) return static_cast<int32_t>(i);
    known += fmt::format("{}{} ({}{}{})", i == 0 ? "" : ", ", i, devices[i].name, devices[i].id.empty() ? "" : ", ",
                         devices[i].id);
  }
  return Fail(ErrorCode::kInvalidArgument, "the backend {} has no device '{}': it has {}", backend, word, known);
}

}  // namespace inferflux::compute
