#include "compute/cuda/backend/operation.h"

namespace inferflux::compute {

Result<std::unique_ptr<Cuda::Context>> Cuda::Context::Open(std::unique_ptr<cuda::Runtime> runtime) {
  auto context = std::make_unique<Context>();
  context->runtime = std::move(runtime);
  auto properties = context->runtime->Properties();
  if (!properties) return Forward(properties);
  context->multiprocessors = properties->multiprocessors;
  auto stream = context->runtime->CreateStream();
  if (!stream) return Forward(stream);
  context->stream = *stream;
  context->arena = std::make_unique<cuda::DeviceArena>(*context->runtime);
  context->graph_arena = std::make_unique<cuda::DeviceArena>(*context->runtime, cuda::DeviceArena::Unused::kKeep);
  context->late = std::make_unique<cuda::LateResults>(*context->runtime);
  context->staging = std::make_unique<cuda::Staging>(*context->runtime, *stream);
  if (auto opened = context->staging->Open(); !opened) return Forward(opened);
  return context;
}

Cuda::Context::~Context() {
  if (devices != nullptr) (void)runtime->Synchronize(stream);  // work that waits for ranks ends while they are watched
  devices.reset();
  if (side != nullptr) {
    side->staging.reset();  // waits for its stream
    arena->set_neighbour(nullptr);
    side->arena.reset();
    for (const cuda::Event event : {side->forked, side->done}) (void)runtime->Destroy(event);
    (void)runtime->Destroy(side->stream);
  }
  staging.reset();
  late.reset();
  graph_arena.reset();
  arena.reset();
  if (runtime != nullptr && stream.native != nullptr) (void)runtime->Destroy(stream);  // fails if the device has failed
}

std::vector<Device> Cuda::Devices(const ContextOptions&) {
  std::vector<Device> out;
  const auto found = cuda::ListDevices();
  if (!found) return out;
  for (const cuda::DeviceProperties& device : *found) {
    out.push_back({.name = device.name,
                   .free_bytes = device.free_bytes,
                   .id = "CUDA" + std::to_string(out.size()),
                   .gpu = device.gpu,
                   .uuid = device.uuid,
                   .pci_address = device.pci_address});
  }
  return out;
}

Result<std::unique_ptr<Cuda::Context>> Cuda::CreateContext(const ContextOptions& options) {
  if (auto found = cuda::ListDevices(); !found) return Forward(found);
  const auto device = FindDevice(Devices(options), options.device, kName);
  if (!device) return Forward(device);
  auto runtime = cuda::OpenDevice(*device);
  if (!runtime) return Forward(runtime);
  return Context::Open(std::move(*runtime));
}

MemoryInfo Cuda::Memory(const Context& context) {
  const auto properties = cuda_ops::Must(context.runtime->Properties());
  return {.total = properties.total_bytes, .free = properties.free_bytes, .weight_bytes = context.weight_bytes};
}

std::string Cuda::BuildNote() {
  const auto nccl = cuda::OpenNccl();
  return nccl ? "ranks of a model exchange through NCCL " + (*nccl)->version()
              : "ranks of a model exchange through the host, not NCCL: " + nccl.error().message;
}

std::string Cuda::WhyUnavailable() {
  const auto found = cuda::ListDevices();
  return found ? "" : found.error().message;
}

}  // namespace inferflux::compute
