#include "compute/reference/reference_backend.h"

namespace inferflux::compute {

std::vector<Device> Reference::Devices(const ContextOptions&) { return {host::HostDevice("scalar on 1 core")}; }

Result<std::unique_ptr<Reference::Context>> Reference::CreateContext(const ContextOptions& options) {
  if (auto device = FindDevice(Devices(options), options.device, kName); !device) return Forward(device);
  return std::make_unique<Context>();
}

}  // namespace inferflux::compute
